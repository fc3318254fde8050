"""A conversation as a tree: every message may have several versions, one of which is shown.

Messages with the same parent are versions of each other. The path from the first shown message
to the last is what the window draws and the model reads.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpt2gl.errors import OptionError
from gpt2gl.generation import Finished
from gpt2gl.templates import ASSISTANT, USER, Turn

from .messages import (
    NO_TOKEN,
    Answer,
    Message,
    TokenInfo,
    tokens_covering,
    tokens_within,
)
from .notebook import Notebook

CHAT, NOTEBOOK = "chat", "notebook"
MODES = (CHAT, NOTEBOOK)
UNTITLED = "New chat"
TITLE_CHARACTERS = 60


def new_id() -> str:
    """A name that no other chat or message has."""
    return uuid.uuid4().hex


def now() -> float:
    """Seconds since 1970, UTC, to the millisecond."""
    return round(time.time(), 3)


@dataclass(frozen=True)
class Removed:
    """What `Chat.delete` took out, for `Chat.restore`."""

    messages: tuple[Message, ...]
    place: int
    shown: Mapping[str | None, str]


@dataclass(eq=False)
class Chat:
    """A conversation, or a notebook; the tree is changed by its methods only.

    Methods that take a message's id raise KeyError if the chat has no such message.

    Attributes:
        id: 32 hexadecimal digits, also the name of the chat's file.
        name: the title that a person gave, None for one made from the first message.
        created, updated: seconds since 1970, UTC; `updated` is the last change of a text.
        private: never written to the disk.
        model: the model last used.
        notebook: the document in notebook mode; tell `touch` of its changes.
        read_only: why the chat must not be written, None where it may.
        extra: fields of a newer version of the format, kept as they are.
        revision: grows with every change, so that savers see one.
    """

    id: str = field(default_factory=new_id)
    name: str | None = None
    created: float = field(default_factory=now)
    updated: float = 0.0
    pinned: bool = False
    mode: str = CHAT
    private: bool = False
    model: str | None = None
    notebook: Notebook = field(default_factory=Notebook)
    read_only: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    revision: int = 0

    def __post_init__(self) -> None:
        self.updated = self.updated or self.created
        self._messages: dict[str, Message] = {}
        self._children: dict[str | None, list[str]] = {None: []}
        self._shown: dict[str | None, str] = {}
        self._path: list[Message] | None = None

    # Reading --------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The given name, else the beginning of the first thing that was written."""
        if self.name is not None:
            return self.name
        texts = [m.text for m in self.path()[:2] if m.role == USER] or [self.notebook.text]
        words = " ".join(texts[0][: 20 * TITLE_CHARACTERS].split())
        if len(words) > TITLE_CHARACTERS:
            words = f"{words[: TITLE_CHARACTERS - 1].rstrip()}…"
        return words or UNTITLED

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written yet."""
        return not self._messages and not self.notebook.text

    def __getitem__(self, message_id: str) -> Message:
        return self._messages[message_id]

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    def __len__(self) -> int:
        """How many messages there are, in all versions."""
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        """All messages, parents before children and older versions before newer ones."""
        return (self._messages[each] for each in self._below(None))

    @property
    def shown(self) -> Mapping[str | None, str]:
        """Parent -> its shown child, for parents with several."""
        return {p: c for p, c in self._shown.items() if len(self._children[p]) > 1}

    def path(self) -> list[Message]:
        """The shown messages from the first to the last; the caller must not change the list."""
        if self._path is None:
            self._path = []
            at: str | None = None
            while (child := self._shown.get(at)) is not None:
                self._path.append(self._messages[child])
                at = child
        return self._path

    def turns(self, until: str | None = None) -> list[Turn]:
        """The path as a dialogue, up to and with the message `until`."""
        messages = self.path() if until is None else self._lineage(until)
        return [Turn(message.role, message.text) for message in messages]

    @property
    def last(self) -> Message | None:
        """The last shown message."""
        path = self.path()
        return path[-1] if path else None

    def versions(self, message_id: str) -> tuple[int, tuple[Message, ...]]:
        """Which version a message is, from 0, and all of them."""
        siblings = self._siblings(message_id)
        return siblings.index(message_id), tuple(self._messages[each] for each in siblings)

    # Changing the tree ----------------------------------------------------------------------

    def add(
        self, parent: str | None, role: str, text: str, answer: Answer | None = None
    ) -> Message:
        """Add a message after `parent`, None for a first one, and show it.

        A child that `parent` already has becomes another version of the new message.
        """
        message = Message(new_id(), parent, role, text, now(), answer=answer)
        self.insert(message)
        self.touch()
        return message

    def say(self, text: str) -> Message:
        """Add a message of the user's at the end of the path."""
        return self.add(self._last_id(), USER, text)

    def begin_answer(self, parent: str | None, model: str) -> Message:
        """Add an answer of no text yet after `parent`: the first, or another version."""
        self.model = model
        return self.add(parent, ASSISTANT, "", Answer(model=model))

    def insert(self, message: Message, place: int | None = None) -> None:
        """Put in a message as it is, shown, as version number `place` or as the last one."""
        if message.parent is not None and message.parent not in self._messages:
            raise KeyError(message.parent)
        siblings = self._children[message.parent]
        siblings.insert(len(siblings) if place is None else place, message.id)
        self._messages[message.id] = message
        self._children[message.id] = []
        self._shown[message.parent] = message.id
        self._changed()

    def select_version(self, message_id: str) -> None:
        """Show a message instead of its other versions."""
        self._shown[self._messages[message_id].parent] = message_id
        self._changed()

    def show(self, message_id: str) -> None:
        """Bring a message onto the path, wherever in the tree it is."""
        for message in self._lineage(message_id):
            self.select_version(message.id)

    def edit(self, message_id: str, text: str) -> Message:
        """Add another version with a text of the user's, and show it; nothing follows it yet."""
        old = self._messages[message_id]
        self.insert(Message(new_id(), old.parent, old.role, text, now(), edited=True))
        self.touch()
        return self._messages[self._shown[old.parent]]

    def version_from_token(self, message_id: str, n_tokens: int) -> Message:
        """Add a version that keeps the first `n_tokens` tokens of an answer, to go on from."""
        old = self._messages[message_id]
        answer = old.answer or Answer(model=self.model)
        kept = answer.tokens[: max(0, n_tokens)]
        text = "".join(token.text for token in kept)
        n_new = sum(token.id != NO_TOKEN for token in kept)
        begun = Answer(answer.model, new_tokens=n_new, tokens=kept)
        return self.add(old.parent, old.role, text, begun)

    def delete(self, message_id: str) -> Removed:
        """Take out a message and all that follows it; the version beside it is shown then."""
        siblings = self._siblings(message_id)
        ids = [message_id, *self._below(message_id)]
        place = siblings.index(message_id)
        parent = self._messages[message_id].parent
        shown = {p: self._shown[p] for p in (parent, *ids) if p in self._shown}
        removed = Removed(tuple(self._messages[each] for each in ids), place, shown)
        siblings.remove(message_id)
        for each in ids:
            del self._messages[each], self._children[each]
            self._shown.pop(each, None)
        self._show_beside(parent, message_id, place)
        self.touch()
        return removed

    def restore(self, removed: Removed) -> None:
        """Undo `delete`.

        Raises:
            OptionError: the message before it was deleted later, which must be undone first.
        """
        top = removed.messages[0]
        if top.parent is not None and top.parent not in self._messages:
            raise OptionError(
                "the message before it was deleted too: undo the later deletion first"
            )
        place = min(removed.place, len(self._children[top.parent]))
        for message in removed.messages:
            self.insert(message, place if message is top else None)
        for parent, child in removed.shown.items():
            if child in self._messages:
                self._shown[parent] = child
        self.touch()

    def branch_from(self, message_id: str) -> Chat:
        """A new chat of the messages up to this one, in the versions that lead to it."""
        branch = Chat(name=f"{self.title} (branch)", mode=self.mode, model=self.model)
        branch.private = self.private
        parent: str | None = None
        for message in self._lineage(message_id):
            branch.insert(replace(message, id=new_id(), parent=parent))
            parent = branch._last_id()
        return branch

    # Changing one message -------------------------------------------------------------------

    def replace_text(self, message_id: str, text: str) -> None:
        """Change a message by hand, in place; tokens up to the change stay known."""
        old = self._messages[message_id]
        answer = old.answer
        if answer is not None:
            answer = replace(answer, tokens=tokens_within(answer.tokens, text))
        self._put(replace(old, text=text, edited=True, answer=answer))

    def append_text(self, message_id: str, piece: str, token: TokenInfo | None = None) -> None:
        """Let an answer grow; `token` is the one that made `piece` visible."""
        old = self._messages[message_id]
        answer = old.answer or Answer(model=self.model)
        if token is not None:
            known = tokens_covering(answer.tokens, old.text)
            answer = replace(answer, tokens=(*known, token))
        self._put(replace(old, text=old.text + piece, answer=answer))

    def finish(self, message_id: str, end: Finished, model: str) -> None:
        """Add what was held back, and note how the answer, or its continuation, was made."""
        old = self._messages[message_id]
        answer = replace(
            old.answer or Answer(),
            model=model,
            reason=end.reason,
            seed=end.seed,
            new_tokens=(old.answer.new_tokens if old.answer else 0) + end.new_tokens,
            tokens_per_second=end.tokens_per_second,
            first_token_seconds=end.first_token_seconds,
        )
        self.model = model
        self._put(replace(old, text=old.text + end.text, answer=answer))

    # Changing the chat ----------------------------------------------------------------------

    def rename(self, name: str | None) -> None:
        """Give a title; one of white space, or None, brings back the automatic one."""
        self.name = (" ".join(name.split()) if name else "") or None
        self._changed()

    def pin(self, pinned: bool) -> None:
        """Keep the chat at the top of the list, or no longer."""
        self.pinned = pinned
        self._changed()

    def set_mode(self, mode: str) -> None:
        """Switch between `CHAT` and `NOTEBOOK`; each keeps what was written in it."""
        if mode not in MODES:
            raise OptionError(f"mode is {mode!r}; allowed: {' | '.join(MODES)}")
        self.mode = mode
        self._changed()

    def touch(self) -> None:
        """Note that a text changed just now."""
        self.updated = max(self.updated, now())
        self._changed()

    # ----------------------------------------------------------------------------------------

    def _put(self, message: Message) -> None:
        self._messages[message.id] = message
        self.touch()

    def _changed(self) -> None:
        self._path = None
        self.revision += 1

    def _last_id(self) -> str | None:
        return self.last.id if self.last else None

    def _siblings(self, message_id: str) -> list[str]:
        return self._children[self._messages[message_id].parent]

    def _show_beside(self, parent: str | None, gone: str, place: int) -> None:
        if self._shown.get(parent) != gone:
            return
        siblings = self._children[parent]
        if siblings:
            self._shown[parent] = siblings[min(place, len(siblings) - 1)]
        else:
            del self._shown[parent]

    def _lineage(self, message_id: str) -> list[Message]:
        lineage = [self._messages[message_id]]
        while (parent := lineage[-1].parent) is not None:
            lineage.append(self._messages[parent])
        return lineage[::-1]

    def _below(self, top: str | None) -> Iterator[str]:
        # No recursion: a conversation may be deeper than Python's stack.
        waiting = self._children[top][::-1]
        while waiting:
            each = waiting.pop()
            yield each
            waiting.extend(reversed(self._children[each]))
