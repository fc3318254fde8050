"""Where things are on the screen, by name: for tests, and for hints that point at something.

A widget calls `mark` after its imgui item; `take` gives the frame's rectangles and forgets them.
"""

from __future__ import annotations

from imgui_bundle import imgui

Rectangle = tuple[float, float, float, float]
_marks: dict[str, Rectangle] = {}


def mark(name: str) -> None:
    """Record the last imgui item's rectangle (x, y, width, height in window units)."""
    if imgui.is_item_visible():
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        place(name, (low.x, low.y, high.x - low.x, high.y - low.y))


def place(name: str, rectangle: Rectangle) -> None:
    """Record a rectangle that is no imgui item."""
    _marks[name] = rectangle


def take() -> dict[str, Rectangle]:
    """The rectangles since the last call."""
    taken = dict(_marks)
    _marks.clear()
    return taken
