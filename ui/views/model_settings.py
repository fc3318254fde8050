"""The part of the settings about the model: which, and how its weights are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.config import ModelConfig
from gpt2gl_ui import icons, theme
from gpt2gl_ui.catalogue import needs_of
from gpt2gl_ui.settings import PRECISIONS
from gpt2gl_ui.state import MODELS
from gpt2gl_ui.views.dialogue import note, wide
from gpt2gl_ui.views.model_row import megabytes
from gpt2gl_ui.views.setting_rows import LABEL, control_row, mark_of
from gpt2gl_ui.views.settings_form import Form
from gpt2gl_ui.widgets import Area, available_width, button, elided, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def model_row(app: App, form: Form) -> None:
    """The model in use, and the way to others."""
    start, height = imgui.get_cursor_screen_pos(), theme.px(theme.CONTROL_HEIGHT)
    text_in(Area(start.x, start.y, wide(LABEL), height), "Model", theme.palette().text, 0.0)
    imgui.set_cursor_screen_pos((start.x + wide(LABEL), start.y))
    name = elided(app.engine.name or "None", available_width() - theme.px(120))
    if button(f"{name}…", name=mark_of("model"), icon=icons.CHIP, tooltip="Choose another"):
        app.state.dialogue = MODELS


def precision_row(app: App, form: Form) -> None:
    """The precision, with what each costs in memory for the model in use."""
    control_row(app, form, "precision")
    imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + wide(LABEL))
    note(precision_note(app), available_width())


def precision_note(app: App) -> str:
    """What the precisions cost, as far as it is known."""
    text = "Less precise weights take less memory and change answers a little."
    session = app.engine.session
    config = session.model.config if session is not None else None
    if isinstance(config, ModelConfig):
        needs = needs_of(config)
        costs = ",  ".join(f"{each} {megabytes(needs[each])}" for each in PRECISIONS)
        text = f"{text} On the GPU, {app.engine.name} takes: {costs}."
    return f"{text} A change loads the model again."
