"""How the window looks: the palette in use, the sizes of things, and imgui's style made of both.

Sizes in the code are in points, as at a scale of 1; `px` turns them into the window's pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from imgui_bundle import imgui

from gpt2gl_ui.palette import DARK, PALETTES, Color, Palette, faded, mixed
from gpt2gl_ui.system_theme import prefers_dark

# Space between and inside things.
TIGHT, SMALL, MEDIUM, LARGE, WIDE, HUGE = 4, 8, 12, 16, 24, 32
# Radii of corners.
ROUND_SMALL, ROUND, ROUND_LARGE = 6, 8, 12
CONTROL_HEIGHT = 36

# imgui sizes a font by the height of its line, and a line of Inter is 2478 of its 2048 units high.
_LINE = 2478 / 2048
# The type scale; 12, 15, 18 and 26 points to the em.
CAPTION, BODY, TITLE, DISPLAY = 12 * _LINE, 15 * _LINE, 18 * _LINE, 26 * _LINE


@dataclass(frozen=True)
class Theme:
    """`scale` is pixels per point; `font_scale` how much larger still the text is."""

    palette: Palette = DARK
    scale: float = 1.0
    font_scale: float = 1.0


_current = Theme()


def current() -> Theme:
    return _current


def palette() -> Palette:
    return _current.palette


def px(points: float) -> float:
    """Whole pixels for a size in points, at least one."""
    return _pixels(points, _current.scale)


@lru_cache(maxsize=4096)
def _pixels(points: float, scale: float) -> float:
    return max(1.0, float(round(points * scale)))


def ink(color: Color) -> int:
    """The colour for a draw list, fainter inside a disabled block."""
    return imgui.get_color_u32(color)


def named(choice: str, dark: Callable[[], bool] = prefers_dark) -> Palette:
    """The palette of a setting: `dark`, `light`, or what the desktop has for anything else."""
    return PALETTES.get(choice) or PALETTES["dark" if dark() else "light"]


def apply(palette: Palette, scale: float = 1.0, font_scale: float = 1.0) -> None:
    """Make this the look from the next frame on; call it between frames.

    `scale` is pixels per point, for everything; `font_scale` enlarges text further. What holds
    larger text grows with it, by half as much; smaller text leaves it as it is.
    """
    global _current
    growth = max(1.0, (1.0 + font_scale) / 2)
    _current = Theme(palette, scale * growth, font_scale / growth)
    style = imgui.get_style()
    style.font_size_base = BODY
    style.font_scale_main, style.font_scale_dpi = _current.font_scale, _current.scale
    style._next_frame_font_size_base = BODY
    _set_spacing(style)
    _set_corners(style)
    _set_behaviour(style)
    for index, color in _colors(palette).items():
        style.set_color_(index, color)


def _pair(x: float, y: float) -> imgui.ImVec2:
    return imgui.ImVec2(px(x), px(y))


def _set_spacing(style: imgui.Style) -> None:
    style.window_padding = _pair(LARGE, LARGE)
    style.frame_padding = _pair(MEDIUM, SMALL)
    style.item_spacing = _pair(SMALL, SMALL)
    style.item_inner_spacing = _pair(SMALL, TIGHT)
    style.cell_padding = _pair(SMALL, TIGHT)
    style.separator_text_padding = _pair(0.0, SMALL)
    style.indent_spacing = px(LARGE)
    style.scrollbar_size = px(10)
    style.scrollbar_padding = px(2)
    style.grab_min_size = px(WIDE)
    style.window_min_size = _pair(HUGE, HUGE)
    style.columns_min_spacing = px(SMALL)
    style.display_safe_area_padding = _pair(TIGHT, TIGHT)


def _set_corners(style: imgui.Style) -> None:
    style.window_rounding = 0.0
    style.child_rounding = style.popup_rounding = px(ROUND_LARGE)
    style.frame_rounding = style.image_rounding = style.tab_rounding = px(ROUND)
    style.selectable_rounding = style.menu_item_rounding = px(ROUND_SMALL)
    style.grab_rounding = style.scrollbar_rounding = px(ROUND)
    style.window_border_size = style.tab_border_size = style.tab_bar_border_size = 0.0
    style.child_border_size = style.popup_border_size = style.frame_border_size = px(1)
    style.separator_size = style.separator_text_border_size = px(1)
    style.input_text_cursor_size = px(1.5)


def _set_behaviour(style: imgui.Style) -> None:
    style.alpha, style.disabled_alpha = 1.0, 0.45
    style.hover_stationary_delay, style.hover_delay_short = 0.15, 0.35
    style.hover_delay_normal = 0.55
    style.window_title_align = style.separator_text_align = imgui.ImVec2(0.0, 0.5)
    style.button_text_align = imgui.ImVec2(0.5, 0.5)
    style.circle_tessellation_max_error = 0.2
    style.curve_tessellation_max_error = 0.8


def _colors(palette: Palette) -> dict[int, Color]:
    return {**_surface_colors(palette), **_control_colors(palette), **_minor_colors(palette)}


def _surface_colors(palette: Palette) -> dict[int, Color]:
    col, clear = imgui.Col_, faded(palette.background, 0.0)
    return {
        col.text: palette.text,
        col.text_disabled: palette.text_muted,
        col.text_link: palette.accent,
        col.text_selected_bg: palette.selection,
        col.input_text_cursor: palette.accent,
        col.window_bg: palette.background,
        col.child_bg: clear,
        col.popup_bg: palette.raised,
        col.modal_window_dim_bg: palette.scrim,
        col.nav_windowing_dim_bg: palette.scrim,
        col.border: palette.border,
        col.border_shadow: clear,
        col.menu_bar_bg: palette.surface,
        col.title_bg: palette.surface,
        col.title_bg_active: palette.surface,
        col.title_bg_collapsed: palette.surface,
        col.docking_empty_bg: palette.background,
        col.docking_preview: faded(palette.accent, 0.4),
        col.scrollbar_bg: clear,
        col.scrollbar_grab: faded(palette.control, 0.45),
        col.scrollbar_grab_hovered: faded(palette.control, 0.75),
        col.scrollbar_grab_active: palette.control,
    }


def _control_colors(palette: Palette) -> dict[int, Color]:
    col = imgui.Col_
    return {
        col.frame_bg: palette.raised,
        col.frame_bg_hovered: mixed(palette.raised, palette.hover, 0.5),
        col.frame_bg_active: palette.raised,
        col.check_mark: palette.accent,
        col.checkbox_selected_bg: palette.raised,
        col.slider_grab: palette.accent,
        col.slider_grab_active: palette.accent_hover,
        col.button: palette.raised,
        col.button_hovered: palette.hover,
        col.button_active: palette.pressed,
        col.header: palette.hover,
        col.header_hovered: palette.hover,
        col.header_active: palette.pressed,
        col.nav_cursor: palette.focus,
        col.nav_windowing_highlight: palette.focus,
        col.resize_grip: faded(palette.control, 0.3),
        col.resize_grip_hovered: faded(palette.control, 0.6),
        col.resize_grip_active: palette.control,
        col.tab: palette.surface,
        col.tab_hovered: palette.hover,
        col.tab_selected: palette.raised,
        col.tab_selected_overline: palette.accent,
        col.tab_dimmed: palette.surface,
        col.tab_dimmed_selected: palette.raised,
        col.tab_dimmed_selected_overline: palette.border,
    }


def _minor_colors(palette: Palette) -> dict[int, Color]:
    col = imgui.Col_
    return {
        col.separator: palette.border,
        col.separator_hovered: palette.control,
        col.separator_active: palette.accent,
        col.plot_lines: palette.accent,
        col.plot_lines_hovered: palette.accent_hover,
        col.plot_histogram: palette.accent,
        col.plot_histogram_hovered: palette.accent_hover,
        col.table_header_bg: palette.surface,
        col.table_border_strong: palette.border,
        col.table_border_light: faded(palette.border, 0.6),
        col.table_row_bg: faded(palette.surface, 0.0),
        col.table_row_bg_alt: faded(palette.surface, 0.6),
        col.tree_lines: palette.border,
        col.drag_drop_target: palette.accent,
        col.drag_drop_target_bg: faded(palette.accent, 0.15),
        col.unsaved_marker: palette.warning,
    }
