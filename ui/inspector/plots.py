"""Curves and histograms in the window's colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from imgui_bundle import imgui, implot

from gpt2gl_ui import marks, theme
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.palette import Color
from gpt2gl_ui.widgets import available_width

HEIGHT = 120
FEW = 16  # places, each of which gets a dot
_FLAGS = implot.Flags_.canvas_only | implot.Flags_.no_frame
_AXIS = (
    (implot.AxisFlags_.lock | implot.AxisFlags_.no_menus | implot.AxisFlags_.no_side_switch)
    | (implot.AxisFlags_.no_highlight | implot.AxisFlags_.no_tick_marks)
)
# ImPlot's colour -> the palette's.
_COLORS = {
    implot.Col_.plot_bg: "surface",
    implot.Col_.plot_border: "surface",
    implot.Col_.axis_text: "text_muted",
    implot.Col_.axis_grid: "border",
}
Floats = npt.NDArray[np.float32]
Series = Sequence[tuple[str, Floats, Color]]




def curves(name: str, series: Series, labels: Sequence[str]) -> None:
    """Lines over the same places, each of which has a label."""
    count = max(len(values) for _, values, _ in series)
    top = max((float(values.max(initial=0.0)) for _, values, _ in series)) or 1.0
    edge = max(count - 1, 1) * 0.02

    def contents() -> str | None:
        marker = implot.Marker_.circle if count <= FEW else implot.Marker_.none
        for number, (_, values, color) in enumerate(series):
            spec = implot.Spec(imgui.ImVec4(*color), theme.px(1.5))
            spec.marker, spec.marker_size = marker, theme.px(2.5)
            implot.plot_line(f"##{number}", np.ascontiguousarray(values), spec=spec)
        if not implot.is_plot_hovered():
            return None
        place = min(max(round(implot.get_plot_mouse_pos().x), 0), count - 1)
        spec = implot.Spec(imgui.ImVec4(*theme.palette().control))
        implot.plot_inf_lines("##at", np.array([place], np.float32), spec=spec)
        lines = [f"{title}: {values[place]:.4g}" for title, values, _ in series]
        return "\n".join([labels[place], *lines])

    limits = -edge, count - 1 + edge, 0.0, 1.08 * top
    _plot(name, limits, contents, implot.AxisFlags_.no_decorations)


def histogram(name: str, counts: Floats, edges: Floats) -> None:
    """Bars of counts [n] between edges [n + 1], at equal distances."""
    left, step = float(edges[0]), float(edges[1] - edges[0])

    def contents() -> str | None:
        spec = implot.Spec(fill_color=imgui.ImVec4(*theme.palette().accent), line_weight=0.0)
        implot.plot_bars("##counts", (edges[:-1] + edges[1:]) / 2, counts, 0.9 * step, spec)
        if not implot.is_plot_hovered():
            return None
        place = int((implot.get_plot_mouse_pos().x - left) / step)
        place = min(max(place, 0), len(counts) - 1)
        low, high = edges[place], edges[place + 1]
        return f"{low:.3g} to {high:.3g}: {counts[place]:.0f} numbers"

    limits = left, float(edges[-1]), 0.0, 1.08 * float(counts.max(initial=1.0))
    _plot(name, limits, contents)


def _plot(
    name: str, limits: pieces.Corners, contents: Callable[[], str | None], x_flags: int = 0
) -> None:
    """A plot that stays where it is; `contents` gives what is told of the pointer's place."""
    start, told = imgui.get_cursor_screen_pos(), None
    width, height, inset = available_width(), theme.px(HEIGHT), theme.px(theme.TIGHT)
    for which, color in _COLORS.items():
        implot.push_style_color(which, imgui.ImVec4(*getattr(theme.palette(), color)))
    implot.push_style_var(implot.StyleVar_.plot_padding, imgui.ImVec2(inset, inset))
    with pieces.small():
        if implot.begin_plot(f"##{name}", imgui.ImVec2(width, height), _FLAGS):
            implot.setup_axes("", "", _AXIS | x_flags, _AXIS)
            implot.setup_axes_limits(*limits, imgui.Cond_.always)
            told = contents()
            implot.end_plot()
    implot.pop_style_var()
    implot.pop_style_color(len(_COLORS))
    marks.place(name, (start.x, start.y, width, height))
    if told is not None:
        pieces.hint(told)
