"""What happens inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.views.region import region
from gpt2gl_ui.widgets import Area

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def draw(app: App, area: Area) -> None:
    """What happens inside."""
    with region("panel", area, theme.palette().background, (12, 8)):
        imgui.text_unformatted('inspector')
