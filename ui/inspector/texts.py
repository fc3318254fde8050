"""Which tokens the inspector looks at: those that the model holds, or would for what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpt2gl.errors import Gpt2glError
from gpt2gl.session import Session
from gpt2gl.templates import ASSISTANT, template_for
from gpt2gl_ui.chats.tree import NOTEBOOK

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

EXAMPLE = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily"
Tokens = tuple[int, ...]


class Text:
    """The tokens, and their text for a table.

    Attributes:
        tokens: what is looked at.
        own: a text of the user's in place of the conversation, None for the conversation.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self.tokens: Tokens = ()
        self.own: str | None = None
        self._shown: object = None
        self._labels: dict[int, str] = {}

    def follow(self, session: Session) -> None:
        """Take over what is being generated; what the conversation shows, where that changed."""
        if self.app.engine.is_busy:
            self.own = None
            self._shown = self._view()
            self.tokens = session.encoded or self.tokens
            return
        shown = self._view()
        if shown != self._shown:
            self._shown = shown
            self.tokens = self._of_the_view(session)

    def show(self, own: str | None) -> None:
        """Look at a text of the user's, or at the conversation again."""
        self.own = own or None

    def label(self, position: int) -> str:
        """A token's text for an axis or a table."""
        return self.label_of(self.tokens[position])

    def label_of(self, token: int) -> str:
        """A token's text, its space left out where there is more."""
        if token not in self._labels:
            session = self.app.engine.session
            assert session is not None
            text = session.tokenizer.token_text(token)
            self._labels[token] = text.removeprefix("␣") or text
        return self._labels[token]

    def pieces(self) -> list[bytes]:
        """What each token stands for."""
        session = self.app.engine.session
        assert session is not None
        return [session.tokenizer.token_bytes(token) for token in self.tokens]

    @property
    def prompt(self) -> Tokens:
        """The tokens up to the last answer; all of them where there is none."""
        last = self.app.talk.chat.last
        start = None if last is None else self.position_of(last.id, 0)
        return self.tokens[:start] if start else self.tokens

    def position_of(self, message_id: str, index: int) -> int | None:
        """Where a token of an answer stands among `tokens`, if it does."""
        chat = self.app.talk.chat
        answer = chat[message_id].answer if message_id in chat else None
        if answer is None or self.own is not None:
            return None
        ids = tuple(token.id for token in answer.tokens)
        for start in range(len(self.tokens) - 1, -1, -1):
            part = self.tokens[start : start + len(ids)]
            if part == ids[: len(part)] and len(part) >= min(len(ids), 2):
                return start + index if start + index < len(self.tokens) else None
        return None

    def forget(self) -> None:
        """Another model has other tokens."""
        self.tokens, self._shown = (), None
        self._labels.clear()

    def _view(self) -> object:
        """What tells one text of the conversation from another, without its text."""
        chat = self.app.talk.chat
        if chat.mode == NOTEBOOK:
            return chat.id, self.own, chat.notebook.text
        return chat.id, self.own, tuple((m.id, m.edited, len(m.text)) for m in chat.path())

    def _of_the_view(self, session: Session) -> Tokens:
        most = session.model.config.n_positions
        try:
            return tuple(self._prompt(session))[-most:]
        except Gpt2glError as error:
            self.app.report(error)
            return ()

    def _prompt(self, session: Session) -> list[int]:
        chat = self.app.talk.chat
        if self.own is not None:
            return session.prompt_tokens(self.own)
        if chat.mode == NOTEBOOK:
            return session.prompt_tokens(chat.notebook.text) if chat.notebook.text else []
        turns = chat.turns()
        if not turns:
            return []
        template = template_for(session.name)
        if turns[-1].role == ASSISTANT:
            return template.opened(turns, session.tokenizer)
        return template.prompt(turns, session.tokenizer)
