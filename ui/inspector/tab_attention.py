"""Attention: all heads as thumbnails, one of them large."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from imgui_bundle import imgui

from gpt2gl.analysis import next_rollout
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.session import Session
from gpt2gl.views import AttentionView, Views
from gpt2gl_ui import icons, theme
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.inspector.colours import sequential
from gpt2gl_ui.inspector.cursor import Cursor
from gpt2gl_ui.inspector.grid import Grid, Shape, scrolled, table
from gpt2gl_ui.inspector.strip import Strip
from gpt2gl_ui.palette import Color, faded
from gpt2gl_ui.views.tint import weight_tint
from gpt2gl_ui.widgets import (
    Area,
    available_width,
    button,
    fill,
    icon_button,
    text_in,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

WEIGHTS, SCORES, AVERAGE, ROLLOUT = "Weights", "Scores", "Average", "Rollout"
MODES = (WEIGHTS, SCORES, AVERAGE, ROLLOUT)
EXPLAINED = {
    WEIGHTS: "How much of each word (column) the head takes in at each word (row).",
    SCORES: "Before the softmax: orange attracts, blue repels, black is zero.",
    AVERAGE: "The mean of all heads of the layer.",
    ROLLOUT: "How much of each word has arrived by this layer, through all layers before.",
}
THUMBNAIL, NARROW_THUMBNAIL, GUTTER = 88, 56, 26  # points at most
LARGEST_CELL, LEAST_CELL = 30, 13
LEFT, TOP = 74, 64
WIDE = 720  # points, from which the overview stays beside the large picture
Floats = npt.NDArray[np.float64]


@dataclass
class Chosen:
    """What the tab shows."""

    opened: tuple[int, int] | None = None  # layer, head
    mode: str = WEIGHTS
    zoom: float = 1.0
    strip: Strip = field(default_factory=Strip)
    heads: Cursor = field(default_factory=Cursor)
    cells: Cursor = field(default_factory=Cursor)

    @property
    def head(self) -> tuple[int, int | None]:
        """Layer and head of numbers; head None for the mean."""
        assert self.opened is not None
        layer, head = self.opened
        return layer, None if self.mode in (AVERAGE, ROLLOUT) else head


def draw(app: App) -> None:
    """The tab."""
    chosen = app.state.kept("inspector.attention", Chosen)
    _text(app, chosen)
    pieces.gap(theme.TIGHT)
    session = app.inspector.session
    assert session is not None
    if available_width() >= theme.px(WIDE):
        if chosen.opened is None:
            chosen.opened = (0, 0)
        imgui.begin_child("##heads", (available_width() * 0.4, 0), pieces.CHILD)
        _overview(app, chosen, session)
        imgui.end_child()
        imgui.same_line()
        imgui.begin_child("##large", (0, 0), pieces.CHILD)
        _large(app, chosen, chosen.opened, is_wide=True)
        imgui.end_child()
    elif chosen.opened is None:
        _overview(app, chosen, session)
    else:
        _large(app, chosen, chosen.opened, is_wide=False)


# The text ---------------------------------------------------------------------------------------


def _text(app: App, chosen: Chosen) -> None:
    """The tokens, tinted by what the one that is pointed at looks at."""
    inspector = app.inspector
    at = inspector.hovered if inspector.hovered is not None else inspector.selected
    row = None if at is None or at >= inspector.n_rows else _attended(app, chosen, at)
    inspector.attended = row if inspector.hovered is not None else None
    pointed = chosen.strip.draw("attention.text", inspector.text, at, lambda i: _tint(row, i))
    if pointed.hovered is not None and pointed.hovered != at:
        inspector.hovered = pointed.hovered
        inspector.selected = pointed.hovered
        app.loop.request()
    where = "all heads of the last layer" if chosen.opened is None else _title(chosen)
    how = "the brighter another, the more it looks at it"
    pieces.note(f"Point at a word, here or in an answer: {how} ({where}).")


def _attended(app: App, chosen: Chosen, query: int) -> npt.NDArray[np.float32] | None:
    if chosen.opened is None:
        session = app.inspector.session
        assert session is not None
        layer, head = session.model.config.n_layer - 1, None
    else:
        layer, head = chosen.head
    return weights_of(app, layer, head, query)


def weights_of(
    app: App, layer: int, head: int | None, query: int
) -> npt.NDArray[np.float32] | None:
    """[query + 1] weights, read when they are first asked for."""

    def read(capture: Capture) -> npt.NDArray[np.float32]:
        return capture.read_attention_row(layer, head, query)

    row: npt.NDArray[np.float32] | None = app.inspector.live.number(
        ("attention", layer, head, query), read, row=query
    )
    return row


def _tint(row: npt.NDArray[np.float32] | None, position: int) -> Color | None:
    return None if row is None or position >= len(row) else weight_tint(float(row[position]))


# All heads --------------------------------------------------------------------------------------


def _overview(app: App, chosen: Chosen, session: Session) -> None:
    config = session.model.config
    columns, rows = config.n_head, config.n_layer
    gutter = theme.px(GUTTER)
    side = math.floor((available_width() - gutter) / columns)
    cell = min(side, theme.px(THUMBNAIL))
    if available_width() < theme.px(WIDE / 2):
        cell = min(cell, theme.px(NARROW_THUMBNAIL))
    view = app.inspector.live.picture("heads", "heads", lambda views: views.thumbnails())
    shape = Shape(columns, rows, cell, cell, gutter, theme.px(18))
    grid = table("attention.head", shape, chosen.heads)
    for layer in grid.rows:
        for head in range(columns):
            place = grid.cell(head, layer)
            area = Area(place.x, place.y, place.width - 2, place.height - 2)
            fill(area, theme.palette().heat_neutral, 2)
            if view is not None and view.n_rows:
                pieces.image(view.picture, area, view.uv(layer, head))
            _around(chosen, grid, area, (head, layer))
    _numbers(grid)
    if grid.hovered is not None:
        head, layer = grid.hovered
        imgui.set_mouse_cursor(imgui.MouseCursor_.hand)
        grid.hint(f"Layer {layer}, head {head}")
        if grid.clicked:
            _open(chosen, layer, head)
            chosen.cells.wanted = chosen.heads.leads
    pieces.note("Layers down, heads across. Press one to see it large.")


def _numbers(grid: Grid) -> None:
    """Of heads above, of layers at the left."""
    ink, shape = theme.palette().text_muted, grid.shape
    with pieces.small():
        for head in range(shape.columns):
            x, y = grid.x + head * shape.cell_width, grid.y - shape.top
            text_in(Area(x, y, shape.cell_width, theme.px(16)), str(head), ink)
        for layer in grid.rows:
            y = grid.y + layer * shape.cell_height
            text_in(Area(grid.x - shape.left, y, shape.left, shape.cell_height), str(layer), ink)


def _around(chosen: Chosen, grid: Grid, area: Area, at: tuple[int, int]) -> None:
    if grid.hovered == at:
        pieces.frame(area, theme.palette().accent)
    elif chosen.opened == at[::-1]:
        pieces.frame(area, theme.palette().text)
    if grid.cursor.cell == at:
        grid.cursor.ring(area)


def _open(chosen: Chosen, layer: int, head: int) -> None:
    chosen.opened = (layer, head)
    chosen.mode = WEIGHTS if chosen.mode in (AVERAGE, ROLLOUT) else chosen.mode


# One large --------------------------------------------------------------------------------------


def _title(chosen: Chosen) -> str:
    assert chosen.opened is not None
    layer, head = chosen.opened
    names = {AVERAGE: f"layer {layer}, all heads", ROLLOUT: f"up to layer {layer}"}
    return names.get(chosen.mode, f"layer {layer}, head {head}")


def _large(app: App, chosen: Chosen, opened: tuple[int, int], is_wide: bool) -> None:
    _bar(app, chosen, opened, is_wide)
    if chosen.opened is None:
        return
    chosen.mode = pieces.choice(MODES, chosen.mode, "attention.mode")
    pieces.note(f"{_title(chosen).capitalize()}. {EXPLAINED[chosen.mode]}")
    n = app.inspector.n_rows
    if not n:
        return
    width = available_width()
    height = max(imgui.get_content_region_avail().y - theme.px(4), theme.px(240))
    fit = (min(width, height) - theme.px(max(LEFT, TOP))) / n
    cell = max(min(fit, theme.px(LARGEST_CELL)), theme.px(LEAST_CELL)) * chosen.zoom
    shape = Shape(n, n, cell, cell, theme.px(LEFT), theme.px(TOP))
    with scrolled("attention.large", shape, width, height, chosen.cells) as grid:
        _zoom_by_wheel(chosen)
        _picture(app, chosen, grid)
        column, row = grid.hovered or (None, None)
        _cross(grid)
        text = app.inspector.text
        grid.row_labels(text.label, chosen=row)
        grid.column_labels(text.label, chosen=column, turned=True)
        if grid.hovered is not None and grid.hovered[0] <= grid.hovered[1]:
            grid.hint(_told(app, chosen, *grid.hovered))
            if grid.clicked:
                app.inspector.selected = grid.hovered[1]


def _bar(app: App, chosen: Chosen, opened: tuple[int, int], is_wide: bool) -> None:
    """Back to all heads, the next ones, zoom."""
    session = app.inspector.session
    assert session is not None
    count = session.model.config.n_head
    index = opened[0] * count + opened[1]
    last = session.model.config.n_layer * count - 1
    if not is_wide:
        if button("All heads", name="attention.back", kind="link", icon=icons.CHEVRON_LEFT):
            chosen.opened = None
            chosen.heads.wanted = imgui.get_io().nav_visible
            return
        imgui.same_line()
    if icon_button(
        icons.CHEVRON_UP, name="attention.before", tooltip="The head before", enabled=index > 0
    ):
        chosen.opened = divmod(index - 1, count)
    imgui.same_line()
    if icon_button(
        icons.CHEVRON_DOWN, name="attention.next", tooltip="The next head", enabled=index < last
    ):
        chosen.opened = divmod(index + 1, count)
    imgui.same_line()
    if icon_button(icons.MINUS, name="attention.smaller", tooltip="Smaller (Ctrl+wheel)"):
        chosen.zoom = max(chosen.zoom / 1.25, 0.1)
    imgui.same_line()
    if icon_button(icons.PLUS, name="attention.larger", tooltip="Larger (Ctrl+wheel)"):
        chosen.zoom = min(chosen.zoom * 1.25, 4.0)


def _zoom_by_wheel(chosen: Chosen) -> None:
    io = imgui.get_io()
    if io.key_ctrl and io.mouse_wheel and imgui.is_window_hovered():
        chosen.zoom = min(max(chosen.zoom * 1.15**io.mouse_wheel, 0.1), 4.0)


def _picture(app: App, chosen: Chosen, grid: Grid) -> None:
    fill(grid.body, theme.palette().heat_neutral, 1)
    if chosen.mode == ROLLOUT:
        _rollout(app, chosen, grid)
        return
    layer, head = chosen.head
    mode = "scores" if chosen.mode == SCORES else "weights"

    def make(views: Views) -> AttentionView:
        return views.attention(layer, head, mode=mode)

    view = app.inspector.live.picture("large", (layer, head, mode), make)
    if view is None or not view.n_rows:
        return
    side = view.n_rows * grid.shape.cell_width
    pieces.image(view.picture, Area(grid.x, grid.y, side, side), view.uv())


def _cross(grid: Grid) -> None:
    """Lines along the row and the column that are pointed at."""
    if grid.hovered is None or grid.hovered[0] > grid.hovered[1]:
        return
    column, row = grid.hovered
    cell, body, color = grid.cell(column, row), grid.body, faded(theme.palette().accent, 0.9)
    pieces.frame(Area(body.x, cell.y, body.width, cell.height), faded(color, 0.5), 1, 1)
    pieces.frame(Area(cell.x, body.y, cell.width, body.height), faded(color, 0.5), 1, 1)
    pieces.frame(cell, color, 2, 1)


def _told(app: App, chosen: Chosen, column: int, row: int) -> str:
    text = app.inspector.text
    value = _value(app, chosen, column, row)
    shown = "…" if value is None else f"{value:.4f}"
    kind = "score" if chosen.mode == SCORES else "weight"
    return f"{kind} {shown}\nat “{text.label(row)}” ({row})\nfrom “{text.label(column)}” ({column})"


def _value(app: App, chosen: Chosen, column: int, row: int) -> float | None:
    layer, head = chosen.head
    if chosen.mode == ROLLOUT:
        found = _rollouts(app)
        return None if found is None else float(found[layer][row, column])
    if chosen.mode == SCORES and head is not None:
        scores = app.inspector.live.number(
            ("scores", layer, head, row),
            lambda c: c.history("attention").read(layer, row, 1, head, 1)[0, 0],
        )
        return None if scores is None else float(scores[column])
    values = weights_of(app, layer, head, row)
    return None if values is None or column >= len(values) else float(values[column])


# Rollout ----------------------------------------------------------------------------------------


def _rollouts(app: App) -> list[Floats] | None:
    tokens = app.inspector.text.tokens
    found: list[Floats] | None = app.inspector.result(
        "rollout", None, lambda session: rollout_steps(session, tokens)
    )
    return found


def rollout_steps(
    session: Session, tokens: tuple[int, ...]
) -> Generator[None, None, list[Floats]]:
    """[T, T] of every layer, from the captured attention of `tokens`."""
    yield from session.encode_steps(tokens)
    capture = session.model.capture
    assert capture is not None
    found: list[Floats] = []
    for layer in range(session.model.config.n_layer):
        mean = capture.read_attention(layer)
        found.append(next_rollout(found[-1] if found else None, mean[None]))
        yield
    return found


def _rollout(app: App, chosen: Chosen, grid: Grid) -> None:
    found = _rollouts(app)
    if found is None:
        problem = app.inspector.failure("rollout", None)
        text_in(grid.window, problem or "adding up all layers…", theme.palette().text_muted)
        return
    matrix, draw = found[chosen.head[0]], imgui.get_window_draw_list()
    for row in grid.rows:
        for column in grid.columns:
            if column <= row < len(matrix):
                place = grid.cell(column, row)
                ink = theme.ink(sequential(math.sqrt(matrix[row, column])))
                low, high = (place.x, place.y), (place.right, place.bottom)
                draw.add_rect_filled(low, high, ink)
