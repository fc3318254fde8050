"""Step through the computation: one pass at a time, its textures, its shader, its time."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.errors import Gpt2glError
from gpt2gl.gl.tensor import Tensor
from gpt2gl.session import Session
from gpt2gl.views import TensorView, Views
from gpt2gl_ui import icons, theme
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.inspector.stepping import Done, Stepper, shader_of
from gpt2gl_ui.inspector.timing import TokenTime, token_time_steps
from gpt2gl_ui.widgets import Area, available_width, button, fill, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

ROW, MANY = 24, 10_000
PASSES, TIMELINE = "Passes", "Time of a token"
TEXTURES, SHADER = "Textures", "Shader"
MOST_PICTURES = 6


@dataclass
class Chosen:
    view: str = PASSES
    detail: str = TEXTURES
    seen: int = 0


def draw(app: App) -> None:
    """The tab."""
    chosen = app.state.kept("inspector.step", Chosen)
    if not app.inspector.text.tokens:
        return
    chosen.view = pieces.choice((PASSES, TIMELINE), chosen.view, "step.view")
    if chosen.view == TIMELINE:
        _timeline(app)
        return
    stepper = app.inspector.stepper
    if stepper is not None and stepper.is_gone:
        app.inspector.stepper = stepper = None
    _buttons(app, stepper)
    if stepper is None:
        pieces.note("Every row is one draw of a fragment shader into a texture.")
        return
    _list(chosen, stepper)
    if stepper.last is not None:
        _detail(app, chosen, stepper, stepper.last)


def _buttons(app: App, stepper: Stepper | None) -> None:
    inspector, is_free = app.inspector, not app.engine.is_busy
    done = stepper is not None and stepper.is_done
    if stepper is None or done:
        if button("Start again" if done else "Start", name="step.start", kind="primary",
                  icon=icons.PLAY, enabled=is_free):
            session = inspector.session
            assert session is not None
            with app.engine.held():
                inspector.stepper = Stepper(session, inspector.text.tokens)
            _advance(app, inspector.stepper, 1)
        return
    is_free = is_free and not inspector.jobs.is_running("step")
    for count, label in ((1, "Next"), (10, "10 more"), (MANY, "To the end")):
        if count > 1:
            imgui.same_line()
        kind = "primary" if count == 1 else "secondary"
        if button(label, name=f"step.next.{count}", kind=kind, enabled=is_free):
            _advance(app, stepper, count)


def _advance(app: App, stepper: Stepper, count: int) -> None:
    def steps(session: Session) -> Generator[None, None, None]:
        try:
            yield from stepper.advance_steps(count)
        except Gpt2glError as error:  # something else was computed in between
            app.inspector.stepper = None
            app.toasts.show(str(error), kind="warning")

    app.inspector.jobs.begin("step", (id(stepper), len(stepper.passes), count), steps)


# Passes -----------------------------------------------------------------------------------------


def _list(chosen: Chosen, stepper: Stepper) -> None:
    """All passes; those to come are faint."""
    pieces.note(f"{len(stepper.passes)} of {len(stepper.names)} passes")
    imgui.begin_child("##step.list", (0, theme.px(7 * ROW)), pieces.CHILD)
    imgui.push_style_var(imgui.StyleVar_.item_spacing, (0, 0))
    clipper = imgui.ListClipper()
    clipper.begin(len(stepper.names), theme.px(ROW))
    while clipper.step():
        for index in range(clipper.display_start, clipper.display_end):
            _pass_row(stepper, index)
    imgui.pop_style_var()
    if chosen.seen != len(stepper.passes):
        imgui.set_scroll_y((len(stepper.passes) - 5) * theme.px(ROW))
        chosen.seen = len(stepper.passes)
    imgui.end_child()


def _pass_row(stepper: Stepper, index: int) -> None:
    now, start = theme.palette(), imgui.get_cursor_screen_pos()
    row = Area(start.x, start.y, available_width(), theme.px(ROW))
    imgui.dummy((row.width, row.height))
    done = stepper.passes[index] if index < len(stepper.passes) else None
    if done is stepper.last and done is not None:
        fill(row, now.user_bubble, theme.TIGHT)
    ink = now.text if done is not None else now.text_muted
    with pieces.mono():
        text_in(Area(row.x, row.y, row.width * 0.5, row.height), stepper.names[index], ink, 0.0, 4)
        if done is not None:
            middle = Area(row.x + row.width * 0.5, row.y, row.width * 0.28, row.height)
            text_in(middle, done.shape, now.text_muted, 0.0)
            text_in(row, f"{done.ms:.2f} ms", now.text_muted, 1.0, theme.SMALL)


def _detail(app: App, chosen: Chosen, stepper: Stepper, done: Done) -> None:
    """Textures read and drawn, and the shader."""
    operation = done.call.operation
    pieces.heading(f"{done.label} · {operation.shader}")
    chosen.detail = pieces.choice((TEXTURES, SHADER), chosen.detail, "step.detail")
    if chosen.detail == SHADER:
        _source(done)
        return
    pieces.note(f"drawn: {_size(done.call.output)}")
    _texture(app, stepper, done, "out", done.call.output, theme.px(130))
    for index, (name, tensor) in enumerate(done.call.inputs.items()):
        if index < MOST_PICTURES:
            pieces.note(f"read as {name}: {_size(tensor)}")
            _texture(app, stepper, done, f"in {name}", tensor, theme.px(72))


def _size(tensor: Tensor) -> str:
    return f"{type(tensor.grid).__name__.removesuffix('Grid').lower()}, {tensor.format}"


def _texture(
    app: App, stepper: Stepper, done: Done, slot: str, tensor: Tensor, height: float
) -> None:
    """A texture as a heat-map."""
    area, _ = pieces.touch(f"step.{slot}", available_width(), height)
    fill(area, theme.palette().heat_neutral, 2)

    rows = dict.fromkeys(("in x", "in q", "in residual"), done.n_rows)
    rows["in kv"] = len(stepper.tokens)
    if not done.label.endswith((".scores", ".probs", ".kv")):  # these have more rows than words
        rows["out"] = done.n_rows

    def make(views: Views) -> TensorView:
        return views.tensor(tensor, rows=rows.get(slot))

    key = (id(stepper), done.index)
    if app.inspector.jobs.is_running("step"):
        return
    view = app.inspector.live.picture(f"step {slot}", key, make)
    if view is not None:
        pieces.image(view.picture, area)


def _source(done: Done) -> None:
    lines = shader_of(done.call).split("\n")
    imgui.begin_child("##step.source", (0, 0), 0, imgui.WindowFlags_.horizontal_scrollbar)
    with pieces.mono():
        clipper = imgui.ListClipper()
        clipper.begin(len(lines))
        while clipper.step():
            for index in range(clipper.display_start, clipper.display_end):
                imgui.text_unformatted(lines[index])
    imgui.end_child()


# The time of a token ----------------------------------------------------------------------------


def _timeline(app: App) -> None:
    """Bars of measured times, the slowest first."""
    tokens = app.inspector.text.tokens
    asked = app.state.kept("inspector.profile", dict)
    is_free = not app.engine.is_busy
    if button("Measure a token", name="step.measure", icon=icons.CLOCK, enabled=is_free):
        asked["tokens"] = tokens
    pieces.note("Each pass is drawn alone and waited for: together they take more than a token.")
    if asked.get("tokens") != tokens:
        return
    found: TokenTime | None = app.inspector.result(
        "time", None, lambda session: token_time_steps(session, tokens)
    )
    if found is None:
        problem = app.inspector.failure("time", None)
        pieces.note(problem or "measuring…")
        return
    pieces.heading(f"{found.ms:.1f} ms at {found.context} tokens, pass by pass")
    imgui.begin_child("##step.times", (0, 0))
    for index, row in enumerate(found.passes):
        name, share = f"{row.name} {row.shape}", row.ms / found.passes[0].ms
        pieces.bar_row(f"step.time.{index}", name, share, f"{row.ms:.2f} ms")
        if imgui.is_item_hovered():
            pieces.hint(f"{name}\n{row.calls} calls, {row.ms / found.ms:.0%} of the token")
    imgui.end_child()
