"""Where messages are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.views.region import region
from gpt2gl_ui.widgets import Area

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def draw(app: App, area: Area) -> None:
    """Where messages are written."""
    with region("composer", area, theme.palette().background, (12, 8)):
        _, app.state.composer.text = imgui.input_text('##composer', app.state.composer.text)
        if imgui.button('Send') and app.talk.send(app.state.composer.text):
            app.state.composer.text = ''

def height(app: App, width: float) -> float:
    """How high the composer is now, in pixels."""
    return theme.px(64)
