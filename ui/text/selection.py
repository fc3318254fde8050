"""What is selected in a conversation: from a place in one message to a place in another.

Only message names and indices into their source texts are kept, so that messages between may be
drawn or not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

BETWEEN_MESSAGES = "\n\n"


@dataclass(frozen=True)
class Place:
    """In front of character `index` of a message's source."""

    message: str
    index: int


@dataclass
class Selection:
    """One for all messages that can be selected together; `show` names them in order.

    `scroll_wish` is how far the pointer is beyond the visible part while text is being selected,
    in pixels (negative above): whoever owns the scrolling follows it.
    """

    anchor: Place | None = None
    head: Place | None = None
    dragging: bool = False
    scroll_wish: float = 0.0
    frame: int = -1
    order: tuple[str, ...] = ()
    _ranks: dict[str, int] = field(default_factory=dict)

    def show(self, messages: Sequence[str]) -> None:
        """The messages in the order in which they are read. Cheap when nothing changed."""
        names = tuple(messages)
        if names != self.order:
            self.order = names
            self._ranks = {name: rank for rank, name in enumerate(names)}

    def clear(self) -> None:
        self.anchor = self.head = None
        self.dragging = False

    def start(self, place: Place) -> None:
        self.anchor = self.head = place

    def extend(self, place: Place) -> None:
        """Move the end that follows the pointer."""
        self.anchor = self.anchor or place
        self.head = place

    def select(self, message: str, start: int, end: int) -> None:
        self.anchor, self.head = Place(message, start), Place(message, end)

    def ends(self) -> tuple[Place, Place] | None:
        """Both ends in reading order; None when nothing is selected, or its message is gone."""
        if self.anchor is None or self.head is None or self.anchor == self.head:
            return None
        if not {self.anchor.message, self.head.message} <= self._ranks.keys():
            return None
        first, last = sorted((self.anchor, self.head), key=self._rank)
        return first, last

    def _rank(self, place: Place) -> tuple[int, int]:
        return self._ranks[place.message], place.index

    def range_in(self, message: str, length: int) -> tuple[int, int] | None:
        """What is selected of a message of `length` characters; None for nothing."""
        ends = self.ends()
        rank = self._ranks.get(message)
        if ends is None or rank is None:
            return None
        first, last = (self._ranks[place.message] for place in ends)
        if not first <= rank <= last:
            return None
        start = min(ends[0].index, length) if rank == first else 0
        end = min(ends[1].index, length) if rank == last else length
        return (start, end) if start < end else None

    def text(self, source_of: Callable[[str], str]) -> str:
        """The selected parts of the sources, with an empty line between messages."""
        ends = self.ends()
        if ends is None:
            return ""
        first, last = (self._ranks[place.message] for place in ends)
        parts = []
        for name in self.order[first : last + 1]:
            source = source_of(name)
            if chosen := self.range_in(name, len(source)):
                parts.append(source[slice(*chosen)])
        return BETWEEN_MESSAGES.join(parts)


def word_at(source: str, index: int) -> tuple[int, int]:
    """The word, the spaces or the single sign at an index."""
    if not source:
        return 0, 0
    index = min(index, len(source) - 1)
    kind = _kind(source[index])
    start, end = index, index + 1
    if kind == "sign":
        return start, end
    while start > 0 and _kind(source[start - 1]) == kind:
        start -= 1
    while end < len(source) and _kind(source[end]) == kind:
        end += 1
    return start, end


def paragraph_at(source: str, index: int) -> tuple[int, int]:
    """The line of the source around an index, without its newline."""
    end = source.find("\n", index)
    return source.rfind("\n", 0, index) + 1, len(source) if end < 0 else end


def _kind(character: str) -> str:
    if character.isalnum() or character == "_" or unicodedata.category(character) in ("Mn", "Mc"):
        return "word"
    return "space" if character.isspace() and character != "\n" else "sign"
