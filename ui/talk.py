"""The chat on the screen: what can be said, answered, changed.

Every answer is made from the shown path of the chat's tree. What two prompts have in common from
the beginning stays in the model's KV cache, so a new version or a continuation encodes only what
differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from gpt2gl.dialogue import Dialogue
from gpt2gl.errors import Gpt2glError
from gpt2gl.generation import Event, Finished, Generation, Token, Trimmed, Working
from gpt2gl.session import Session
from gpt2gl.templates import ASSISTANT, USER, Template, template_for
from gpt2gl_ui.chats.messages import Alternative, Message, TokenInfo
from gpt2gl_ui.chats.tree import NOTEBOOK, Chat, Removed
from gpt2gl_ui.engine import READY, Engine
from gpt2gl_ui.speed import Speed

ALTERNATIVES = 10


class Host(Protocol):
    """What a talk needs of the app."""

    engine: Engine

    @property
    def generation(self) -> Generation: ...

    def chat_changed(self, chat: Chat) -> None:
        """The chat is to be saved and drawn."""

    def open_chat(self, chat: Chat) -> None:
        """Show another chat."""

    def report(self, error: Gpt2glError) -> None:
        """Show an error."""


class Talk:
    """One chat, and the answer that is being written in it.

    Attributes:
        writing: the id of the message that grows, None when none does.
        working: how far the prompt is encoded, until the first token comes.
        trimmed: what the model could no longer see in the last answer.
        finished: how the last answer ended.
        speed: how fast the last answer came, or comes.
        seen: token ids that the model was given or has made in the last answer.
    """

    def __init__(self, host: Host, chat: Chat) -> None:
        self.host = host
        self.chat = chat
        self.writing: str | None = None
        self.working: Working | None = None
        self.trimmed: Trimmed | None = None
        self.finished: Finished | None = None
        self.speed = Speed()
        self._dialogue: Dialogue | None = None
        self._cursor = 0  # in the notebook, where generated text goes

    @property
    def is_writing(self) -> bool:
        """Whether an answer is being made, in the chat or in the notebook."""
        return self.host.engine.is_busy and self.host.engine.state == READY

    @property
    def can_write(self) -> bool:
        """Whether something can be said now."""
        return self.host.engine.state == READY and not self.host.engine.is_busy

    @property
    def first_seen(self) -> int:
        """The first of the path's messages that the model saw when it answered last."""
        return self._dialogue.first_seen if self._dialogue is not None else 0

    # Saying ------------------------------------------------------------------------------------

    def send(self, text: str) -> bool:
        """Say something and have it answered; False, and nothing happens, where that cannot be."""
        if not text.strip() or not self.can_write:
            return False
        self._answer(self.chat.say(text).id)
        return True

    def regenerate(self, message_id: str | None = None) -> None:
        """Another version of an answer, by default the last; an answer where there is none."""
        message = self.chat[message_id] if message_id else self.chat.last
        if message is not None and self.can_write:
            self._answer(message.id if message.role == USER else message.parent)

    def go_on(self, message_id: str | None = None) -> None:
        """More text for an answer, by default the last."""
        message = self.chat[message_id] if message_id else self.chat.last
        if message is None or message.role != ASSISTANT or not self.can_write:
            return
        self.chat.show(message.id)
        self._start(message.id, self.chat.turns(message.id), Dialogue.go_on)

    def edit(self, message_id: str, text: str) -> None:
        """Another version of a message by hand; one of the user's is answered."""
        message = self.chat.edit(message_id, text)
        self._changed()
        if message.role == USER and self.can_write:
            self._answer(message.id)

    def take_instead(self, message_id: str, index: int, alternative: Alternative) -> None:
        """Branch within an answer: keep its first `index` tokens, take another, and go on."""
        if not self.can_write:
            return
        message = self.chat.version_from_token(message_id, index)
        info = TokenInfo(
            alternative.id,
            alternative.text,
            _log(alternative.probability),
            alternative.kept,
        )
        self.chat.append_text(message.id, alternative.text, info)
        self.go_on(message.id)

    def stop(self) -> None:
        """End the answer where it is."""
        if self.is_writing and self.host.engine.session is not None:
            self.host.engine.session.cancel()

    def _answer(self, parent: str | None) -> None:
        turns = [] if parent is None else self.chat.turns(parent)
        message = self.chat.begin_answer(parent, self.host.engine.name)
        self._start(message.id, turns, Dialogue.answer)

    # Changing ----------------------------------------------------------------------------------

    def select_version(self, message_id: str) -> None:
        """Show another version of a message."""
        if not self.is_writing:
            self.chat.select_version(message_id)
            self._changed()

    def delete(self, message_id: str) -> Removed:
        """Take out a message and what follows it; for `restore`."""
        if self.writing is not None:
            self.abandon()
        removed = self.chat.delete(message_id)
        self._changed()
        return removed

    def restore(self, removed: Removed) -> None:
        """Undo `delete`."""
        try:
            self.chat.restore(removed)
        except Gpt2glError as error:
            self.host.report(error)
        self._changed()

    def branch(self, message_id: str) -> None:
        """Open a new chat of the messages up to this one."""
        self.abandon()
        self.host.open_chat(self.chat.branch_from(message_id))

    def abandon(self) -> None:
        """End the answer at once, for another chat or model."""
        if self.is_writing:
            self.host.engine.stop()

    # Answering ---------------------------------------------------------------------------------

    def _start(
        self, message_id: str, turns: list[Any], events: Callable[[Dialogue], Iterator[Event]]
    ) -> None:
        self.writing, self.working, self.trimmed, self.finished = message_id, None, None, None
        self.speed = Speed()
        try:
            dialogue = self._dialogue_of(self._session())
            dialogue.turns = turns
            self.host.engine.start(events(dialogue), self._take, self._ended)
        except Gpt2glError as error:
            self._ended(error)
        self._changed()

    def _session(self) -> Session:
        session = self.host.engine.session
        assert session is not None
        return session

    def _dialogue_of(self, session: Session) -> Dialogue:
        """Kept from answer to answer, with where the text begins that the model still sees."""
        options = replace(self.host.generation, alternatives=ALTERNATIVES)
        if self._dialogue is None or self._dialogue.session is not session:
            template: Template = template_for(session.name)
            self._dialogue = Dialogue(session, template, options)
        self._dialogue.options = options
        return self._dialogue

    def _take(self, event: Event) -> None:
        if isinstance(event, Working):
            self.working = event
        elif isinstance(event, Trimmed):
            self.trimmed = event
        elif isinstance(event, Token):
            self.working = None
            self.speed.token()
            self._add(event)
        else:
            self._finish(event)

    def _add(self, token: Token) -> None:
        info = token_info(token, self._session())
        if self.writing is not None:
            self.chat.append_text(self.writing, token.text, info)
        else:
            self._cursor = self.chat.notebook.insert_generated(self._cursor, token.text)
            self.chat.touch()
        self._changed()

    def _finish(self, end: Finished) -> None:
        self.finished = end
        if self.writing is not None:
            self.chat.finish(self.writing, end, self.host.engine.name)
        else:
            self._cursor = self.chat.notebook.insert_generated(self._cursor, end.text)
            self.chat.touch()

    def _ended(self, error: Gpt2glError | None) -> None:
        message: Message | None = None
        if self.writing is not None and self.writing in self.chat:
            message = self.chat[self.writing]
        if message is not None and not message.text:
            # An answer of no text is none; what was said stays, to be answered again.
            self.chat.delete(message.id)
        self.writing = self.working = None
        if error is not None:
            self.host.report(error)
        self._changed()

    def _changed(self) -> None:
        self.host.chat_changed(self.chat)

    # The notebook ------------------------------------------------------------------------------

    @property
    def cursor(self) -> int:
        """Where in the notebook generated text is put next."""
        return self._cursor

    def write_on(self, cursor: int) -> None:
        """Continue the notebook's text where the cursor stands."""
        if not self.can_write or self.chat.mode != NOTEBOOK:
            return
        self._cursor = cursor
        self.writing, self.working, self.trimmed, self.finished = None, None, None, None
        self.speed = Speed()
        options = replace(self.host.generation, alternatives=ALTERNATIVES)
        try:
            events = self._session().generate(self.chat.notebook.text[:cursor], options)
            self.host.engine.start(events, self._take, self._ended)
        except Gpt2glError as error:
            self._ended(error)
        self._changed()


def token_info(token: Token, session: Session) -> TokenInfo:
    """A token as chats keep it, with its alternatives as text."""
    decode = session.tokenizer.decode
    alternatives = tuple(
        Alternative(each.token, decode([each.token]), each.probability, each.kept)
        for each in token.alternatives
    )
    bits = None if token.entropy is None else token.entropy / math.log(2)
    return TokenInfo(token.id, token.text, token.logprob, token.probability, bits, alternatives)


def _log(probability: float) -> float:
    return math.log(max(probability, 1e-30))
