"""The list of chats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.views.region import region
from gpt2gl_ui.widgets import Area

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def draw(app: App, area: Area) -> None:
    """The list of chats."""
    with region("sidebar", area, theme.palette().background, (12, 8)):
        for summary in app.shelf.summaries():
            imgui.text_unformatted(summary.title)
