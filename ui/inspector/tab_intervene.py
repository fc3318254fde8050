"""Intervene: parts of the model switched off, scaled or patched, and what becomes of the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.errors import Gpt2glError
from gpt2gl.session import Session
from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.inspector.changes import (
    HEAD,
    LAYER,
    MLP,
    NEW_TOKENS,
    Changes,
    Outcome,
    Part,
    Source,
    largest_changes,
    outcome_steps,
    unchanged_steps,
)
from gpt2gl_ui.inspector.cursor import Cursor
from gpt2gl_ui.inspector.grid import Grid, Shape, scrolled
from gpt2gl_ui.inspector.tab_activations import chips
from gpt2gl_ui.widgets import (
    Area,
    available_width,
    button,
    enabled_if,
    fill,
    outline,
    slider_row,
    text_field,
    text_in,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

OFF, SCALED = "Switch off", "Scale"
CELL_WIDTH, CELL_HEIGHT, LEFT, TOP = 38, 26, 34, 22
WIDE = 720
# Name, text, what to do; all of them need a model that has learned such things.
EXAMPLES = (
    (
        "Induction heads",
        "Mr Dursley lived in a small house. Everybody in the street knew Mr D",
        "With gpt2 the next token completes the name: heads of layers 5 to 7 look for what came"
        " after the same word before. Switch off heads 1 and 5 of layer 5 and head 9 of layer 6"
        " and see it lose probability.",
    ),
    (
        "Indirect object",
        "When Mary and John went to the store, John gave a drink to",
        "With gpt2 the answer is Mary. Switch off heads 6 and 9 of layer 9 (they move the name)"
        " or patch the prompt with the names exchanged at layer 8.",
    ),
)


@dataclass
class Brush:
    """What pressing a part does."""

    mode: str = OFF
    factor: float = 0.5
    other: str = ""
    point: int = 1
    cursor: Cursor = field(default_factory=Cursor)

    @property
    def value(self) -> float:
        return 0.0 if self.mode == OFF else self.factor


def draw(app: App) -> None:
    """The tab."""
    brush = app.state.kept("inspector.intervene", Brush)
    session = app.inspector.session
    assert session is not None
    if available_width() >= theme.px(WIDE):
        imgui.begin_child("##intervene.parts", (available_width() * 0.48, 0), pieces.CHILD)
        _controls(app, brush, session)
        _patch(app, brush, session)
        _examples(app)
        imgui.end_child()
        imgui.same_line(0, theme.px(theme.WIDE))
        imgui.begin_child("##intervene.outcome", (0, 0), pieces.CHILD)
        _outcomes(app)
        imgui.end_child()
    else:
        _controls(app, brush, session)
        _outcomes(app)
        _patch(app, brush, session)
        _examples(app)


def _controls(app: App, brush: Brush, session: Session) -> None:
    brush.mode = pieces.choice((OFF, SCALED), brush.mode, "intervene.mode")
    if brush.mode == SCALED:
        brush.factor = slider_row(
            "Factor", brush.factor, 0.0, 3.0, name="intervene.factor", default=0.5,
            help="What the output of a part is multiplied by.",
        )
    with enabled_if(not app.engine.is_busy):
        _parts(app.inspector.changes, brush, session)
        if button(
            "Reset", name="intervene.reset", icon=icons.RESET,
            enabled=app.inspector.changes.is_active,
            tooltip="The model as it is",
        ):
            app.inspector.changes.reset()


# Parts ------------------------------------------------------------------------------------------


def _parts(changes: Changes, brush: Brush, session: Session) -> None:
    """A cell for each head, MLP and layer."""
    config = session.model.config
    columns = config.n_head + 2
    room = (available_width() - theme.px(LEFT)) / columns
    width = max(min(room, theme.px(64)), theme.px(CELL_WIDTH))
    height, top, left = (theme.px(each) for each in (CELL_HEIGHT, TOP, LEFT))
    shape = Shape(columns, config.n_layer, width, height, left, top)
    limit = min(shape.height + theme.px(12), theme.px(400))
    with scrolled("intervene.parts", shape, available_width(), limit, brush.cursor) as grid:
        for layer in grid.rows:
            for column in grid.columns:
                _part_cell(grid, changes, _part_at(layer, column, config.n_head), (column, layer))
        if grid.hovered is not None:
            part = _part_at(grid.hovered[1], grid.hovered[0], config.n_head)
            grid.hint(f"{part.label.capitalize()}: {_state(changes.factor(part))}")
            if grid.clicked:
                changes.scale(part, 1.0 if changes.factor(part) == brush.value else brush.value)
        grid.row_labels(str)
        grid.column_labels(lambda column: _column_name(column, config.n_head))


def _part_at(layer: int, column: int, n_head: int) -> Part:
    if column < n_head:
        return Part(HEAD, layer, column)
    return Part(MLP if column == n_head else LAYER, layer)


def _column_name(column: int, n_head: int) -> str:
    return str(column) if column < n_head else ("MLP", "all")[column - n_head]


def _state(factor: float) -> str:
    return "on" if factor == 1.0 else "off" if factor == 0.0 else f"× {factor:.2f}"


def _part_cell(grid: Grid, changes: Changes, part: Part, at: tuple[int, int]) -> None:
    now, place = theme.palette(), grid.cell(*at)
    inner = Area(place.x + 1, place.y + 1, place.width - 2, place.height - 2)
    factor = changes.factor(part)
    colors = {1.0: (now.raised, now.text_muted), 0.0: (now.danger, now.danger_text)}
    surface, ink = colors.get(factor, (now.warning, now.background))
    fill(inner, surface, theme.TIGHT)
    outline(inner, now.accent if grid.hovered == at else now.border, theme.TIGHT)
    if factor != 1.0:
        with pieces.small():
            text_in(inner, "off" if factor == 0.0 else f"{factor:.2g}", ink)
    if grid.cursor.cell == at:
        grid.cursor.ring(place)


# Patching ---------------------------------------------------------------------------------------


def _patch(app: App, brush: Brush, session: Session) -> None:
    """Take the residual stream of another prompt at a layer, at the chosen token's place."""
    changes, position = app.inspector.changes, app.inspector.position
    pieces.gap()
    pieces.heading("Patch from another prompt")
    edit = text_field(brush.other, name="intervene.other", placeholder="Another prompt")
    brush.other = edit.text
    points = ["E", *(str(i) for i in range(session.model.config.n_layer))]
    brush.point = chips("intervene.point", points, brush.point)
    if changes.source is not None:
        source = changes.source
        pieces.note(f"Word {source.position} at {source.name} comes from the other prompt.")
        if button("Remove the patch", name="intervene.unpatch"):
            changes.patch(None)
    elif (
        button("Patch", name="intervene.patch", enabled=bool(edit.text.strip() and position >= 0))
        or edit.submitted
    ):
        _start_patch(app, brush, session, position)
    if position >= 0:
        label = app.inspector.text.label(position)
        pieces.note(f"At “{label}” ({position}): choose a word in Attention or Activations.")


