"""Where imgui's own field breaks lines, so that something can be drawn behind its text.

The field breaks each paragraph by itself, with the function that is asked here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from imgui_bundle import imgui

LONGEST = 1000  # characters that are asked about at a time: more than fit on a line
MOST_KEPT = 20_000
_KEEP_BLANKS = int(imgui.internal.ImDrawTextFlags_.wrap_keep_blanks)

Interval = tuple[int, int]


@dataclass
class LineBreaks:
    """The lines of a text in the current font; paragraphs that stay are not broken again."""

    starts: list[int] = field(default_factory=list)
    text: str = ""
    _basis: object = None
    _known: dict[str, list[int]] = field(default_factory=dict)

    def update(self, text: str, width: float) -> None:
        """Break a text into lines of `width` pixels."""
        basis = (width, imgui.get_font_size())
        if basis != self._basis:
            self._known = {}
        elif text is self.text or text == self.text:
            return
        if len(self._known) > MOST_KEPT:
            self._known = {}
        self.text, self._basis = text, basis
        self.starts, at = [], 0
        for paragraph in text.split("\n"):
            if paragraph not in self._known:
                self._known[paragraph] = list(_breaks(paragraph, width))
            self.starts += [at + start for start in self._known[paragraph]]
            at += len(paragraph) + 1

    def line(self, number: int) -> Interval:
        """A line's characters, the newline at its end left out."""
        start = self.starts[number]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        if end > start and self.text[end - 1] == "\n":
            end -= 1
        return start, end

    def pieces(
        self, intervals: Sequence[Interval], lines: range
    ) -> Iterator[tuple[int, float, float]]:
        """Where intervals of the text, in order, stand on some lines: line, left and right."""
        ends = [end for _, end in intervals]
        for number in lines:
            start, end = self.line(number)
            for first, last in intervals[bisect_right(ends, start) :]:
                if first >= end:
                    break
                left = _width(self.text[start : max(first, start)])
                yield number, left, left + _width(self.text[max(first, start) : min(last, end)])


def _breaks(paragraph: str, width: float) -> Iterator[int]:
    """Where the lines of a paragraph begin."""
    font, size, at = imgui.get_font(), imgui.get_font_size(), 0
    yield 0
    while True:
        part = paragraph[at : at + LONGEST]
        rest = imgui.internal.im_font_calc_word_wrap_position_ex(
            font, size, part, width, _KEEP_BLANKS
        )
        at += len(part) - len(rest)
        if at >= len(paragraph) or len(rest) == len(part):
            return
        yield at


def _width(text: str) -> float:
    return float(imgui.calc_text_size(text).x) if text else 0.0
