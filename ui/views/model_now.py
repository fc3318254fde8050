"""The model that answers now, or is being loaded, or could not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.errors import ModelNotFound
from gpt2gl.hub.known import hub_id
from gpt2gl.loading import DEFAULT_MODEL
from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.engine import FAILED, LOADING, READY
from gpt2gl_ui.views.dialogue import growth, note, wide
from gpt2gl_ui.views.model_row import badge_beside
from gpt2gl_ui.widgets import available_width, button, card, elided, progress_bar

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

_BADGES = {READY: ("ready", "success"), LOADING: ("loading", "accent"), FAILED: ("error", "danger")}


def draw_now(app: App) -> None:
    """A card with the state of the engine, and what can be done about it."""
    with card("models.now", color=theme.palette().surface, padding=theme.MEDIUM):
        _head(app)
        if app.engine.state == LOADING:
            _loading(app)
        elif app.engine.state == FAILED:
            note(str(app.engine.error), available_width(), theme.palette().danger)
        if app.engine.state not in (READY, LOADING):
            _ways_out(app)


def _head(app: App) -> None:
    name = app.engine.name or "No model is loaded"
    with fonts.pushed(fonts.current().semibold):
        room = available_width() - wide(180)
        imgui.text_unformatted(elided(f"{icons.CHIP}  {name}", room))
    badge_beside(*_BADGES.get(app.engine.state, ("not loaded", "neutral")))
    if app.engine.precision:
        help = "How its weights are stored; change it in Settings."
        badge_beside(app.engine.precision, "neutral", help)


def _loading(app: App) -> None:
    loading = app.engine.loading
    width = available_width() / theme.current().scale - 110 * growth()
    imgui.begin_group()
    stage = loading.stage.capitalize()
    progress_bar(loading.fraction, name="models.loading", label=stage, width=width)
    imgui.end_group()
    imgui.same_line()
    if button("Cancel", name="models.loading.cancel", width=-1):
        app.engine.stop()


def _ways_out(app: App) -> None:
    """Another attempt, and the way back to what worked."""
    failed = app.engine.name
    if isinstance(app.engine.error, ModelNotFound) and hub_id(failed) is not None:
        if button("Fetch", name="models.now.fetch", icon=icons.DOWNLOAD):
            app.downloads.pull(failed)
        imgui.same_line()
    elif failed:
        again = "Try again" if app.engine.state == FAILED else "Load"
        if button(again, name="models.retry", icon=icons.REGENERATE):
            app.load_model(failed)
        imgui.same_line()
    back = app.earlier_model or DEFAULT_MODEL
    if back != failed and button(f"Back to {back}", name="models.back", icon=icons.UNDO):
        app.load_model(back)
