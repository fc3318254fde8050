"""Free text of which it is known what the model wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text; `generated` where the model wrote it and nobody changed it since."""

    text: str
    generated: bool


class Notebook:
    """The document of a notebook.

    Spans cover the text from its beginning to its end; none is empty, and neighbours differ in
    `generated`. Positions count characters.
    """

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._spans = _merged(spans)
        self._text = "".join(span.text for span in self._spans)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    @property
    def spans(self) -> tuple[Span, ...]:
        """The whole text in pieces."""
        return self._spans

    def insert_generated(self, cursor: int, piece: str) -> int:
        """Put the model's text where the cursor stands; returns the cursor after it.

        A cursor outside the text counts as its nearer end.
        """
        cursor = max(0, min(cursor, len(self._text)))
        self._replace(cursor, cursor, Span(piece, generated=True))
        return cursor + len(piece)

    def apply_edit(self, new: str, cursor: int | None = None) -> None:
        """Take over the text as a person left it; what differs is no longer generated.

        Args:
            cursor: where the cursor stands after the edit. It tells which of several equal
                characters was typed or deleted.
        """
        old = self._text
        if cursor is None:
            start = _common_prefix(old, new, min(len(old), len(new)))
            tail = _common_suffix(old, new, min(len(old), len(new)) - start)
        else:
            behind = max(0, len(new) - max(0, cursor))
            tail = _common_suffix(old, new, min(behind, len(old), len(new)))
            start = _common_prefix(old, new, min(len(old), len(new)) - tail)
        self._replace(start, len(old) - tail, Span(new[start : len(new) - tail], generated=False))

    def _replace(self, start: int, stop: int, span: Span) -> None:
        before, after = self._cut(0, start), self._cut(stop, len(self._text))
        self._spans = _merged((*before, span, *after))
        self._text = f"{self._text[:start]}{span.text}{self._text[stop:]}"

    def _cut(self, start: int, stop: int) -> Iterator[Span]:
        at = 0
        for span in self._spans:
            low, high = max(start - at, 0), min(stop - at, len(span.text))
            if low < high:
                yield Span(span.text[low:high], span.generated)
            at += len(span.text)


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1].generated == span.generated:
            merged[-1] = Span(merged[-1].text + span.text, span.generated)
        elif span.text:
            merged.append(span)
    return tuple(merged)


def _common_prefix(old: str, new: str, limit: int) -> int:
    return _longest(limit, lambda n: old.startswith(new[:n]))


def _common_suffix(old: str, new: str, limit: int) -> int:
    return _longest(limit, lambda n: old.endswith(new[len(new) - n :]))


def _longest(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest n up to `limit` for which `holds`; it holds for 0 and all below that n.

    Comparing slices at bisected lengths is far faster than comparing characters in Python.
    """
    low, high = 0, max(0, limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
