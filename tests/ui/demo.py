"""A small window with one of each thing that the window's foundation has to carry.

Tests use it under EGL, and as a program of its own under Xvfb: `python -m tests.ui.demo`.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

from gpt2gl_ui import bootstrap

if __name__ == "__main__":
    bootstrap.prepare()

from imgui_bundle import imgui
from pyglet import gl

from gpt2gl_ui.backend import Backend
from gpt2gl_ui.frame_loop import FrameLoop
from gpt2gl_ui.marks import mark, place
from gpt2gl_ui.testhook import TestHook
from gpt2gl_ui.window import open_window

SIZE, MINIMUM = (640, 480), (320, 240)
ENTER_SENDS = (
    imgui.InputTextFlags_.enter_returns_true
    | imgui.InputTextFlags_.ctrl_enter_for_new_line
    | imgui.InputTextFlags_.word_wrap
)
QUADRANTS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0))


class Demo:
    """A text field whose Enter sends, a button, an image from a texture, a list that scrolls."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.window = open_window("Demo window", SIZE, MINIMUM)
        self.backend = Backend(self.window, clock)
        self.backend.background = (26 / 255, 51 / 255, 77 / 255, 1.0)
        self.loop = FrameLoop(self.window, self.backend, self.draw, self.work, clock)
        self.hook = TestHook(self.loop)
        self.hook.app_state = self.state
        self.window.close_requested = self.loop.stop
        self.window.files_dropped = lambda paths, x, y: self.files.extend(map(str, paths))
        self.text, self.sent, self.files = "", [""][:0], [""][:0]
        self.clicks, self.tabs, self.scrolled, self.busy = 0, 0, 0.0, False
        self.texture = quadrant_texture()

    def draw(self) -> None:
        if imgui.is_key_pressed(imgui.Key.f11):
            self.window.toggle_fullscreen()
        self.tabs += imgui.is_key_pressed(imgui.Key.tab, repeat=False)
        imgui.set_next_window_pos(imgui.ImVec2(0, 0))
        imgui.set_next_window_size(imgui.ImVec2(400, 440))
        imgui.begin("demo", None, imgui.WindowFlags_.no_decoration)
        size = imgui.ImVec2(300, 80)
        sent, self.text = imgui.input_text_multiline("##text", self.text, size, ENTER_SENDS)
        mark("text")
        if sent:
            self.sent.append(self.text)
            self.text = ""
        if imgui.button("Press"):
            self.clicks += 1
        mark("press")
        imgui.set_item_tooltip("What this does")
        self.draw_rest()
        imgui.end()

    def draw_rest(self) -> None:
        imgui.image(imgui.ImTextureRef(self.texture), imgui.ImVec2(64, 64))
        mark("image")
        imgui.begin_child("list", imgui.ImVec2(200, 100))
        for number in range(100):
            imgui.text(f"line {number}")
        self.scrolled = imgui.get_scroll_y()
        corner = imgui.get_window_pos()
        imgui.end_child()
        place("list", (corner.x, corner.y, 200, 100))
        _, self.busy = imgui.checkbox("busy", self.busy)
        mark("busy")

    def work(self, deadline: float) -> bool:
        """Pretends to be the engine: fills its slice, and has news for every frame."""
        if not self.busy:
            return False
        while time.monotonic() < deadline:
            sum(range(1000))
        self.loop.wake()
        return True

    def state(self) -> dict[str, Any]:
        interval = self.loop.stats.interval
        return {
            "text": self.text,
            "sent": self.sent,
            "files": self.files,
            "clicks": self.clicks,
            "tabs": self.tabs,
            "scrolled": self.scrolled,
            "interval": [interval.p50, interval.p95, interval.max],
        }

    def close(self) -> None:
        self.window.switch_to()
        gl.glDeleteTextures(1, ctypes.byref(ctypes.c_uint(self.texture)))
        self.backend.close()
        self.window.close()


def quadrant_texture() -> int:
    """A 2x2 RGBA8 texture, first row on top: red, green; blue, yellow."""
    name = ctypes.c_uint()
    gl.glGenTextures(1, ctypes.byref(name))
    gl.glBindTexture(gl.GL_TEXTURE_2D, name.value)
    for parameter in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
        gl.glTexParameteri(gl.GL_TEXTURE_2D, parameter, gl.GL_NEAREST)
    pixels = b"".join(bytes((*colour, 255)) for colour in QUADRANTS)
    kind = (gl.GL_RGBA, gl.GL_UNSIGNED_BYTE)
    gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, gl.GL_RGBA8, 2, 2, 0, *kind, ctypes.c_char_p(pixels))
    return int(name.value)


def main() -> None:
    if problem := bootstrap.display_problem():
        sys.exit(problem)
    demo = Demo()
    demo.loop.run()
    demo.close()


if __name__ == "__main__":
    main()
