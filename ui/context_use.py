"""How much of the model's context a chat takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpt2gl.errors import Gpt2glError
from gpt2gl.session import Session
from gpt2gl.templates import Template, Turn, template_for
from gpt2gl_ui.chats.tree import NOTEBOOK, Chat

if TYPE_CHECKING:
    from gpt2gl_ui.talk import Talk

# Characters for each position of the context: what a longer text is cut to before its tokens are
# counted. A token has four on average; a text of that many characters fills the context anyway.
CHARACTERS = 12


class ContextUse:
    """Counts a chat's tokens again only when the chat or the model changed."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._used = 0
        self._template: tuple[Session, Template] | None = None

    def of(self, talk: Talk, session: Session) -> int:
        """Tokens that the next answer starts from, at most as many as the context holds."""
        limit = session.model.config.n_positions
        if talk.is_writing:
            return min(session.n_encoded, limit)
        key = (talk.chat.id, talk.chat.revision, id(session))
        if key != self._key:
            self._key, self._used = key, self._count(talk.chat, session, limit)
        return min(self._used, limit)

    def _count(self, chat: Chat, session: Session, limit: int) -> int:
        most = CHARACTERS * limit
        try:
            if chat.mode == NOTEBOOK:
                text = chat.notebook.text
                return len(session.tokenizer.encode(text[-most:])) if text else 0
            turns = _last_turns(chat.turns(), most)
            if not turns:
                return 0
            return len(self._template_of(session).opened(turns, session.tokenizer))
        except Gpt2glError:  # without a tokenizer nothing can be said either
            return 0

    def _template_of(self, session: Session) -> Template:
        if self._template is None or self._template[0] is not session:
            self._template = session, template_for(session.name)
        return self._template[1]


def _last_turns(turns: list[Turn], most: int) -> list[Turn]:
    """The last turns, of at most about `most` characters together."""
    kept: list[Turn] = []
    room = most
    for turn in reversed(turns):
        if room <= 0:
            break
        kept.append(Turn(turn.role, turn.text[-room:]))
        room -= len(turn.text)
    return kept[::-1]
