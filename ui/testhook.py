"""What tests may know of the running window: a JSON file, written after each frame.

Only where the environment variable GPT2GL_UI_STATE names the file. It is replaced as a whole, so
that a reader never sees half of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpt2gl_ui import marks
from gpt2gl_ui.frame_loop import FrameLoop

STATE = "GPT2GL_UI_STATE"


class TestHook:
    """Keeps the last frame's marks; writes the state file when one is asked for."""

    __test__ = False

    def __init__(self, loop: FrameLoop, path: Path | None = None) -> None:
        named = os.environ.get(STATE)
        self.path = path or (Path(named) if named else None)
        self.marks: dict[str, marks.Rectangle] = {}
        # The app's part of the state: anything that JSON can hold.
        self.app_state: Callable[[], dict[str, Any]] = dict
        self._loop = loop
        self._focused = True
        loop.window.push_handlers(on_activate=self._activated, on_deactivate=self._deactivated)
        loop.on_frame = self.after_frame

    def after_frame(self) -> None:
        """Take the frame's marks, and write the file."""
        self.marks = marks.take()
        if self.path is not None:
            partial = self.path.with_name(self.path.name + ".part")
            partial.write_text(json.dumps(self.state()), encoding="utf-8")
            partial.replace(self.path)

    def state(self) -> dict[str, Any]:
        """What the file holds."""
        window = self._loop.window
        return {
            "frame": self._loop.frame_number,
            "position": window.get_location(),
            "size": window.get_framebuffer_size(),
            "scale": window.ui_scale,
            "focused": self._focused,
            "marks": self.marks,
            "app": self.app_state(),
        }

    def _activated(self) -> None:
        self._focused = True

    def _deactivated(self) -> None:
        self._focused = False
