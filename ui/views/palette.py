"""Commands and chats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def draw(app: App) -> None:
    """Commands and chats by name."""
