"""A window without a screen: pyglet's EGL surface, with the few things that tests expect of one."""

from __future__ import annotations

from typing import Any

import pyglet.window
from pyglet.libs.egl import egl


class HeadlessWindow(pyglet.window.Window):
    """Can be resized, and has a clipboard of its own. Events come by `dispatch_event`."""

    def __init__(self, **options: Any) -> None:
        self._clipboard = ""
        self._egl_surface: Any = None
        self.minimum_size = (1, 1)
        # pyglet sends a resize event before it has what the event's handler uses; queue that one.
        self._enable_event_queue = True
        super().__init__(**options)
        self._enable_event_queue = False

    def set_minimum_size(self, width: int, height: int) -> None:
        """Kept for tests; nobody enforces it."""
        self.minimum_size = (width, height)

    def set_size(self, width: int, height: int) -> None:
        """Replace the surface by one of another size, as a window manager would resize it."""
        old = self._egl_surface
        self.context.detach()
        self._width, self._height, self._egl_surface = width, height, None
        self._create()
        egl.eglDestroySurface(self._egl_display_connection, old)

    def get_clipboard_text(self) -> str:
        """What was set last."""
        return self._clipboard

    def set_clipboard_text(self, text: str) -> None:
        """Keep `text` for this window alone."""
        self._clipboard = text
