"""Search in the titles and texts of all chats, whatever the case and the accents."""

from __future__ import annotations

import functools
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from .codec import Summary, summary_of
from .folder import Stamp
from .store import Store
from .tree import Chat

MAX_CHARACTERS = 32_000_000
SNIPPET_BEFORE, SNIPPET_AFTER = 40, 120
TITLE, MESSAGE, NOTEBOOK = "title", "message", "notebook"


@dataclass(frozen=True)
class Hit:
    """Where all words were found.

    `place` is `TITLE`, `MESSAGE` or `NOTEBOOK`. `matches` are (start, end) in `snippet`, in order
    and apart from each other.
    """

    chat_id: str
    title: str
    place: str
    message_id: str | None
    snippet: str
    matches: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Text:
    message_id: str | None
    text: str
    folded: str


@dataclass(frozen=True)
class _Indexed:
    """One chat; `texts` is None where memory is used up, and the disk is read instead."""

    version: Stamp | int | None
    texts: tuple[_Text, ...] | None

    @property
    def characters(self) -> int:
        return sum(len(each.text) for each in self.texts or ())


class Search:
    """An index in memory of at most `limit` characters, kept up to date in bounded steps."""

    def __init__(self, store: Store, limit: int = MAX_CHARACTERS) -> None:
        self._store = store
        self._limit = limit
        self._summaries: dict[str, Summary] = {}
        self._indexed: dict[str, _Indexed] = {}
        self._noted: dict[str, tuple[Summary, _Indexed]] = {}
        self._characters = 0
        self._waiting: list[str] = []

    def begin(self) -> None:
        """Look which chats there are; call `update` until it is done, then `find`."""
        self._summaries = {summary.id: summary for summary in self._store.summaries()}
        for gone in self._indexed.keys() - self._summaries.keys():
            self._characters -= self._indexed.pop(gone).characters
        self._waiting = [each for each in reversed(self._summaries) if self._is_stale(each)]

    def update(self, deadline: float) -> bool:
        """Read chats until `time.monotonic()` reaches `deadline`; whether none is left."""
        while self._waiting and time.monotonic() < deadline:
            self._read(self._waiting.pop())
        return not self._waiting

    def note(self, chat: Chat) -> None:
        """Take a chat's texts from memory: one that is private, or was changed just now."""
        known = self._noted.get(chat.id)
        if known is not None and known[1].version == chat.revision:
            return
        pairs = [(message.id, message.text) for message in chat]
        texts = _texts(iter([(None, chat.notebook.text), *pairs]))
        self._noted[chat.id] = summary_of(chat), _Indexed(chat.revision, texts)

    def forget(self, chat_id: str) -> None:
        """Take a noted chat's texts from the disk again, or not at all if it was private."""
        self._noted.pop(chat_id, None)

    def find(self, query: str, limit: int = 200) -> list[Hit]:
        """Up to `limit` places that hold every word of `query`, in the order of the list.

        A message counts if it holds one word at least and the others stand in it or in the title.
        Of a query without words nothing is found.
        """
        return list(islice(chain.from_iterable(self.scan(query)), limit))

    def scan(self, query: str) -> Iterator[list[Hit]]:
        """What `find` finds, chat by chat, so that a search can be done in slices.

        It must be begun again after `begin`, `note` or `forget`.
        """
        words = tuple(dict.fromkeys(fold(query).split()))
        for summary, entry in self._everything() if words else ():
            yield list(self._hits(summary, entry, words))

    def _everything(self) -> Iterator[tuple[Summary, _Indexed | None]]:
        yield from (noted for k, noted in self._noted.items() if k not in self._summaries)
        for chat_id, summary in self._summaries.items():
            yield self._noted.get(chat_id) or (summary, self._indexed.get(chat_id))

    def _hits(
        self, summary: Summary, entry: _Indexed | None, words: tuple[str, ...]
    ) -> Iterator[Hit]:
        title = fold(summary.title)
        if all(word in title for word in words):
            yield _hit(summary, TITLE, None, summary.title, words)
        wanted = [word for word in words if word not in title]
        for each in self._texts_of(summary.id, entry):
            text = each.folded
            if all(word in text for word in wanted) and any(word in text for word in words):
                place = MESSAGE if each.message_id else NOTEBOOK
                yield _hit(summary, place, each.message_id, each.text, words)

    def _texts_of(self, chat_id: str, entry: _Indexed | None) -> tuple[_Text, ...]:
        if entry is None:
            return ()
        return _texts(self._store.texts(chat_id)) if entry.texts is None else entry.texts

    def _is_stale(self, chat_id: str) -> bool:
        known = self._indexed.get(chat_id)
        return known is None or known.version != self._store.stamp(chat_id)

    def _read(self, chat_id: str) -> None:
        if (old := self._indexed.pop(chat_id, None)) is not None:
            self._characters -= old.characters
        entry = _Indexed(self._store.stamp(chat_id), _texts(self._store.texts(chat_id)))
        if self._characters + entry.characters > self._limit:
            entry = _Indexed(entry.version, None)
        self._characters += entry.characters
        self._indexed[chat_id] = entry


def fold(text: str) -> str:
    """A text as it is compared: no case, no accents, compatible forms as one."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


@functools.lru_cache(maxsize=1 << 14)
def _folded(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character).casefold()
    parts = unicodedata.normalize("NFKD", plain)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _texts(pairs: Iterator[tuple[str | None, str]]) -> tuple[_Text, ...]:
    return tuple(_Text(message_id, text, fold(text)) for message_id, text in pairs if text)


def _hit(
    summary: Summary, place: str, message_id: str | None, text: str, words: tuple[str, ...]
) -> Hit:
    folded = fold(text)
    first = min((at for word in words if (at := folded.find(word)) >= 0), default=0)
    start = max(0, _original(text, first) - SNIPPET_BEFORE)
    # White space becomes blanks, one for one, so that a snippet is one line.
    piece = text[start : start + SNIPPET_BEFORE + SNIPPET_AFTER]
    snippet = "".join(" " if character.isspace() else character for character in piece)
    return Hit(summary.id, summary.title, place, message_id, snippet, _matches(snippet, words))


def _original(text: str, at: int) -> int:
    """Which character of `text` the character `at` of the folded text comes from."""
    if text.isascii():
        return at
    seen = 0
    for i, character in enumerate(text):
        seen += len(fold(character))
        if seen > at:
            return i
    return len(text)


def _matches(snippet: str, words: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Where words stand in a snippet, joined where they overlap or touch."""
    lengths = [len(fold(character)) for character in snippet]
    origin = [i for i, length in enumerate(lengths) for _ in range(length)]
    folded = fold(snippet)
    marked = {
        i
        for word in words
        for at in _places(folded, word)
        for i in range(origin[at], origin[at + len(word) - 1] + 1)
    }
    starts = sorted(i for i in marked if i - 1 not in marked)
    ends = sorted(i + 1 for i in marked if i + 1 not in marked)
    return tuple(zip(starts, ends, strict=True))


def _places(folded: str, word: str) -> Iterator[int]:
    at = folded.find(word)
    while at >= 0:
        yield at
        at = folded.find(word, at + 1)