def _start_patch(app: App, brush: Brush, session: Session, position: int) -> None:
    try:
        tokens = tuple(session.prompt_tokens(brush.other))
    except Gpt2glError as error:
        app.report(error)
        return
    if position >= len(tokens):
        app.toasts.show(f"The other prompt has {len(tokens)} tokens only: make it longer")
        return
    app.inspector.changes.patch(Source(tokens, brush.point, position))


# What comes of it -------------------------------------------------------------------------------


def _outcomes(app: App) -> None:
    inspector, tokens = app.inspector, app.inspector.text.prompt
    pieces.heading(f"The next {NEW_TOKENS} tokens, always the most likely one")
    if not tokens:
        return
    if app.engine.is_busy:
        pieces.note("Compared as soon as the answer is written.")
        return
    before: Outcome | None = inspector.jobs.result(
        "unchanged",
        tokens,
        lambda session: unchanged_steps(session, tokens, NEW_TOKENS),
    )
    if before is None:
        pieces.waiting("The model as it is", "intervene.progress")
        return
    if not inspector.changes.is_active:
        _continuation(app, "As it is", before, None)
        pieces.note("Press a head, an MLP or a whole layer, and compare.")
        return
    after: Outcome | None = inspector.result(
        "changed",
        inspector.changes.version,
        lambda session: outcome_steps(session, tokens, NEW_TOKENS),
    )
    _continuation(app, "As it is", before, None)
    if after is None or inspector.changes.applied != inspector.changes.version:
        pieces.waiting("The changed model", "intervene.progress")
        return
    _continuation(app, "Changed", after, before)
    _difference(app, before, after)


def _continuation(app: App, name: str, outcome: Outcome, other: Outcome | None) -> None:
    """A continuation; where it is another one than `other` begins is coloured."""
    now, text = theme.palette(), app.inspector.text
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        imgui.text_colored(now.text_muted if other is None else now.warning, name)
    same = 0
    if other is not None:
        pairs = zip(outcome.tokens, other.tokens, strict=False)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b), len(outcome.tokens))
    edge = imgui.get_cursor_screen_pos().x + available_width()
    with pieces.small():
        for index, token in enumerate(outcome.tokens):
            label = text.label_of(token)
            width = imgui.calc_text_size(label).x
            if index:
                imgui.same_line(0, theme.px(theme.TIGHT))
                if imgui.get_cursor_screen_pos().x + width > edge:
                    imgui.new_line()
            differs = other is not None and index >= same
            imgui.push_style_color(imgui.Col_.text, now.warning if differs else now.text)
            imgui.text_unformatted(label)
            imgui.pop_style_color()


def _difference(app: App, before: Outcome, after: Outcome) -> None:
    """The logits that moved most."""
    gains, losses = largest_changes(before.logits, after.logits)
    top = max((abs(change) for _, change in (*gains, *losses)), default=1.0) or 1.0
    now, text = theme.palette(), app.inspector.text
    for name, found, color in (
        ("Logits that gained", gains, now.success),
        ("Logits that lost", losses, now.danger),
    ):
        pieces.heading(name)
        for token, change in found:
            row = f"intervene.{name}.{token}"
            label = text.label_of(token)
            pieces.bar_row(row, label, abs(change) / top, f"{change:+.2f}", color=color)


def _examples(app: App) -> None:
    """Worked examples, which need a model that has learned such things."""
    pieces.heading("Worked examples (need gpt2)")
    for index, (name, text, what) in enumerate(EXAMPLES):
        if button(name, name=f"intervene.example.{index}", kind="link", tooltip=what):
            app.inspector.text.show(text)
        if app.inspector.text.own == text:
            pieces.note(what)
