"""What several tabs are drawn from: pictures, upright text, bars, a line plot, a note."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
import numpy.typing as npt
from imgui_bundle import imgui

from gpt2gl.gl.pictures import Picture
from gpt2gl_ui import fonts, marks, theme
from gpt2gl_ui.palette import Color, faded
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
PLOT_HEIGHT, MARGIN, CHOICE_WIDTH = 110, 44, 460
SMALL_TEXT = theme.CAPTION


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


Series = Sequence[tuple[str, npt.NDArray[np.float32], Color]]


def line_plot(
    name: str, series: Series, labels: Sequence[str], *, height: float = PLOT_HEIGHT
) -> int | None:
    """Lines over the same places; gives the place under the pointer."""
    now = theme.palette()
    area, at = touch(name, available_width(), theme.px(height))
    fill(area, now.surface)
    count = max(len(values) for _, values, _ in series)
    top = max((float(np.max(values)) for _, values, _ in series), default=1.0) or 1.0
    inner = _inner(area)
    _scale_labels(area, inner, top)
    for _, values, color in series:
        if len(values):
            _line(inner, values, top, color)
    if at is None or count < 1:
        return None
    share = (area.x + at[0] * area.width - inner.x) / inner.width
    place = min(max(round(share * (count - 1)), 0), count - 1)
    x = inner.x + inner.width * place / max(count - 1, 1)
    draw = imgui.get_window_draw_list()
    draw.add_line((x, inner.y), (x, inner.bottom), theme.ink(now.control))
    lines = [f"{title}: {values[place]:.4g}" for title, values, _ in series if place < len(values)]
    hint("\n".join([labels[place] if place < len(labels) else "", *lines]))
    return place


def _inner(area: Area) -> Area:
    left, edge = theme.px(MARGIN), theme.px(theme.SMALL)
    return Area(area.x + left, area.y + edge, area.width - left - edge, area.height - 2 * edge)


def _scale_labels(area: Area, inner: Area, top: float) -> None:
    now, line = theme.palette(), theme.px(14)
    with small():
        for share in (0.0, 0.5, 1.0):
            y = inner.bottom - share * inner.height
            place = Area(area.x, y - line / 2, inner.x - area.x, line)
            text_in(place, f"{share * top:.3g}", now.text_muted, 1.0, theme.TIGHT)
            grid = theme.ink(faded(now.border, 0.8))
            imgui.get_window_draw_list().add_line((inner.x, y), (inner.right, y), grid)


def _line(inner: Area, values: npt.NDArray[np.float32], top: float, color: Color) -> None:
    step = inner.width / max(len(values) - 1, 1)
    points: list[imgui.ImVec2Like] = [
        (inner.x + i * step, inner.bottom - max(float(v), 0.0) / top * inner.height)
        for i, v in enumerate(values)
    ]
    draw = imgui.get_window_draw_list()
    draw.add_polyline(points, theme.ink(color), theme.px(1.5), 0)
    if len(points) <= 16:
        for point in points:
            draw.add_circle_filled(point, theme.px(2.5), theme.ink(color))


def bars(name: str, counts: npt.NDArray[np.float32], edges: npt.NDArray[np.float32]) -> None:
    """A histogram."""
    now = theme.palette()
    area, at = touch(name, available_width(), theme.px(PLOT_HEIGHT))
    fill(area, now.surface)
    inner, top = _inner(area), float(counts.max(initial=1.0))
    _scale_labels(area, inner, top)
    width = inner.width / len(counts)
    draw, ink = imgui.get_window_draw_list(), theme.ink(now.accent)
    for i, count in enumerate(counts):
        x, tall = inner.x + i * width, inner.height * float(count) / top
        draw.add_rect_filled((x, inner.bottom - tall), (x + max(width - 1, 1), inner.bottom), ink)
    if at is not None:
        place = int((area.x + at[0] * area.width - inner.x) / width)
        if 0 <= place < len(counts):
            hint(f"{edges[place]:.3g} to {edges[place + 1]:.3g}: {counts[place]:.0f} numbers")


def hint(text: str) -> None:
    """A note at the pointer, at once."""
    padding = (theme.px(theme.SMALL + 2), theme.px(theme.SMALL))
    imgui.push_style_var(imgui.StyleVar_.window_padding, padding)
    if imgui.begin_tooltip():
        with small():
            imgui.text_unformatted(text)
        imgui.end_tooltip()
    imgui.pop_style_var()


def frame(area: Area, color: Color, width: float = 2, radius: float = 3) -> None:
    """A line around something that is chosen."""
    outline(area, color, radius, width)
