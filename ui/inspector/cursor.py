"""The cell of a table that the keyboard stands on."""

from __future__ import annotations

from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.widgets import Area, outline

_KEY = imgui.Key
ARROWS = {
    _KEY.left_arrow: (-1, 0),
    _KEY.right_arrow: (1, 0),
    _KEY.up_arrow: (0, -1),
    _KEY.down_arrow: (0, 1),
}
Cell = tuple[int, int]  # column, row


@dataclass
class Cursor:
    """Kept from frame to frame for one table.

    Attributes:
        column, row: of the cell.
        is_shown: whether the keyboard is at the table.
        moved: whether it went to another cell, or came to the table, in this frame.
        leads: whether the keyboard was used last, rather than the pointer.
        wanted: whether the keyboard is to go to the table in the next frame.
    """

    column: int = 0
    row: int = 0
    is_shown: bool = False
    moved: bool = False
    leads: bool = False
    wanted: bool = False

    @property
    def cell(self) -> Cell:
        return self.column, self.row

    def begin(self) -> None:
        """Call right before the item that is the whole table."""
        if self.wanted:
            imgui.set_keyboard_focus_here()
            imgui.set_nav_cursor_visible(True)
            self.wanted = False

    def follow(self, columns: int, rows: int) -> None:
        """Call right after it."""
        context, focused = imgui.get_current_context(), imgui.is_item_focused()
        before, (x, y) = (self.cell, self.is_shown), _steps() if focused else (0, 0)
        if x or y:  # after a press of the pointer, imgui shows the keyboard's place no more
            imgui.set_nav_cursor_visible(True)
            context.nav_highlight_item_under_nav = True
        self.is_shown = focused and context.nav_cursor_visible
        self.leads = self.is_shown and context.nav_highlight_item_under_nav
        self.put((self.column + x, self.row + y), columns, rows)
        self.moved = self.is_shown and (self.cell, self.is_shown) != before

    def put(self, cell: Cell, columns: int, rows: int) -> None:
        """Stand on a cell, or the one nearest to it that there is."""
        self.column = max(min(cell[0], columns - 1), 0)
        self.row = max(min(cell[1], rows - 1), 0)

    def choose(self, hovered: Cell | None, clicked: bool) -> tuple[Cell | None, bool]:
        """The cell that is pointed at, by whichever was used last, and whether it is pressed."""
        by_keys = clicked and not imgui.is_mouse_released(imgui.MouseButton_.left)
        if self.leads or (self.is_shown and by_keys):
            return self.cell, clicked
        if hovered is not None and clicked:
            self.column, self.row = hovered
        return hovered, clicked and hovered is not None

    def ring(self, cell: Area) -> None:
        """Show where the keyboard stands."""
        if self.is_shown:
            outline(cell, theme.palette().focus, theme.TIGHT, 2)


def _steps() -> Cell:
    """How far the arrows go in this frame; while the table has the keyboard they are its own."""
    x, y, owner = 0, 0, imgui.get_item_id()
    for key, (right, down) in ARROWS.items():
        imgui.internal.set_key_owner(key, owner)
        if imgui.is_key_pressed(key):
            x, y = x + right, y + down
    return x, y
