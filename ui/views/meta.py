"""What is said about a message: how an answer was made, why it ended, when that was."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpt2gl.generation import CANCELLED, CONTEXT, LENGTH, TIME
from gpt2gl.templates import USER
from gpt2gl_ui.chats.messages import Message

if TYPE_CHECKING:
    from gpt2gl_ui.app import App
    from gpt2gl_ui.talk import Talk

BETWEEN = "  ·  "
# Why an answer ended, where it did not end by itself.
REASONS = {
    LENGTH: "length limit reached",
    CANCELLED: "stopped",
    CONTEXT: "context full",
    TIME: "time limit reached",
}
_CLOCK, _DAY, _YEAR = "%H:%M", "%d %b, %H:%M", "%d %b %Y, %H:%M"


def meta_line(app: App, message: Message) -> str:
    """One line about an answer; nothing for what a person wrote and never changed."""
    answer = message.answer
    if answer is None:
        return "edited" if message.edited else ""
    writing = app.talk.writing == message.id
    parts = [answer.model or ""]
    n_tokens = len(answer.tokens) if writing else answer.new_tokens
    if n_tokens:
        parts.append(f"{n_tokens:,} token{'s' if n_tokens != 1 else ''}")
    if answer.tokens_per_second and not writing:
        parts.append(f"{answer.tokens_per_second:.0f} tok/s")
    parts += ["writing…"] if writing else _end(app.talk, message)
    if message.edited:
        parts.append("edited")
    return BETWEEN.join(part for part in parts if part)


def _end(talk: Talk, message: Message) -> list[str]:
    answer = message.answer
    reason = answer.reason if answer is not None else None
    parts = [REASONS.get(reason, "") if reason else "interrupted"]
    dropped = dropped_tokens(talk)
    if dropped and talk.chat.last is message:
        parts = [part for part in parts if part != REASONS[CONTEXT]]
        parts.append(f"context full: {dropped:,} tokens dropped")
    return parts


def dropped_tokens(talk: Talk) -> int:
    """How many tokens of the conversation the model no longer saw in its last answer."""
    return talk.trimmed.dropped if talk.trimmed is not None else 0


def reading(talk: Talk) -> str:
    """What is shown in place of an answer's first token."""
    working = talk.working
    if working is None or working.total <= 0:
        return "Thinking…"
    return f"Reading {working.done:,} of {working.total:,} tokens"


def unanswered(talk: Talk) -> str:
    """Why the last thing said has no answer; nothing where it has, or gets one."""
    last = talk.chat.last
    if last is None or last.role != USER or talk.writing is not None:
        return ""
    if talk.finished is None:
        return "Not answered yet"
    if talk.finished.reason == CANCELLED:
        return "Stopped before the first word"
    if talk.finished.reason == CONTEXT:
        return "The context is full: no room was left for an answer"
    return "The model ended its answer at once"


def moment(seconds: float, now: float | None = None) -> str:
    """A time of this place: only the clock's for today."""
    then, today = time.localtime(seconds), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime(_CLOCK, then)
    return time.strftime(_DAY if then.tm_year == today.tm_year else _YEAR, then)
