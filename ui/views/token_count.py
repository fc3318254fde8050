"""How many tokens a text has, counted beside the frames: a text of a megabyte takes a second.

A text is cut where the tokenizer's own splitting always cuts, between a word and the space before
the next, so that pieces may be counted one by one and those that stay the same only once.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Protocol

PIECE = 2000  # characters, about a millisecond
AT_ONCE = 2000  # a text up to this long is counted in the frame
MOST_KEPT = 4096
_CUT = re.compile(r"(?<=[^\s])(?= [^\s])")


class Encoder(Protocol):
    def encode(self, text: str) -> list[int]: ...


class TokenCount:
    """The count of a text that changes; `current` is None until it is known."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` is called by the counting thread when it is done."""
        self._wake = wake
        self._encoder: Encoder | None = None
        self._known: dict[str, int] = {}
        self._text = ""
        self._count: int | None = 0
        self._done: SimpleQueue[tuple[str, int]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def of(self, text: str, encoder: Encoder) -> int | None:
        """The number of tokens, or None while it is being counted: ask again when woken."""
        if encoder is not self._encoder:
            self._encoder, self._known, self._text, self._count = encoder, {}, "", 0
        if text is not self._text and text != self._text:
            self._text, self._count = text, None
        while not self._done.empty():
            counted, number = self._done.get()
            if counted == self._text:
                self._count = number
        if self._count is None:
            self._begin()
        return self._count

    def _begin(self) -> None:
        if len(self._text) <= AT_ONCE and self._encoder is not None:
            self._count = len(self._encoder.encode(self._text))
        elif self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, args=(self._text,), daemon=True)
            self._thread.start()

    def _run(self, text: str) -> None:
        encoder, known, total = self._encoder, self._known, 0
        assert encoder is not None
        for piece in pieces(text):
            if piece not in known:
                if len(known) >= MOST_KEPT:
                    known.clear()
                known[piece] = len(encoder.encode(piece))
            total += known[piece]
            if text is not self._text and text != self._text:
                break
        else:
            self._done.put((text, total))
        self._wake()


def pieces(text: str) -> Iterator[str]:
    """The text in parts whose tokens together are the text's."""
    start = 0
    while start < len(text):
        found = _CUT.search(text, start + PIECE)
        end = found.start() if found else len(text)
        yield text[start:end]
        start = end
