"""Keyboard shortcuts of the whole window."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def handle(app: App) -> None:
    """Do what the pressed shortcut stands for."""
