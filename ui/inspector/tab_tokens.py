"""The answer's tokens, how likely each was, and what could have come instead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.templates import ASSISTANT
from gpt2gl_ui import fonts, theme
from gpt2gl_ui.chats.messages import NO_TOKEN, Alternative, Message, TokenInfo
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.views.tint import MANY_BITS, own_probability
from gpt2gl_ui.widgets import Area, available_width, enabled_if, fill, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

ROW = 26
NUMBER, TEXT, BITS = 0.1, 0.3, 0.2  # shares of a row


@dataclass
class Chosen:
    message: str | None = None
    token: int | None = None  # None follows the last one
    seen: int = 0  # tokens that the table had in the last frame


def draw(app: App) -> None:
    """The tab."""
    message = _message(app)
    tokens = message.answer.tokens if message is not None and message.answer is not None else ()
    if message is None or not tokens:
        pieces.note("Say something in the conversation: here is how likely each token was.")
        return
    chosen = app.state.kept("inspector.tokens", Chosen)
    if chosen.message != message.id:
        chosen.message, chosen.token = message.id, None
    if app.state.hovered_token is not None and app.state.hovered_token[0] == message.id:
        chosen.token = app.state.hovered_token[1]
    last = len(tokens) - 1
    shown = last if chosen.token is None else min(chosen.token, last)
    room = imgui.get_content_region_avail().y
    _headings()
    _table(chosen, shown, tokens, max(room * 0.42, theme.px(120)))
    _instead(app, message, shown, tokens[shown])


def _message(app: App) -> Message | None:
    """The answer that is pointed at, else the last."""
    chat, at = app.talk.chat, app.state.hovered_token
    if at is not None and at[0] in chat:
        return chat[at[0]]
    answers = [message for message in chat.path() if message.role == ASSISTANT]
    return answers[-1] if answers else None


def _headings() -> None:
    start, width, now = imgui.get_cursor_screen_pos(), available_width(), theme.palette()
    row = Area(start.x, start.y, width, theme.px(18))
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        text_in(_part(row, NUMBER, TEXT), "Token", now.text_muted, 0.0)
        text_in(_part(row, NUMBER + TEXT, 0.4), "Probability", now.text_muted, 0.0)
        text_in(_part(row, 1 - BITS, BITS), "Entropy", now.text_muted, 1.0, theme.SMALL)
    imgui.dummy((width, row.height))


def _part(row: Area, start: float, share: float) -> Area:
    return Area(row.x + start * row.width, row.y, share * row.width, row.height)


def _table(chosen: Chosen, shown: int, tokens: tuple[TokenInfo, ...], height: float) -> None:
    imgui.begin_child("##tokens.table", (0, height), pieces.CHILD)
    clipper = imgui.ListClipper()
    imgui.push_style_var(imgui.StyleVar_.item_spacing, (0, 0))
    clipper.begin(len(tokens), theme.px(ROW))
    while clipper.step():
        for index in range(clipper.display_start, clipper.display_end):
            if _row(index, tokens[index], index == shown):
                chosen.token = index
    imgui.pop_style_var()
    follows = len(tokens) != chosen.seen
    if follows:
        imgui.set_scroll_y(len(tokens) * theme.px(ROW))
    chosen.seen = len(tokens)
    imgui.end_child()


def _row(index: int, token: TokenInfo, is_chosen: bool) -> bool:
    now = theme.palette()
    area, _ = pieces.touch(f"tokens.{index}", available_width(), theme.px(ROW), keys=True)
    if is_chosen or area.hovered:
        fill(area, now.user_bubble if is_chosen else now.hover, theme.TIGHT)
    share = own_probability(token)
    with pieces.small():
        text_in(_part(area, 0, NUMBER), str(index), now.text_muted, 1.0, theme.TIGHT)
        text_in(_part(area, NUMBER, TEXT), _shown(token.text), now.text, 0.0, theme.TIGHT)
        if token.id != NO_TOKEN:
            _bar(_part(area, NUMBER + TEXT, 0.25), share)
            place = _part(area, NUMBER + TEXT + 0.25, 0.15)
            text_in(place, f"{share:.1%}", now.text_muted, 1.0)
            bits = "" if token.entropy is None else f"{token.entropy:.2f} bits"
            text_in(_part(area, 1 - BITS, BITS), bits, _bits_color(token), 1.0, theme.SMALL)
    return area.clicked


def _bits_color(token: TokenInfo) -> tuple[float, float, float, float]:
    now = theme.palette()
    return now.warning if (token.entropy or 0.0) > MANY_BITS / 2 else now.text_muted


def _bar(area: Area, share: float) -> None:
    tall = theme.px(8)
    track = Area(area.x, round(area.y + (area.height - tall) / 2), area.width, tall)
    fill(track, theme.palette().pressed, 4)
    if share * track.width >= 1:
        fill(Area(track.x, track.y, share * track.width, tall), theme.palette().accent, 4)


def _shown(text: str) -> str:
    """A token's text as one line that is seen."""
    shown = text.replace("\n", "\\n").replace("\t", "\\t")
    return shown.strip() or shown.replace(" ", "␣") or "·"


def _instead(app: App, message: Message, index: int, token: TokenInfo) -> None:
    """What could have come in place of a token; pressing one takes it."""
    pieces.heading(f"In place of “{_shown(token.text)}”")
    if not token.alternatives:
        pieces.note("No alternatives are known of this text.")
        return
    sampling = app.generation.sampling
    pieces.note(
        "Blue: the model's own probability. Green: what the sampling settings make of it"
        f" (temperature {sampling.temperature:g}, top-k {sampling.top_k}, top-p"
        f" {sampling.top_p:g}). Press one to go on from there."
    )
    imgui.begin_child("##tokens.instead", (0, 0), pieces.CHILD)
    with enabled_if(app.talk.can_write):
        for rank, alternative in enumerate(token.alternatives):
            if _alternative(rank, alternative, alternative.id == token.id):
                app.talk.take_instead(message.id, index, alternative)
                break
    imgui.end_child()


def _alternative(rank: int, alternative: Alternative, is_taken: bool) -> bool:
    now = theme.palette()
    name, tall = f"tokens.instead.{rank}", theme.px(ROW + 4)
    area, _ = pieces.touch(name, available_width(), tall, keys=True)
    if area.hovered:
        fill(area, now.hover, theme.TIGHT)
    face = fonts.current().semibold if is_taken else fonts.current().body
    with fonts.pushed(face, theme.CAPTION):
        text_in(_part(area, 0, 0.3), _shown(alternative.text), now.text, 0.0, theme.TIGHT)
    with pieces.small():
        numbers = f"{alternative.probability:.1%} · {alternative.kept:.1%}"
        text_in(_part(area, 0.68, 0.32), numbers, now.text_muted, 1.0, theme.TIGHT)
    bars = _part(area, 0.31, 0.36)
    for line, (share, color) in enumerate(
        ((alternative.probability, now.accent), (alternative.kept, now.success))
    ):
        tall = theme.px(6)
        y = bars.y + theme.px(7) + line * (tall + theme.px(3))
        part = Area(bars.x, y, bars.width * math.sqrt(max(share, 0.0)), tall)
        fill(Area(bars.x, y, bars.width, tall), now.pressed, 3)
        if part.width >= 1:
            fill(part, color, 3)
    return area.clicked
