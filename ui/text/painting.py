"""Draws a laid-out message with a draw list: only the lines that can be seen."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui.text.document import Run
from gpt2gl_ui.text.flow import Segment
from gpt2gl_ui.text.layout import CODE_PADDING, LIST_INDENT, QUOTE_INDENT, Box, Layout
from gpt2gl_ui.text.style import Face, TextStyle

# How far a selected line end reaches beyond the text, in points.
LINE_END = 5
CODE_ROUNDING = 8
Rectangle = tuple[float, float, float, float]


@dataclass(frozen=True)
class Tokens:
    """Tokens of a message: token i is source[starts[i]:ends[i]], in ascending order.

    `colours` are drawn behind them, for a draw list; 0 draws nothing. `selected` has a ring.
    """

    starts: Sequence[int]
    ends: Sequence[int]
    colours: Sequence[int] = ()
    selected: int | None = None

    def at(self, index: int) -> int | None:
        """The token that a character belongs to."""
        number = bisect_right(self.starts, index) - 1
        return number if number >= 0 and index < self.ends[number] else None

    def between(self, start: int, end: int) -> range:
        """The tokens that touch a range of characters."""
        return range(bisect_right(self.ends, start), bisect_left(self.starts, end))

    def colour(self, number: int) -> int:
        return self.colours[number] if number < len(self.colours) else 0


@dataclass(frozen=True)
class Painter:
    """Paints one message, its corner at (x, y), between the screen's `top` and `bottom`."""

    layout: Layout
    draw: imgui.ImDrawList
    x: float
    y: float
    top: float
    bottom: float

    @property
    def style(self) -> TextStyle:
        return self.layout.style

    def paint(self, selected: tuple[int, int] | None, tokens: Tokens | None) -> None:
        top, bottom = self.top - self.y, self.bottom - self.y
        for box in self.layout.visible(top, bottom):
            self._decorate(box)
            for line in box.visible_lines(top, bottom):
                if tokens:
                    self._tint(box, line, tokens)
                if selected:
                    self._select(box, line, *selected)
                self._write(box, line)

    def _decorate(self, box: Box) -> None:
        block, px, colours = box.block, self.style.px, self.style.colours
        y, bottom = self.y + box.top, self.y + box.bottom
        for number in range(block.quotes):
            x = self.x + px(LIST_INDENT) * block.indent + px(QUOTE_INDENT) * number
            self._fill((x, y, x + px(3), bottom), colours.border, px(1))
        if block.kind == "code":
            x = self.x + box.x - px(CODE_PADDING)
            right = self.x + self.layout.width
            self._fill((x, y, right, bottom), colours.code_background, px(CODE_ROUNDING))
        if block.kind == "rule":
            middle = round((y + bottom) / 2)
            right = self.x + self.layout.width
            self._fill((self.x + box.x, middle, right, middle + px(1)), colours.border)
        if block.marker:
            self._mark_item(box)

    def _mark_item(self, box: Box) -> None:
        """The bullet or number of a list item, right-aligned before its text."""
        face = self.style.face(box.block, Run("", 0, 0))
        width = face.width(box.block.marker)
        x = self.x + box.x - width - self.style.px(7)
        self._text(face, x, self.y + box.y, box, box.block.marker, self.style.colours.muted)

    def _write(self, box: Box, line: int) -> None:
        y = self.y + box.line_y(line)
        for piece in box.flow.segments(line):
            self._write_piece(box, piece, self.x + box.x + piece.x, y)

    def _write_piece(self, box: Box, piece: Segment, x: float, y: float) -> None:
        run, colours = piece.run, self.style.colours
        face = self.style.face(box.block, run)
        inline_code = run.code and box.block.kind != "code"
        width = face.width(piece.text) if inline_code or run.href else 0.0
        height, px = box.flow.line_height, self.style.px
        if inline_code:
            area = (x - px(2), y + px(2), x + width + px(2), y + height - px(2))
            self._fill(area, colours.code_background, px(4))
        faint = run.italic and self.style.italic is None
        colour = colours.link if run.href else colours.muted if faint else colours.text
        self._text(face, x, y, box, piece.text, colour)
        if run.href:
            base = round(y + height * 0.5 + self.style.size_of(box.block) * 0.36)
            self._fill((x, base, x + width, base + px(1)), colours.link)

    def _text(self, face: Face, x: float, y: float, box: Box, text: str, colour: int) -> None:
        """Text on the baseline of the body font, whatever its own font."""
        shown = face.shown(text).rstrip(" ")
        if shown:
            lead = (box.flow.line_height - self.style.size_of(box.block)) / 2
            body = self.style.face(box.block, Run("", 0, 0)).ascent
            place = imgui.ImVec2(x, round(y + lead + body - face.ascent))
            self.draw.add_text(face.font, face.size, place, colour, shown)

    def _fill(self, area: Rectangle, colour: int, rounding: float = 0.0) -> None:
        low, high = imgui.ImVec2(area[0], area[1]), imgui.ImVec2(area[2], area[3])
        self.draw.add_rect_filled(low, high, colour, rounding)

    def area(self, box: Box, line: int, start: int, end: int) -> Rectangle | None:
        """Where source[start:end] is on a line, on the screen; None where it is not."""
        flow = box.flow
        first, last = flow.line_range(line)
        begin = max(flow.from_source(start), first)
        stop = min(flow.from_source(end), last)
        if begin >= stop:
            return None
        x, y = self.x + box.x, self.y + box.line_y(line)
        left, right = flow.x_of(line, begin), flow.x_of(line, stop)
        return x + left, y, x + right, y + flow.line_height

    def _select(self, box: Box, line: int, start: int, end: int) -> None:
        flow, colour = box.flow, self.style.colours.selection
        _, last = flow.line_range(line)
        if area := self.area(box, line, start, end):
            self._fill(area, colour)
        after, text = flow.from_source(end), flow.text
        if flow.from_source(start) <= last < after and text[last : last + 1] == "\n":
            x = self.x + box.x + flow.x_of(line, last)
            y = self.y + box.line_y(line)
            self._fill((x, y, x + self.style.px(LINE_END), y + flow.line_height), colour)

    def _tint(self, box: Box, line: int, tokens: Tokens) -> None:
        wanted = tokens.colours or tokens.selected is not None
        for number, area in self.token_areas(box, line, tokens) if wanted else ():
            if colour := tokens.colour(number):
                self._fill(area, colour)
            if number == tokens.selected:
                low, high = imgui.ImVec2(area[0], area[1]), imgui.ImVec2(area[2], area[3])
                px = self.style.px
                self.draw.add_rect(low, high, self.style.colours.ring, px(3), px(2))

    def token_areas(self, box: Box, line: int, tokens: Tokens) -> Iterator[tuple[int, Rectangle]]:
        """The tokens on a line with their rectangles."""
        start, end = (box.flow.to_source(at) for at in box.flow.line_range(line))
        for number in tokens.between(start, end):
            if area := self.area(box, line, tokens.starts[number], tokens.ends[number]):
                yield number, area
