"""What several tabs are drawn from: pictures, upright text, bars, a note."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from imgui_bundle import imgui

from gpt2gl.gl.pictures import Picture
from gpt2gl_ui import fonts, marks, theme
from gpt2gl_ui.palette import Color
from gpt2gl_ui.widgets import (
    Area,
    available_width,
    fill,
    muted,
    outline,
    progress_bar,
    segmented,
    text_in,
)

Corners = tuple[float, float, float, float]
WHOLE: Corners = (0.0, 0.0, 1.0, 1.0)
CHOICE_WIDTH = 460
SMALL_TEXT = theme.CAPTION
CHILD = imgui.ChildFlags_.nav_flattened  # the keyboard goes in and out as if it were no window


def small() -> AbstractContextManager[None]:
    return fonts.pushed(fonts.current().body, SMALL_TEXT)


def mono() -> AbstractContextManager[None]:
    return fonts.pushed(fonts.current().mono, SMALL_TEXT)


def note(text: str) -> None:
    """A muted line or two."""
    muted(text, theme.CAPTION)


def gap(points: float = theme.SMALL) -> None:
    imgui.dummy((0, theme.px(points)))


def heading(text: str) -> None:
    """A small heading over a part of a tab."""
    gap(theme.TIGHT)
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        imgui.text_unformatted(text)


def choice(options: Sequence[str], value: str, name: str) -> str:
    """One of a few options, no wider than is easy to overlook."""
    room = available_width() / theme.current().scale
    return segmented(options, value, name=name, width=min(room, CHOICE_WIDTH))


def waiting(text: str, name: str, share: float | None = None) -> None:
    """Something is being computed."""
    progress_bar(share, name=name, label=text)


def image(picture: Picture, area: Area, uv: Corners = WHOLE) -> None:
    """A part of a picture, over an area."""
    imgui.get_window_draw_list().add_image(
        imgui.ImTextureRef(picture.texture),
        (area.x, area.y),
        (area.right, area.bottom),
        uv[:2],
        uv[2:],
    )


def touch(
    name: str, width: float, height: float, *, keys: bool = False
) -> tuple[Area, tuple[float, float] | None]:
    """An area to point at and press, by `keys` too; with the place of the pointer in it, from 0
    to 1."""
    size = (max(width, 1.0), max(height, 1.0))
    flags = imgui.ButtonFlags_.enable_nav if keys else 0
    clicked = imgui.invisible_button(f"##{name}", size, flags)
    marks.mark(name)
    low, hovered = imgui.get_item_rect_min(), imgui.is_item_hovered()
    area = Area(low.x, low.y, *size, clicked, hovered, imgui.is_item_active())
    if not hovered:
        return area, None
    pointer = imgui.get_mouse_pos()
    return area, ((pointer.x - area.x) / area.width, (pointer.y - area.y) / area.height)


def upright(text: str, x: float, bottom: float, color: Color) -> None:
    """Text that reads from below, starting at `bottom`."""
    draw = imgui.get_window_draw_list()
    draw.push_clip_rect_full_screen()
    start = draw.vtx_buffer.size()
    draw.add_text((x, bottom), theme.ink(color), text)
    pivot = imgui.ImVec2(x, bottom)
    imgui.internal.shade_verts_transform_pos(
        draw, start, draw.vtx_buffer.size(), pivot, 0.0, -1.0, pivot
    )
    draw.pop_clip_rect()


def bar_row(
    name: str, label: str, share: float, value: str, *, color: Color | None = None, width: float = 0
) -> Area:
    """A row of a label, a bar of 0 to 1 and a value; it can be pressed."""
    now = theme.palette()
    area, _ = touch(name, width or available_width(), theme.px(24))
    if area.hovered:
        fill(area, now.hover, theme.ROUND_SMALL)
    left, right = area.width * 0.34, theme.px(58)
    with small():
        text_in(Area(area.x, area.y, left, area.height), label, now.text, 0.0, theme.TIGHT)
        value_area = Area(area.right - right, area.y, right, area.height)
        text_in(value_area, value, now.text_muted, 1.0, theme.TIGHT)
    room = area.width - left - right
    tall = theme.px(8)
    track = Area(area.x + left, round(area.y + (area.height - tall) / 2), room, tall)
    fill(track, now.pressed, 4)
    part = room * min(max(share, 0.0), 1.0)
    if part >= 1.0:
        fill(Area(track.x, track.y, part, tall), color or now.accent, min(4, part / 2))
    return area


def hint(text: str, at: Area | None = None) -> None:
    """A note at the pointer, or under an area, at once."""
    padding = (theme.px(theme.SMALL + 2), theme.px(theme.SMALL))
    if at is not None:
        imgui.set_next_window_pos(_beside(at, text, padding))
    imgui.push_style_var(imgui.StyleVar_.window_padding, padding)
    if imgui.begin_tooltip():
        with small():
            imgui.text_unformatted(text)
        imgui.end_tooltip()
    imgui.pop_style_var()


def _beside(at: Area, text: str, padding: tuple[float, float]) -> tuple[float, float]:
    """Where a note stands under an area, or over it where the window ends."""
    with small():
        size = imgui.calc_text_size(text)
    view, gap = imgui.get_main_viewport(), theme.px(theme.SMALL)
    width, height = size.x + 2 * padding[0], size.y + 2 * padding[1]
    fits = at.bottom + gap + height <= view.pos.y + view.size.y
    x = max(min(at.x, view.pos.x + view.size.x - width), view.pos.x)
    return x, at.bottom + gap if fits else at.y - gap - height


def frame(area: Area, color: Color, width: float = 2, radius: float = 3) -> None:
    """A line around something that is chosen."""
    outline(area, color, radius, width)
