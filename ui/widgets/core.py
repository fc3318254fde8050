"""What the widgets are made of: an area that can be pressed, and text placed in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import marks, theme
from gpt2gl_ui.palette import Color

ELLIPSIS = "…"
TOOLTIP_WIDTH = 300


@dataclass(frozen=True)
class Area:
    """A rectangle on the screen, and what the pointer or the keyboard did to it."""

    x: float
    y: float
    width: float
    height: float
    clicked: bool = False
    hovered: bool = False
    held: bool = False

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


def pressable(name: str, width: float, height: float) -> Area:
    """An area without looks that works as a button; `name` must be unique in its window."""
    size = (max(width, 1.0), max(height, 1.0))
    clicked = imgui.invisible_button(f"##{name}", size, imgui.ButtonFlags_.enable_nav)
    marks.mark(name)
    low = imgui.get_item_rect_min()
    hovered, held = imgui.is_item_hovered(), imgui.is_item_active()
    if hovered:
        imgui.set_mouse_cursor(imgui.MouseCursor_.hand)
    return Area(low.x, low.y, width, height, clicked, hovered, held)


class _Disabled:
    """A class, because a generator would take several times as long."""

    def __init__(self, disabled: bool) -> None:
        self.disabled = disabled

    def __enter__(self) -> None:
        imgui.begin_disabled(self.disabled)

    def __exit__(self, *_: object) -> None:
        imgui.end_disabled()


def enabled_if(enabled: bool) -> AbstractContextManager[None]:
    """What is inside is faint and does nothing unless `enabled`."""
    return _Disabled(not enabled)


def fill(area: Area, color: Color, radius: float = theme.ROUND) -> None:
    """A rounded surface; `radius` in points."""
    low, high = (area.x, area.y), (area.right, area.bottom)
    imgui.get_window_draw_list().add_rect_filled(low, high, theme.ink(color), theme.px(radius))


def outline(area: Area, color: Color, radius: float = theme.ROUND, width: float = 1) -> None:
    """A line along the inside of the area's edge; `radius` and `width` in points."""
    thickness = theme.px(width)
    inset = thickness / 2
    low = (area.x + inset, area.y + inset)
    high = (area.right - inset, area.bottom - inset)
    draw, ink = imgui.get_window_draw_list(), theme.ink(color)
    draw.add_rect(low, high, ink, rounding=theme.px(radius), thickness=thickness)


def text_in(area: Area, text: str, color: Color, align: float = 0.5, inset: float = 0) -> None:
    """One line in the current font, cut to the area less `inset` points at both sides.

    `align` is 0 for the left, 0.5 for the middle, 1 for the right.
    """
    text = text.replace("\0", "\ufffd")  # which would end it for imgui
    margin = theme.px(inset) if inset else 0.0
    room = area.width - 2 * margin
    shown, size = text, imgui.calc_text_size(text)
    if size.x > room and len(text) > 1:  # an icon, which dots would replace, stays whole
        shown = elided(text, room)
        size = imgui.calc_text_size(shown)
    x = area.x + margin + (room - size.x) * align
    place = (round(x), round(area.y + (area.height - size.y) / 2))
    imgui.get_window_draw_list().add_text(place, theme.ink(color), shown)


def elided(text: str, width: float) -> str:
    """The text, or as much of its beginning as fits in `width` pixels with an ellipsis."""
    if imgui.calc_text_size(text).x <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = imgui.calc_text_size(text[:middle].rstrip() + ELLIPSIS).x <= width
        low, high = (middle, high) if fits else (low, middle - 1)
    return text[:low].rstrip() + ELLIPSIS


def wrapped(text: str, width: float) -> list[str]:
    """The text's lines, broken at spaces to fit in `width` pixels; words that do not fit in a
    line are broken anywhere."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in _words(paragraph, width):
            longer = f"{line} {word}" if line else word
            if line and imgui.calc_text_size(longer).x > width:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


def _words(text: str, width: float) -> Iterator[str]:
    """The words of a line, those that are wider than `width` pixels in pieces that fit."""
    for word in text.split(" "):
        rest = word
        while len(rest) > 1 and imgui.calc_text_size(rest).x > width:
            count = _fitting(rest, width)
            yield rest[:count]
            rest = rest[count:]
        yield rest


def _fitting(text: str, width: float) -> int:
    """How many characters of the text fit in `width` pixels; at least one."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = imgui.calc_text_size(text[:middle]).x <= width
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def tooltip(text: str) -> None:
    """Explain the last item when the pointer rests on it, or the keyboard stands on it."""
    if not text or not imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip):
        return
    padding = (theme.px(theme.MEDIUM), theme.px(theme.SMALL))
    imgui.push_style_var(imgui.StyleVar_.window_padding, padding)
    imgui.push_style_var(imgui.StyleVar_.window_rounding, theme.px(theme.ROUND))
    if imgui.begin_tooltip():
        mark_window("tooltip")
        imgui.push_font(None, theme.CAPTION)
        imgui.push_text_wrap_pos(theme.px(TOOLTIP_WIDTH))
        imgui.text_unformatted(text)
        imgui.pop_text_wrap_pos()
        imgui.pop_font()
        imgui.end_tooltip()
    imgui.pop_style_var(2)


def mark_window(name: str) -> None:
    """Record the rectangle of the window that is being built."""
    low, size = imgui.get_window_pos(), imgui.get_window_size()
    marks.place(name, (low.x, low.y, size.x, size.y))


def available_width() -> float:
    return imgui.get_content_region_avail().x
