"""What the keyboard can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def draw(app: App) -> None:
    """What the keyboard can do."""
