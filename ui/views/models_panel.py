"""Models to choose and fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def draw(app: App) -> None:
    """Models to choose and fetch."""
