"""A message's blocks one under the other: heights, and what is at a point."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from gpt2gl_ui.text.document import Block, Document
from gpt2gl_ui.text.flow import Flow, Segment
from gpt2gl_ui.text.style import TextStyle

# In points.
LIST_INDENT = 22
QUOTE_INDENT = 14
CODE_PADDING = 12
BLOCK_GAP = 10
ITEM_GAP = 4
RULE_HEIGHT = 9


@dataclass
class Box:
    """A block in its place: the text at (x, y) of the message, `height` with all padding.

    `code_number` counts the code blocks before it.
    """

    flow: Flow
    top: float
    x: float
    y: float
    height: float
    code_number: int = 0

    @property
    def block(self) -> Block:
        return self.flow.block

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def visible_lines(self, top: float, bottom: float) -> range:
        """Lines that touch the strip from `top` to `bottom` of the message."""
        first = int((top - self.y) // self.flow.line_height)
        last = int((bottom - self.y) // self.flow.line_height)
        return range(max(first, 0), min(last + 1, self.flow.line_count))

    def line_y(self, line: int) -> float:
        return self.y + line * self.flow.line_height


@dataclass(frozen=True)
class Line:
    """A laid-out line: `x`, `y` from the message's corner, `start:end` in the source."""

    x: float
    y: float
    height: float
    start: int
    end: int
    segments: tuple[Segment, ...]


class Layout:
    """Lays out a document for a width, again only from the first block that changed."""

    def __init__(self, style: TextStyle) -> None:
        self.style = style
        self.width = 0.0
        self.boxes: list[Box] = []
        self._tops: list[float] = []

    @property
    def height(self) -> float:
        return self.boxes[-1].bottom if self.boxes else 0.0

    @property
    def lines_wrapped(self) -> int:
        """How often a line was broken for what is shown now: the work done."""
        return sum(box.flow.lines_wrapped for box in self.boxes)

    def lay_out(self, document: Document, changed: int, width: float, style: TextStyle) -> None:
        """Bring the boxes up to date. `changed` is the first block that changed since the last."""
        if style.metrics() != self.style.metrics():
            self.boxes, changed = [], 0
        if width != self.width:
            changed = 0
        self.style, self.width = style, width
        old = self.boxes[changed:]
        del self.boxes[changed:], self._tops[changed:]
        for number, block in enumerate(document.blocks[changed:]):
            self._add(block, old[number].flow if number < len(old) else None)

    def _add(self, block: Block, flow: Flow | None) -> None:
        # Only the colours can differ between the styles here.
        if flow is None or not (flow.block == block or flow.grow(block)):
            flow = Flow(block, self.style)
        flow.block = block
        px = self.style.px
        top = self.height + self._gap(block)
        padding = px(CODE_PADDING) if block.kind == "code" else 0.0
        quotes = px(QUOTE_INDENT) * block.quotes
        x = px(LIST_INDENT) * block.indent + quotes + padding
        flow.wrap(max(self.width - x - padding, 1.0))
        inside = px(RULE_HEIGHT) if block.kind == "rule" else flow.height
        last = self.boxes[-1] if self.boxes else None
        number = last.code_number + (last.block.kind == "code") if last else 0
        self.boxes.append(Box(flow, top, x, top + padding, inside + 2 * padding, number))
        self._tops.append(top)

    def _gap(self, block: Block) -> float:
        if not self.boxes:
            return 0.0
        before, px = self.boxes[-1].block, self.style.px
        if block.indent and before.indent and "code" not in (block.kind, before.kind):
            return px(ITEM_GAP)
        return px(BLOCK_GAP) * (1.5 if block.kind == "heading" else 1.0)

    def visible(self, top: float, bottom: float) -> Iterator[Box]:
        """Boxes that touch a strip of the message."""
        for number in range(max(bisect_right(self._tops, top) - 1, 0), len(self.boxes)):
            if self.boxes[number].top > bottom:
                return
            yield self.boxes[number]

    def lines(self, top: float, bottom: float) -> Iterator[Line]:
        """The lines that touch a strip of the message, with what stands on them."""
        for box in self.visible(top, bottom):
            for number in box.visible_lines(top, bottom):
                start, end = (box.flow.to_source(at) for at in box.flow.line_range(number))
                pieces = tuple(box.flow.segments(number))
                height = box.flow.line_height
                yield Line(box.x, box.line_y(number), height, start, end, pieces)

    def box_at(self, y: float) -> Box | None:
        """The box at a height, the nearest above where there is none."""
        if not self.boxes:
            return None
        return self.boxes[max(bisect_right(self._tops, y) - 1, 0)]

    def index_at(self, x: float, y: float) -> int:
        """The place in the source nearest to a point of the message."""
        box = self.box_at(y)
        if box is None:
            return 0
        if y >= self.height:
            return box.flow.to_source(len(box.flow.text))
        line = self._line_at(box, y)
        return box.flow.to_source(box.flow.position_at(line, x - box.x))

    def character_at(self, x: float, y: float) -> tuple[Box, Segment, int] | None:
        """The character under a point: its box, its segment and its place in the source."""
        box = self.box_at(y)
        if box is None or not box.y <= y < box.y + box.flow.height:
            return None
        line = self._line_at(box, y)
        _, end = box.flow.line_range(line)
        if not 0 <= x - box.x < box.flow.x_of(line, end):
            return None
        index = box.flow.to_source(box.flow.position_at(line, x - box.x, nearest=False))
        pieces = [piece for piece in box.flow.segments(line) if piece.start <= index < piece.end]
        return (box, pieces[0], index) if pieces else None

    def _line_at(self, box: Box, y: float) -> int:
        line = int((y - box.y) // box.flow.line_height)
        return min(max(line, 0), box.flow.line_count - 1)

    def box_of(self, index: int) -> Box | None:
        """The box that holds a place in the source, or the one before it."""
        number = bisect_right(self.boxes, index, key=lambda box: box.block.start) - 1
        return self.boxes[max(number, 0)] if self.boxes else None

    def position_of(self, index: int) -> tuple[float, float, float]:
        """x, y and height of the caret in front of a place in the source."""
        box = self.box_of(index)
        if box is None:
            return 0.0, 0.0, float(round(self.style.size * self.style.line_spacing))
        position = box.flow.from_source(index)
        line = box.flow.line_of(position)
        return box.x + box.flow.x_of(line, position), box.line_y(line), box.flow.line_height
