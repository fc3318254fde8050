"""Activations: the residual stream and the MLPs' neurons as heat-maps, norms and distributions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from imgui_bundle import imgui

from gpt2gl.session import Session
from gpt2gl.views import HeatmapView, Views
from gpt2gl_ui import theme
from gpt2gl_ui.inspector import pieces, plots
from gpt2gl_ui.inspector.strip import Strip
from gpt2gl_ui.widgets import Area, available_width, fill, pressable, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

RESIDUAL, MLP = "Residual stream", "MLP neurons"
KIND = {RESIDUAL: "residual", MLP: "mlp"}
LINEAR, LOG, PER_ROW = "Linear", "Log", "Per row"
SCALE = {LINEAR: "linear", LOG: "symlog", PER_ROW: "row"}
CHIP, ROW, MOST_HEIGHT, LEAST_HEIGHT = 30, 8, 300, 120
NEURONS, BINS = 8, 40
Floats = npt.NDArray[np.float32]


@dataclass
class Chosen:
    what: str = RESIDUAL
    scale: str = LOG
    point: int = 1
    strip: Strip = field(default_factory=Strip)

    @property
    def kind(self) -> str:
        return KIND[self.what]


def draw(app: App) -> None:
    """The tab."""
    chosen = app.state.kept("inspector.activations", Chosen)
    session = app.inspector.session
    assert session is not None
    pointed = chosen.strip.draw("activations.text", app.inspector.text, app.inspector.position)
    if pointed.clicked is not None:
        app.inspector.selected = pointed.clicked
    what = pieces.choice(tuple(KIND), chosen.what, "activations.kind")
    points = _points(session, what)
    if what != chosen.what:
        chosen.what, chosen.point = what, min(chosen.point, len(points) - 1)
    chosen.point = chips("activations.point", points, chosen.point)
    chosen.scale = pieces.choice(tuple(SCALE), chosen.scale, "activations.scale")
    _heatmap(app, chosen, points[chosen.point])
    if app.inspector.n_rows:
        _norms(app, session)
        _neurons(app, chosen)
        _distribution(app, chosen)


def _points(session: Session, what: str) -> list[str]:
    layers = [str(i) for i in range(session.model.config.n_layer)]
    return layers if what == MLP else ["E", *layers]


def chips(name: str, labels: list[str], value: int) -> int:
    """One of many short labels, in as many rows as needed."""
    now, side = theme.palette(), theme.px(CHIP)
    each = max(1, int(available_width() // side))
    for index, label in enumerate(labels):
        if index % each:
            imgui.same_line(0, theme.px(2))
        area = pressable(f"{name}.{index}", side - theme.px(2), theme.px(24))
        if index == value:
            fill(area, now.user_bubble, theme.TIGHT)
        elif area.hovered:
            fill(area, now.hover, theme.TIGHT)
        with pieces.small():
            text_in(area, label, now.text if index == value else now.text_muted)
        if area.clicked:
            value = index
    return value


# The picture ------------------------------------------------------------------------------------


def _heatmap(app: App, chosen: Chosen, point: str) -> None:
    names = {"E": "the embedding"}
    where = names.get(point, f"layer {point}")
    pieces.note(f"After {where}: a row for each word, a column for each number.")
    rows = app.inspector.n_rows
    limit = min(MOST_HEIGHT, max(LEAST_HEIGHT, rows * ROW))
    area, at = pieces.touch("activations.map", available_width(), theme.px(limit))
    fill(area, theme.palette().heat_neutral, 2)
    kind, index, scale = chosen.kind, chosen.point, SCALE[chosen.scale]

    def make(views: Views) -> HeatmapView:
        return views.heatmap(kind, index, scale=scale)

    view = app.inspector.live.picture("map", (kind, index, scale), make)
    if view is None or not view.n_rows:
        return
    pieces.image(view.picture, area, view.uv())
    _mark_row(app, area, view.n_rows)
    if at is not None:
        _point_at(app, chosen, area, (at[0], at[1] * view.n_rows), view.n_rows)


def _mark_row(app: App, area: Area, n_rows: int) -> None:
    tall = area.height / n_rows
    row = Area(area.x, area.y + app.inspector.position * tall, area.width, max(tall, 2.0))
    pieces.frame(row, theme.palette().accent, 1, 1)


def _point_at(
    app: App, chosen: Chosen, area: Area, at: tuple[float, float], n_rows: int
) -> None:
    position = min(int(at[1]), n_rows - 1)
    values = row_of(app, chosen.kind, chosen.point, position)
    label = app.inspector.text.label(position)
    if values is None:
        pieces.hint(f"“{label}”")
    else:
        column = min(int(at[0] * len(values)), len(values) - 1)
        pieces.hint(f"{values[column]:.5g}\n“{label}” ({position}), number {column}")
    if area.clicked:
        app.inspector.selected = position


def row_of(app: App, kind: str, point: int, position: int, *, idle: bool = False) -> Floats | None:
    """[columns] of a token, read when first asked for."""
    row: Floats | None = app.inspector.live.number(
        (kind, point, position), lambda c: c.read_row(kind, point, position), idle=idle
    )
    return row


# Plots ------------------------------------------------------------------------------------------


def _norms(app: App, session: Session) -> None:
    """Lengths of the residual stream from layer to layer."""
    norms: Floats | None = app.inspector.live.number(
        "norms", lambda c: c.norms("residual"), idle=True
    )
    position = app.inspector.position
    if norms is None or position >= norms.shape[1]:
        return
    pieces.heading("Length of the residual stream, layer by layer")
    now = theme.palette()
    mean = norms.mean(axis=1)
    label = app.inspector.text.label(position)
    series = [("all words", mean, now.control), (f"“{label}”", norms[:, position], now.accent)]
    plots.curves("activations.norms", series, _points_named(session))


def _points_named(session: Session) -> list[str]:
    return ["embedding", *(f"layer {i}" for i in range(session.model.config.n_layer))]


def _neurons(app: App, chosen: Chosen) -> None:
    """The neurons that answer most to the chosen token."""
    position = app.inspector.position
    layer = chosen.point if chosen.what == MLP else max(chosen.point - 1, 0)
    values = row_of(app, "mlp", layer, position, idle=True)
    if values is None:
        return
    label = app.inspector.text.label(position)
    pieces.heading(f"Most active neurons of layer {layer} at “{label}”")
    order = np.argsort(-np.abs(values))[:NEURONS]
    top = float(np.abs(values[order[0]])) or 1.0
    for neuron in order:
        value = float(values[neuron])
        color = theme.palette().accent if value >= 0 else theme.palette().warning
        share, name = abs(value) / top, f"activations.neuron.{neuron}"
        pieces.bar_row(name, f"neuron {neuron}", share, f"{value:.3f}", color=color)


def _distribution(app: App, chosen: Chosen) -> None:
    """How often which values occur, outliers gathered in the last bars."""
    kind, point = chosen.kind, chosen.point
    found: tuple[Floats, Floats, float, float] | None = app.inspector.live.number(
        ("distribution", kind, point),
        lambda c: histogram(c.read_rows(kind, point)),
        idle=True,
    )
    if found is None:
        return
    counts, edges, low, high = found
    pieces.heading("How often each value occurs")
    plots.histogram("activations.distribution", counts, edges)
    pieces.note(f"From {low:.4g} to {high:.4g}; the outer bars hold all beyond.")


def histogram(values: Floats) -> tuple[Floats, Floats, float, float]:
    """Counts [BINS], their edges [BINS + 1], smallest and largest value."""
    low, high = np.quantile(values, (0.002, 0.998))
    if high <= low:
        low, high = low - 1.0, high + 1.0
    counts, edges = np.histogram(np.clip(values, low, high), BINS, (low, high))
    extremes = float(values.min()), float(values.max())
    return counts.astype(np.float32), edges.astype(np.float32), *extremes
