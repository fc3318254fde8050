"""The window: pyglet's, with one GL 3.3 core context, sized by the desktop's scale.

Import it after `bootstrap.prepare`. Sizes are in framebuffer pixels unless they are called
logical: a logical unit is one pixel at scale 1.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable
from ctypes import c_char_p, cast
from pathlib import Path
from typing import Any

import pyglet
import pyglet.window
from pyglet import gl

from gpt2gl.errors import DeviceError
from gpt2gl.gl.context import INSTALL_HINT
from gpt2gl.gl.limits import is_software_name
from gpt2gl_ui.bootstrap import HEADLESS_ADVICE, LINUX, display_problem

HEADLESS = bool(pyglet.options["headless"])
SCALES = (1.0, 4.0)
# pyglet hands icons to X11 pixel by pixel, which takes a second for large ones.
ICON_SIZES = (16, 24, 32, 48, 64) if LINUX else (16, 32, 64, 256)
Size = tuple[int, int]


def _base() -> type[Any]:
    if HEADLESS:
        from gpt2gl_ui.headless import HeadlessWindow

        return HeadlessWindow
    if LINUX:
        from gpt2gl_ui.x11 import mend
        from gpt2gl_ui.x11.desktop import guard_scale

        guard_scale()
        return mend(pyglet.window.Window)
    base: type[Any] = pyglet.window.Window
    return base


class Window(_base()):  # type: ignore[misc]
    """One per process. `close_requested`, `files_dropped` are what the app wants to hear."""

    close_requested: Callable[[], None]
    files_dropped: Callable[[list[Path], float, float], None]

    def __init__(self, **options: Any) -> None:
        self.close_requested = self.close
        self.files_dropped = lambda paths, x, y: None
        super().__init__(**options)

    @property
    def ui_scale(self) -> float:
        """How many framebuffer pixels a logical unit takes, by the desktop's setting."""
        ratio = self.get_framebuffer_size()[0] / max(1, self.get_size()[0])
        return float(min(max(ratio if ratio > 1 else self.scale, SCALES[0]), SCALES[1]))

    @property
    def logical_size(self) -> Size:
        """What `open_window` takes to get a window of this size again."""
        width, height = self.get_framebuffer_size()
        return round(width / self.ui_scale), round(height / self.ui_scale)

    @property
    def renderer_name(self) -> str:
        """The driver's name for what draws, e.g. "llvmpipe (LLVM 15.0.6, 256 bits)"."""
        return _gl_string(gl.GL_RENDERER)

    @property
    def driver_version(self) -> str:
        """What the driver calls its version of OpenGL."""
        return _gl_string(gl.GL_VERSION)

    @property
    def is_software(self) -> bool:
        """Whether the processor does the drawing."""
        return is_software_name(self.renderer_name)

    def toggle_fullscreen(self) -> None:
        """Cover the screen, or stop doing so."""
        self.set_fullscreen(not self.fullscreen)

    def on_close(self) -> None:
        """The close button; pyglet would close without asking."""
        self.close_requested()

    def on_key_press(self, symbol: int, modifiers: int) -> None:
        """Nothing: pyglet's own closes the window on Escape."""

    def on_file_drop(self, x: float, y: float, paths: list[str]) -> None:
        """Files were dropped; x and y from the top left, in framebuffer pixels."""
        size, pixels = self.get_size(), self.get_framebuffer_size()
        ratio = pixels[0] / max(1, size[0])
        self.files_dropped([Path(path) for path in paths], x * ratio, pixels[1] - y * ratio)


def open_window(
    title: str, size: Size, minimum: Size, *, position: tuple[int, int] | None = None
) -> Window:
    """Open a window of a logical size that can be resized down to a logical minimum.

    Raises:
        DeviceError: no display, or no driver for OpenGL 3.3.
    """
    if problem := display_problem():
        raise DeviceError(problem)
    # A context that shares with one that was lost would be lost too.
    gl.current_context = None
    screen = pyglet.display.get_display().get_default_screen()
    factor = _size_factor(screen)
    try:
        window = _open(title, _scaled(_fitting(size, screen, factor), factor), screen)
    except Exception as error:  # pyglet raises its own, EGL's, ImportError, ...
        raise DeviceError(_no_context(error)) from error
    window.set_minimum_size(*_scaled(minimum, factor))
    _set_icon(window)
    if position is not None:
        window.set_location(*position)
    window.set_visible(True)
    window.activate()
    return window


def _open(title: str, size: Size, screen: Any) -> Window:
    config = gl.Config(
        red_size=8,
        green_size=8,
        blue_size=8,
        alpha_size=8 if HEADLESS else None,
        depth_size=0,
        double_buffer=True,
        major_version=3,
        minor_version=3,
    )
    return Window(
        width=size[0],
        height=size[1],
        caption=title,
        resizable=True,
        visible=False,
        vsync=True,
        file_drops=True,
        screen=screen,
        config=screen.get_best_config(config),
    )


def _size_factor(screen: Any) -> float:
    """What a logical size is multiplied with; macOS takes logical sizes itself."""
    if not hasattr(screen, "get_scale") or pyglet.compat_platform == "darwin" or HEADLESS:
        return 1.0
    return float(min(max(screen.get_scale(), SCALES[0]), SCALES[1]))


def _scaled(size: Size, factor: float) -> Size:
    return round(size[0] * factor), round(size[1] * factor)


def _fitting(size: Size, screen: Any, factor: float) -> Size:
    """Not larger than the screen, with room for a title bar and a panel."""
    widest, highest = int(screen.width / factor), int(screen.height * 0.92 / factor)
    return min(size[0], widest), min(size[1], highest)


def _no_context(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"cannot open an OpenGL 3.3 window: {lines[0]}; {INSTALL_HINT}; {HEADLESS_ADVICE}"


def _set_icon(window: Window) -> None:
    if HEADLESS:
        return
    folder = Path(str(importlib.resources.files("gpt2gl_assets")))
    files = [folder / f"icon-{size}.png" for size in ICON_SIZES]
    if images := [_image(path) for path in files if path.is_file()]:
        window.set_icon(*images)


def _image(path: Path) -> Any:
    # pyglet leaves files open that it opens itself.
    with path.open("rb") as file:
        return pyglet.image.load(path.name, file)


def _gl_string(name: int) -> str:
    return (cast(gl.glGetString(name), c_char_p).value or b"").decode(errors="replace")
