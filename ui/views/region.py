"""A part of the window: an imgui window without any decoration, at a place of our choosing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.palette import Color
from gpt2gl_ui.widgets import Area

_FLAG = imgui.WindowFlags_
FIXED = (
    (_FLAG.no_decoration | _FLAG.no_move | _FLAG.no_saved_settings | _FLAG.no_docking)
    # The caret of the composer would be lost to the parts that appear after it.
    | (_FLAG.no_bring_to_front_on_focus | _FLAG.no_nav_focus | _FLAG.no_focus_on_appearing)
)


@contextmanager
def region(
    name: str, area: Area, color: Color, padding: tuple[float, float] = (0, 0), flags: int = 0
) -> Iterator[None]:
    """Draw what is inside into `area` (pixels), on `color`, inset by `padding` (points)."""
    imgui.set_next_window_pos((area.x, area.y))
    imgui.set_next_window_size((max(area.width, 1.0), max(area.height, 1.0)))
    x, y = (theme.px(each) if each else 0.0 for each in padding)
    imgui.push_style_var(imgui.StyleVar_.window_padding, (x, y))
    imgui.push_style_color(imgui.Col_.window_bg, color)
    if color == theme.palette().background:
        # Each frame is cleared to that colour; to draw it again over most of the window takes a
        # software renderer as long as everything else together.
        flags |= _FLAG.no_background
    imgui.begin(f"##{name}", None, FIXED | flags)
    imgui.pop_style_color()
    imgui.pop_style_var()
    try:
        yield
    finally:
        imgui.end()
