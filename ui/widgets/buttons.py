"""Things to press: buttons, icon buttons, a choice of a few, a switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from imgui_bundle import imgui

from gpt2gl_ui import fonts, theme
from gpt2gl_ui.palette import Color, Palette, faded, mixed
from gpt2gl_ui.widgets.core import (
    Area,
    available_width,
    enabled_if,
    fill,
    outline,
    pressable,
    text_in,
    tooltip,
)

SWITCH_WIDTH, SWITCH_HEIGHT = 36, 20


@dataclass(frozen=True)
class Look:
    """A button's colours; `border` None for no line."""

    fill: Color
    hovered: Color
    held: Color
    text: Color
    border: Color | None = None


def look(kind: str) -> Look:
    """The colours of `primary`, `secondary`, `ghost` and `link` (no surface), `danger`."""
    return _look(theme.palette(), kind)


@cache
def _look(now: Palette, kind: str) -> Look:
    clear = faded(now.hover, 0.0)
    looks = {
        "primary": (now.accent, now.accent_hover, now.accent, now.accent_text),
        "secondary": (now.raised, now.hover, now.pressed, now.text, now.border),
        "ghost": (clear, now.hover, now.pressed, now.text),
        "link": (clear, now.hover, now.pressed, now.accent),
        "danger": (now.danger, mixed(now.danger, now.text, 0.15), now.danger, now.danger_text),
    }
    return Look(*looks[kind])


def button(
    label: str,
    *,
    name: str,
    kind: str = "secondary",
    icon: str = "",
    tooltip: str = "",
    enabled: bool = True,
    width: float = 0,
) -> bool:
    """A button that says what it does; `width` in points, 0 to fit, -1 for all there is."""
    text = f"{icon}  {label}" if icon else label
    colors = look(kind)
    with enabled_if(enabled), fonts.pushed(fonts.current().semibold):
        area = pressable(name, _width(text, width), theme.px(theme.CONTROL_HEIGHT))
        _surface(area, colors)
        text_in(area, text, colors.text, inset=theme.SMALL)
    _explain(tooltip)
    return area.clicked


def icon_button(
    icon: str,
    *,
    name: str,
    tooltip: str,
    kind: str = "ghost",
    enabled: bool = True,
    selected: bool = False,
    size: float = 32,
) -> bool:
    """A square button with an icon only, so that its tooltip must say what it does."""
    colors = look(kind)
    ink = colors.text if kind != "ghost" or selected else theme.palette().text_muted
    with enabled_if(enabled), fonts.pushed(fonts.current().body):
        area = pressable(name, theme.px(size), theme.px(size))
        if selected:
            fill(area, theme.palette().hover)
        _surface(area, colors)
        text_in(area, icon, theme.palette().text if area.hovered and kind == "ghost" else ink)
    _explain(tooltip)
    return area.clicked


def _explain(text: str) -> None:
    tooltip(text)


def _width(text: str, width: float) -> float:
    if width < 0:
        return available_width()
    return theme.px(width) if width else imgui.calc_text_size(text).x + 2 * theme.px(theme.LARGE)


def _surface(area: Area, colors: Look) -> None:
    under = colors.hovered if area.hovered else colors.fill
    shade = colors.held if area.held else under
    if shade[3]:
        fill(area, shade)
    if colors.border:
        outline(area, colors.border)


def segmented(
    options: Sequence[str], value: str, *, name: str, width: float = 0, icons: Sequence[str] = ()
) -> str:
    """One of a few options, side by side; each is marked `name.option`. Gives the chosen one."""
    labels = list(map("{}  {}".format, icons, options)) if icons else options
    total = theme.px(width) if width else available_width()
    part = total / len(options)
    low = imgui.get_cursor_screen_pos()
    track = Area(low.x, low.y, total, theme.px(theme.CONTROL_HEIGHT))
    fill(track, theme.palette().background)
    outline(track, theme.palette().border)
    chosen = value
    for index, (option, label) in enumerate(zip(options, labels, strict=True)):
        imgui.set_cursor_screen_pos((low.x + index * part, low.y))
        if _segment(f"{name}.{option}", label, part, option == value):
            chosen = option
    return chosen


def _segment(name: str, label: str, width: float, selected: bool) -> bool:
    now = theme.palette()
    area = pressable(name, width, theme.px(theme.CONTROL_HEIGHT))
    gap = theme.px(3)
    inner = Area(area.x + gap, area.y + gap, area.width - 2 * gap, area.height - 2 * gap)
    if selected:
        fill(inner, mixed(now.raised, now.accent, 0.2), theme.ROUND_SMALL)
    elif area.hovered:
        fill(inner, now.hover, theme.ROUND_SMALL)
    face = fonts.current().semibold if selected else fonts.current().body
    with fonts.pushed(face):
        text_in(inner, label, now.text if selected or area.hovered else now.text_muted, inset=4)
    return area.clicked


def toggle(label: str, value: bool, *, name: str, help: str = "", enabled: bool = True) -> bool:
    """A row with a switch at its right end; gives the state after a press."""
    with enabled_if(enabled):
        area = pressable(name, available_width(), theme.px(theme.CONTROL_HEIGHT))
        text_in(area, label, theme.palette().text, align=0.0)
        _switch(area, value)
    tooltip(help)
    return value != area.clicked


def _switch(row: Area, on: bool) -> None:
    now = theme.palette()
    width, height = theme.px(SWITCH_WIDTH), theme.px(SWITCH_HEIGHT)
    top = round(row.y + (row.height - height) / 2)
    area = Area(row.right - width, top, width, height)
    if on:
        fill(area, now.accent_hover if row.hovered else now.accent, SWITCH_HEIGHT / 2)
    else:
        fill(area, now.hover if row.hovered else now.raised, SWITCH_HEIGHT / 2)
        outline(area, now.control, SWITCH_HEIGHT / 2)
    middle = area.x + (width - height / 2 if on else height / 2)
    draw, color = imgui.get_window_draw_list(), now.accent_text if on else now.control
    draw.add_circle_filled((middle, top + height / 2), height / 2 - theme.px(4), theme.ink(color))
