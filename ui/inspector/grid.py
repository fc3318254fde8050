"""A table of equal cells that scrolls, with labels that stay at its left and top."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import marks, theme
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.widgets import Area, elided, fill, text_in

LABEL_LEAST = 11  # points of a row or column that a label needs
_FLAGS = imgui.WindowFlags_


@dataclass(frozen=True)
class Shape:
    """Counts, and sizes in pixels; `left` and `top` are the room for labels."""

    columns: int
    rows: int
    cell_width: float
    cell_height: float
    left: float
    top: float

    @property
    def width(self) -> float:
        return self.left + self.columns * self.cell_width

    @property
    def height(self) -> float:
        return self.top + self.rows * self.cell_height


@dataclass(frozen=True)
class Grid:
    """What can be seen of a table in this frame."""

    shape: Shape
    x: float  # of column 0 and row 0 on the screen
    y: float
    window: Area
    hovered: tuple[int, int] | None  # column, row
    clicked: bool

    @property
    def body(self) -> Area:
        shape = self.shape
        wide, tall = shape.columns * shape.cell_width, shape.rows * shape.cell_height
        return Area(self.x, self.y, wide, tall)

    @property
    def columns(self) -> range:
        """Those that are at least partly visible."""
        return _visible(
            self.x, self.window.x + self.shape.left, self.window.right,
            self.shape.cell_width, self.shape.columns,
        )

    @property
    def rows(self) -> range:
        return _visible(
            self.y, self.window.y + self.shape.top, self.window.bottom,
            self.shape.cell_height, self.shape.rows,
        )

    def cell(self, column: int, row: int) -> Area:
        shape = self.shape
        x, y = self.x + column * shape.cell_width, self.y + row * shape.cell_height
        return Area(x, y, shape.cell_width, shape.cell_height)

    def row_labels(self, label: Callable[[int], str], *, chosen: int | None = None) -> None:
        """Draw them over what has scrolled below."""
        now, window = theme.palette(), self.window
        side = Area(window.x, window.y, self.shape.left, window.height)
        fill(side, now.background, 1)
        if self.shape.cell_height < theme.px(LABEL_LEAST):
            rows = [chosen] if chosen is not None else []
        else:
            rows = list(self.rows)
        with pieces.small():
            for row in rows:
                y = self.y + row * self.shape.cell_height
                tall = max(self.shape.cell_height, theme.px(14))
                y -= (tall - self.shape.cell_height) / 2
                ink = now.accent if row == chosen else now.text_muted
                place = Area(window.x, y, self.shape.left, tall)
                text_in(place, label(row), ink, 1.0, theme.TIGHT)
        fill(Area(window.x, window.y, self.shape.left, self.shape.top), now.background, 1)

    def column_labels(
        self, label: Callable[[int], str], *, chosen: int | None = None, turned: bool = False
    ) -> None:
        """Draw them over what has scrolled above; `turned` to read from below."""
        now, window, left = theme.palette(), self.window, self.shape.left
        band = Area(window.x + left, window.y, window.width - left, self.shape.top)
        fill(band, now.background, 1)
        if self.shape.cell_width < theme.px(LABEL_LEAST):
            columns = [chosen] if chosen is not None else []
        else:
            columns = list(self.columns)
        with pieces.small():
            for column in columns:
                ink = now.accent if column == chosen else now.text_muted
                place = self.cell(column, 0)
                if not window.x + left <= place.x + place.width / 2 <= window.right:
                    continue
                if turned:
                    text = elided(label(column), self.shape.top - theme.px(6))
                    x = place.x + (place.width - imgui.get_text_line_height()) / 2
                    pieces.upright(text, x, window.y + self.shape.top - theme.px(3), ink)
                else:
                    over = Area(place.x, window.y, place.width, self.shape.top)
                    text_in(over, label(column), ink)


def _visible(start: float, low: float, high: float, size: float, count: int) -> range:
    first = int(max(low - start, 0) // size)
    last = int(max(high - start, 0) // size) + 1
    return range(min(first, count), min(last, count))


@contextmanager
def scrolled(name: str, shape: Shape, width: float, height: float) -> Iterator[Grid]:
    """A window of `width` x `height` pixels, or less, over a table; draw labels last."""
    bar = imgui.get_style().scrollbar_size
    wide, tall = shape.width > width, shape.height > height
    size = (width if wide else shape.width + (bar if tall else 0),
            height if tall else shape.height + (bar if wide else 0))
    size = (min(size[0], width), min(size[1], height))
    imgui.begin_child(f"##{name}", size, 0, _FLAGS.horizontal_scrollbar)
    start = imgui.get_cursor_screen_pos()
    low, room = imgui.get_window_pos(), imgui.get_window_size()
    window = Area(
        low.x, low.y, room.x - (bar if tall else 0), room.y - (bar if wide else 0)
    )
    area, at = pieces.touch(f"{name}.cells", shape.width, shape.height)
    grid = Grid(shape, start.x + shape.left, start.y + shape.top, window, None, area.clicked)
    hovered = _hovered(grid) if at is not None else None
    for row in grid.rows:
        for column in grid.columns if shape.columns * shape.rows <= 400 else ():
            place = grid.cell(column, row)
            marks.place(f"{name}.{row}.{column}", (place.x, place.y, place.width, place.height))
    try:
        yield Grid(shape, grid.x, grid.y, window, hovered, area.clicked and hovered is not None)
    finally:
        imgui.end_child()


def _hovered(grid: Grid) -> tuple[int, int] | None:
    pointer, shape, window = imgui.get_mouse_pos(), grid.shape, grid.window
    if pointer.x < window.x + shape.left or pointer.y < window.y + shape.top:
        return None
    column = int((pointer.x - grid.x) // shape.cell_width)
    row = int((pointer.y - grid.y) // shape.cell_height)
    inside = 0 <= column < shape.columns and 0 <= row < shape.rows
    return (column, row) if inside else None
