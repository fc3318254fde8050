"""A table of equal cells that scrolls, with labels that stay at its left and top."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import marks, theme
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.inspector.cursor import Cell, Cursor
from gpt2gl_ui.widgets import Area, elided, fill, text_in

LABEL_LEAST = 11  # points of a row or column that a label needs
MOST_MARKS = 400
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
    hovered: Cell | None  # the pointer, or the keyboard, is at it
    clicked: bool
    cursor: Cursor

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

    def hint(self, text: str) -> None:
        """A note on the cell that is pointed at."""
        by_keys = self.hovered is not None and self.cursor.leads
        pieces.hint(text, self.cell(*self.cursor.cell) if by_keys else None)

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
def scrolled(
    name: str, shape: Shape, width: float, height: float, cursor: Cursor
) -> Iterator[Grid]:
    """A window of `width` x `height` pixels, or less, over a table; draw labels last.

    With the keyboard at it, arrows move from cell to cell, and Enter presses one.
    """
    bar = imgui.get_style().scrollbar_size
    wide, tall = shape.width > width, shape.height > height
    size = (width if wide else shape.width + (bar if tall else 0),
            height if tall else shape.height + (bar if wide else 0))
    size = (min(size[0], width), min(size[1], height))
    child = imgui.ChildFlags_.nav_flattened
    imgui.begin_child(f"##{name}", size, child, _FLAGS.horizontal_scrollbar)
    low, room = imgui.get_window_pos(), imgui.get_window_size()
    window = Area(
        low.x, low.y, room.x - (bar if tall else 0), room.y - (bar if wide else 0)
    )
    try:
        yield _grid(name, shape, window, cursor)
    finally:
        imgui.end_child()


def table(name: str, shape: Shape, cursor: Cursor) -> Grid:
    """A table that scrolls with the window it is in, its labels too."""
    low, room = imgui.get_window_pos(), imgui.get_window_size()
    window = Area(
        low.x - shape.left, low.y - shape.top, room.x + shape.left, room.y + shape.top
    )
    return _grid(name, shape, window, cursor)


def _grid(name: str, shape: Shape, window: Area, cursor: Cursor) -> Grid:
    """The item of a table, at imgui's cursor, and what the pointer and the keyboard do to it."""
    start = imgui.get_cursor_screen_pos()
    cursor.begin()
    area, at = pieces.touch(f"{name}.cells", shape.width, shape.height, keys=True)
    cursor.follow(shape.columns, shape.rows)
    x, y = start.x + shape.left, start.y + shape.top
    grid = Grid(shape, x, y, window, None, False, cursor)
    pointed = _hovered(grid) if at is not None else None
    grid = Grid(shape, x, y, window, *cursor.choose(pointed, area.clicked), cursor)
    if cursor.moved:
        _scroll_to(grid)
    for row in grid.rows if shape.columns * shape.rows <= MOST_MARKS else ():
        for column in grid.columns:
            place = grid.cell(column, row)
            marks.place(f"{name}.{row}.{column}", (place.x, place.y, place.width, place.height))
    return grid


def _hovered(grid: Grid) -> Cell | None:
    pointer, shape, window = imgui.get_mouse_pos(), grid.shape, grid.window
    if pointer.x < window.x + shape.left or pointer.y < window.y + shape.top:
        return None
    column = int((pointer.x - grid.x) // shape.cell_width)
    row = int((pointer.y - grid.y) // shape.cell_height)
    inside = 0 <= column < shape.columns and 0 <= row < shape.rows
    return (column, row) if inside else None


def _scroll_to(grid: Grid) -> None:
    """Bring the cursor's cell into sight, beside the labels."""
    shape, window, cell = grid.shape, grid.window, grid.cell(*grid.cursor.cell)
    left, top = window.x + shape.left, window.y + shape.top
    x = min(cell.x - left, 0.0) or max(cell.right - window.right, 0.0)
    y = min(cell.y - top, 0.0) or max(cell.bottom - window.bottom, 0.0)
    if x:
        imgui.set_scroll_x(imgui.get_scroll_x() + x)
    if y:
        imgui.set_scroll_y(imgui.get_scroll_y() + y)
