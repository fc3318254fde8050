"""Things to read: headings, hints of keys, badges, progress, a meter."""

from __future__ import annotations

import re

from imgui_bundle import imgui

from gpt2gl_ui import fonts, marks, theme
from gpt2gl_ui.palette import Color, mixed
from gpt2gl_ui.widgets.core import Area, available_width, fill, outline, text_in, tooltip, wrapped

BADGE_HEIGHT, KEY_HEIGHT, BAR = 22, 22, 6
NEARLY_FULL = 0.9


def title(text: str, size: float = theme.TITLE) -> None:
    """A heading."""
    with fonts.pushed(fonts.current().semibold, size):
        imgui.text_unformatted(text)


def section_header(text: str) -> None:
    """A small muted heading over a group of rows."""
    imgui.dummy((0, theme.px(theme.TIGHT)))
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        imgui.text_colored(theme.palette().text_muted, text)


def muted(text: str, size: float = theme.BODY) -> None:
    """Secondary text, wrapped."""
    with fonts.pushed(fonts.current().body, size):
        imgui.push_style_color(imgui.Col_.text, theme.palette().text_muted)
        imgui.push_text_wrap_pos(0.0)
        imgui.text_unformatted(text)
        imgui.pop_text_wrap_pos()
        imgui.pop_style_color()


def centred(text: str, color: Color, width: float = 0) -> None:
    """Lines in the current font, each in the middle of `width` pixels (0: all there is)."""
    room = width or available_width()
    for line in wrapped(text, room):
        start = imgui.get_cursor_screen_pos()
        area = Area(start.x, start.y, room, imgui.get_text_line_height())
        text_in(area, line, color)
        imgui.dummy((room, area.height))


def status_color(kind: str) -> Color:
    """The colour of `neutral`, `accent`, `success`, `warning` or `danger`."""
    now = theme.palette()
    colors = {
        "neutral": now.text_muted,
        "accent": now.accent,
        "success": now.success,
        "warning": now.warning,
        "danger": now.danger,
    }
    return colors[kind]


def badge(text: str, kind: str = "neutral", *, icon: str = "", help: str = "") -> None:
    """A word or two in a tinted capsule."""
    now, shown = theme.palette(), f"{icon} {text}" if icon else text
    color = status_color(kind)
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        area = _capsule(shown, BADGE_HEIGHT)
        fill(area, mixed(now.background, color, 0.14), BADGE_HEIGHT / 2)
        text_in(area, shown, color if kind != "neutral" else now.text_muted)
    tooltip(help)


def key_hint(keys: str) -> None:
    """A shortcut such as `Ctrl+N`, each key as a cap."""
    now = theme.palette()
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        for index, key in enumerate(_keys(keys)):
            if index:
                imgui.same_line(0, theme.px(theme.TIGHT))
            area = _capsule(key, KEY_HEIGHT)
            fill(area, now.raised, theme.TIGHT)
            outline(area, now.border, theme.TIGHT)
            text_in(area, key, now.text_muted)


def _keys(text: str) -> list[str]:
    """`Ctrl++` is Ctrl and plus."""
    return re.split(r"(?<=.)\+(?!$)", text)


def _capsule(text: str, height: float) -> Area:
    """Room for a short text, at least as wide as high."""
    tall = theme.px(height)
    width = max(imgui.calc_text_size(text).x + 2 * theme.px(theme.SMALL), tall)
    start = imgui.get_cursor_screen_pos()
    imgui.dummy((width, tall))
    return Area(start.x, start.y, width, tall)


def progress_bar(fraction: float | None, *, name: str, label: str = "", width: float = 0) -> None:
    """A bar from 0 to 1 with its label and percentage over it; None for an unknown length."""
    room = theme.px(width) if width else available_width()
    share = min(max(fraction or 0.0, 0.0), 1.0)
    percentage = "" if fraction is None else f"{share * 100:.0f} %"
    if label or percentage:
        _line_over(label, percentage, room)
    area = _bar(room)
    marks.mark(name)
    fill(area, theme.palette().pressed, BAR / 2)
    if fraction is None:
        _stripe(area)
    else:
        _filled(area, share, theme.palette().accent)


def meter(
    used: float, total: float, *, name: str, label: str, text: str = "", help: str = ""
) -> None:
    """How much of something is used up; it turns to the warning colour when nearly full."""
    share = min(max(used / total, 0.0), 1.0) if total > 0 else 0.0
    _line_over(label, text or f"{used:,.0f} / {total:,.0f}", available_width())
    area = _bar(available_width())
    marks.mark(name)
    now = theme.palette()
    fill(area, now.pressed, BAR / 2)
    _filled(area, share, now.warning if share >= NEARLY_FULL else now.accent)
    tooltip(help)


def _line_over(left: str, right: str, width: float) -> None:
    now, start = theme.palette(), imgui.get_cursor_screen_pos()
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        area = Area(start.x, start.y, width, imgui.get_text_line_height())
        side = imgui.calc_text_size(right).x + theme.px(theme.SMALL)
        text_in(Area(area.x, area.y, width - side, area.height), left, now.text, 0.0)
        text_in(area, right, now.text_muted, 1.0)
        imgui.dummy((width, area.height))


def _bar(width: float) -> Area:
    start = imgui.get_cursor_screen_pos()
    imgui.dummy((max(width, 1.0), theme.px(BAR)))
    return Area(start.x, start.y, width, theme.px(BAR))


def _filled(area: Area, share: float, color: Color) -> None:
    if share > 0:
        width = max(area.width * share, area.height)
        fill(Area(area.x, area.y, width, area.height), color, BAR / 2)


def _stripe(area: Area) -> None:
    """A piece that wanders; it moves only in frames that are drawn for another reason."""
    width = area.width / 4
    place = (imgui.get_time() / 1.6) % 1.0
    left = area.x + (area.width - width) * (1 - abs(2 * place - 1))
    fill(Area(left, area.y, width, area.height), theme.palette().accent, BAR / 2)
