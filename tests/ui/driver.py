"""Uses a window as a person would, without a display: events in, pixels and marks out.

Works on whatever draws through a FrameLoop with a TestHook. Time is a `Clock`'s, so that frames
are 1/60 s apart however long they take.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from pyglet import gl
from pyglet.window import key, mouse

from gpt2gl_ui.backend import Backend
from gpt2gl_ui.frame_loop import FrameLoop
from gpt2gl_ui.testhook import TestHook
from gpt2gl_ui.window import Window

FRAME = 1 / 60
MOST_FRAMES = 600
MODIFIERS = {
    "ctrl": (key.LCTRL, key.MOD_CTRL),
    "shift": (key.LSHIFT, key.MOD_SHIFT),
    "alt": (key.LALT, key.MOD_ALT),
}
BUTTONS = {"left": mouse.LEFT, "middle": mouse.MIDDLE, "right": mouse.RIGHT}
Colour = tuple[int, int, int]


class Clock:
    """Seconds that pass only by `advance`; give it to Backend and FrameLoop."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Driver:
    """A person at a window. Positions are in framebuffer pixels from the top left."""

    def __init__(
        self, window: Window, backend: Backend, loop: FrameLoop, hook: TestHook, clock: Clock
    ) -> None:
        self.window, self.backend, self.loop, self.hook = window, backend, loop, hook
        self.clock = clock
        self.pointer = (0.0, 0.0)
        self.frame(3)

    def frame(self, count: int = 1) -> None:
        """Draw frames, 1/60 s apart."""
        for _ in range(count):
            self.clock.advance(FRAME)
            self.loop.request()
            self.loop.step()

    def settle(self) -> None:
        """Draw frames until all input was taken and imgui came to rest."""
        for _ in range(MOST_FRAMES):
            if not self.backend.wants_frame:
                break
            self.frame()
        self.frame(3)

    def until(self, condition: Callable[[], bool], what: str = "condition") -> None:
        """Draw frames until `condition` holds."""
        for _ in range(MOST_FRAMES):
            if condition():
                return
            self.frame()
        raise AssertionError(f"not after {MOST_FRAMES} frames: {what}")

    def center(self, mark: str) -> tuple[float, float]:
        """The middle of what was drawn under a name in the last frame."""
        assert mark in self.hook.marks, f"no {mark!r} among {sorted(self.hook.marks)}"
        x, y, width, height = self.hook.marks[mark]
        return x + width / 2, y + height / 2

    def move(self, x: float, y: float) -> None:
        """Move the pointer, dragging when a button is down."""
        self.pointer = (x, y)
        self.window.dispatch_event("on_mouse_motion", *self._place(), 0, 0)
        self.settle_pointer()

    def settle_pointer(self) -> None:
        self.frame(2)

    def hover(self, mark: str, seconds: float = 0.0) -> None:
        """Move to the middle of a mark, and rest there."""
        self.move(*self.center(mark))
        self.frame(round(seconds / FRAME))

    def press(self, button: str = "left") -> None:
        self.window.dispatch_event("on_mouse_press", *self._place(), BUTTONS[button], 0)
        self.frame(2)

    def release(self, button: str = "left") -> None:
        self.window.dispatch_event("on_mouse_release", *self._place(), BUTTONS[button], 0)
        self.settle()

    def click(self, mark: str, button: str = "left") -> None:
        """Click the middle of a mark."""
        self.hover(mark)
        self.press(button)
        self.release(button)

    def double_click(self, mark: str) -> None:
        self.click(mark)
        self.press()
        self.release()

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 5) -> None:
        """Press at one place, release at another."""
        self.move(*start)
        self.press()
        for step in range(1, steps + 1):
            part = step / steps
            self.move(*(a + (b - a) * part for a, b in zip(start, end, strict=True)))
        self.release()

    def scroll(self, notches: float) -> None:
        """Turn the wheel where the pointer is; positive is up."""
        self.window.dispatch_event("on_mouse_scroll", *self._place(), 0, notches)
        self.settle()

    def type(self, text: str) -> None:
        """Enter text as an input method does; a line break is the Enter key."""
        for index, line in enumerate(text.split("\n")):
            if index:
                self.key("return")
            if line:
                self.window.dispatch_event("on_text", line)
        self.settle()

    def key(self, chord: str) -> None:
        """Press and release keys: `escape`, `ctrl+shift+z`; names are pyglet's in lower case."""
        *held, name = chord.split("+")
        bits = 0
        for each in held:
            bits |= MODIFIERS[each][1]
            self.window.dispatch_event("on_key_press", MODIFIERS[each][0], bits)
        symbol = getattr(key, name.upper())
        self.window.dispatch_event("on_key_press", symbol, bits)
        self.frame(2)
        self.window.dispatch_event("on_key_release", symbol, bits)
        for each in reversed(held):
            self.window.dispatch_event("on_key_release", MODIFIERS[each][0], bits)
        self.settle()

    def drop(self, *paths: Path) -> None:
        """Drop files where the pointer is."""
        x, y = self._place()
        self.window.dispatch_event("on_file_drop", x, y + 1, [str(path) for path in paths])
        self.settle()

    def resize(self, width: int, height: int) -> None:
        """As a window manager would."""
        self.window.set_size(width, height)
        self.settle()

    def pixel(self, x: float, y: float) -> Colour:
        """The colour of a pixel of the last frame."""
        return self.image().getpixel((int(x), int(y)))  # type: ignore[return-value]

    def image(self) -> Image.Image:
        """The last frame, RGB."""
        self.window.switch_to()
        width, height = self.window.get_framebuffer_size()
        data = (ctypes.c_ubyte * (width * height * 4))()
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        gl.glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, 0)
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 4)
        gl.glReadPixels(0, 0, width, height, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, data)
        image = Image.frombytes("RGBA", (width, height), bytes(data))
        return image.transpose(Image.Transpose.FLIP_TOP_BOTTOM).convert("RGB")

    def screenshot(self, path: Path | str) -> None:
        """Save the last frame."""
        self.image().save(path)

    def _place(self) -> tuple[float, float]:
        """The pointer in pyglet's coordinates, from the bottom left."""
        x, y = self.pointer
        return x, self.window.get_size()[1] - 1 - y
