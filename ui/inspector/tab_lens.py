"""The logit lens: what each layer would have said next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from imgui_bundle import imgui

from gpt2gl.lens import Lens
from gpt2gl_ui import theme
from gpt2gl_ui.inspector import pieces, plots
from gpt2gl_ui.inspector.colours import ink_on, sequential
from gpt2gl_ui.inspector.cursor import Cursor
from gpt2gl_ui.inspector.grid import Grid, Shape, scrolled
from gpt2gl_ui.widgets import Area, available_width, fill, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

CELL_WIDTH, CELL_HEIGHT, LEFT, TOP = 66, 26, 42, 26
POSITIONS, TOP_GUESSES = 48, 5


@dataclass
class Chosen:
    cell: tuple[int, int] | None = None  # row of the lens, column
    seen: Lens | None = None  # whose last words the table was moved to
    cursor: Cursor = field(default_factory=Cursor)


def draw(app: App) -> None:
    """The tab."""
    tokens = app.inspector.text.tokens
    first = max(0, len(tokens) - POSITIONS)
    positions = range(first, len(tokens))
    lens: Lens | None = app.inspector.result(
        "lens",
        first,
        lambda session: session.lens_steps(tokens, positions, TOP_GUESSES),
    )
    if lens is None:
        problem = app.inspector.failure("lens", first)
        if problem:
            pieces.note(problem)
        elif app.engine.is_busy:
            pieces.note("Computed as soon as the answer is written.")
        else:
            pieces.waiting("Asking every layer", "lens.progress")
        return
    chosen = app.state.kept("inspector.lens", Chosen)
    _table(app, lens, chosen)
    _detail(app, lens, chosen)


def _name(lens: Lens, row: int) -> str:
    return "E" if row == 0 else str(row - 1)


def _table(app: App, lens: Lens, chosen: Chosen) -> None:
    """The last layer at the top, as an answer comes out there."""
    rows, columns = len(lens.names), len(lens.positions)
    shape = Shape(
        columns, rows, theme.px(CELL_WIDTH), theme.px(CELL_HEIGHT), theme.px(LEFT), theme.px(TOP)
    )
    width = available_width()
    height = min(shape.height + theme.px(12), theme.px(460))
    text = app.inspector.text
    with scrolled("lens.table", shape, width, height, chosen.cursor) as grid:
        if chosen.seen is not lens:
            chosen.seen = lens
            chosen.cursor.put((columns - 1, 0), columns, rows)
            imgui.set_scroll_x(shape.width)
        for shown in grid.rows:
            for column in grid.columns:
                _cell(app, lens, chosen, grid, (rows - 1 - shown, column))
        if grid.hovered is not None and grid.clicked:
            chosen.cell = (rows - 1 - grid.hovered[1], grid.hovered[0])
        if grid.hovered is not None:
            grid.hint(_told(app, lens, rows - 1 - grid.hovered[1], grid.hovered[0]))
        grid.row_labels(lambda shown: _name(lens, rows - 1 - shown))
        grid.column_labels(lambda column: text.label(lens.positions[column]))


def _cell(app: App, lens: Lens, chosen: Chosen, grid: Grid, at: tuple[int, int]) -> None:
    row, column = at
    place = grid.cell(column, len(lens.names) - 1 - row)
    inner = Area(place.x + 1, place.y + 1, place.width - 2, place.height - 2)
    color = sequential(float(lens.probabilities[row, column, 0]))
    fill(inner, color, 3)
    with pieces.small():
        label = app.inspector.text.label_of(int(lens.tokens[row, column, 0]))
        text_in(inner, label, ink_on(color), inset=3)
    if chosen.cell == at:
        pieces.frame(inner, theme.palette().text, 2)
    elif grid.hovered == (column, len(lens.names) - 1 - row):
        pieces.frame(inner, theme.palette().accent, 2)
    if grid.cursor.cell == (column, len(lens.names) - 1 - row):
        grid.cursor.ring(place)


def _told(app: App, lens: Lens, row: int, column: int) -> str:
    text = app.inspector.text
    guess = text.label_of(int(lens.tokens[row, column, 0]))
    share = lens.probabilities[row, column, 0]
    after = text.label(lens.positions[column])
    return f"after “{after}”, {_layer(row)}:\n“{guess}” {share:.1%}"


def _layer(row: int) -> str:
    return "embedding" if row == 0 else f"layer {row - 1}"


def _detail(app: App, lens: Lens, chosen: Chosen) -> None:
    """Top five of a cell, and how the chosen token came up."""
    row, column = chosen.cell or (len(lens.names) - 1, len(lens.positions) - 1)
    if row >= len(lens.names) or column >= len(lens.positions):
        chosen.cell = None
        return
    text = app.inspector.text
    pieces.heading(f"After “{text.label(lens.positions[column])}”, {_layer(row)}")
    for rank in range(lens.tokens.shape[-1]):
        label = text.label_of(int(lens.tokens[row, column, rank]))
        share = float(lens.probabilities[row, column, rank])
        pieces.bar_row(f"lens.guess.{rank}", label, share, f"{share:.1%}")
    token = text.label_of(int(lens.chosen[column]))
    given, rank = lens.chosen_probabilities[row, column], lens.chosen_ranks[row, column]
    pieces.note(f"What came was “{token}”: rank {rank} here, probability {given:.2%}.")
    pieces.heading(f"Probability of “{token}”, layer by layer")
    values = np.ascontiguousarray(lens.chosen_probabilities[:, column])
    names = [_layer(each) for each in range(len(lens.names))]
    plots.curves("lens.chosen", [(f"“{token}”", values, theme.palette().accent)], names)
