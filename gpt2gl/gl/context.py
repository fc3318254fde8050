"""Where the OpenGL context comes from: one made here without a window, or the one already current.

Headless contexts are pyglet's: through EGL on Linux (no display server needed), through a hidden
window on Windows and macOS.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from gpt2gl.errors import DeviceError

INSTALL_HINT = (
    "on Debian or Ubuntu: sudo apt-get install libegl1 libgl1 libgl1-mesa-dri"
    if sys.platform.startswith("linux")
    else "update the graphics driver"
)
_headless: Context | None = None


@dataclass
class Context:
    """An OpenGL context that can be made current; `window` is pyglet's, or None when adopted.

    `owner` is the device whose state is set in the context now; devices may share a context.
    """

    window: Any | None
    owner: object | None = None

    def make_current(self) -> None:
        if self.window is not None:
            self.window.switch_to()


def adopt_current() -> Context:
    """Use whatever context is current in this thread, e.g. a desktop window's."""
    return Context(None)


def headless() -> Context:
    """The process's own context without a visible window, made on the first call.

    One is enough: models loaded side by side share it, since GL names never clash.

    Raises:
        DeviceError: no OpenGL 3.3 driver, with the package to install.
    """
    global _headless
    if _headless is None:
        _headless = Context(_hidden_window())
    _headless.make_current()
    return _headless


def _hidden_window() -> Any:
    try:
        import pyglet

        if sys.platform.startswith("linux"):
            pyglet.options["headless"] = True
        pyglet.options["shadow_window"] = False
        pyglet.options["debug_gl"] = False
        # pyglet's default headless config is RGB565, which some drivers refuse with 3.3 core.
        config: Any = pyglet.gl.Config(  # type: ignore[abstract]
            red_size=8, green_size=8, blue_size=8, alpha_size=8, major_version=3, minor_version=3
        )
        return pyglet.window.Window(width=1, height=1, visible=False, config=config)
    except Exception as error:  # pyglet raises ImportError, NoSuchConfigException, EGL errors, ...
        reason = str(error).strip().splitlines()
        raise DeviceError(
            f"cannot open an OpenGL 3.3 context: {reason[0] if reason else type(error).__name__};"
            f" {INSTALL_HINT}"
        ) from error
