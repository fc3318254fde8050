"""What has to be settled before pyglet's window module or OpenGL is imported.

Import this module first and call `prepare`; both choices below are made once per process.
"""

from __future__ import annotations

import locale
import os
import sys

import pyglet

SWITCH_SECONDS = 0.0002
LINUX = sys.platform.startswith("linux")
HEADLESS_ADVICE = (
    'without a window, run: gpt2gl generate "Once upon a time", or gpt2gl generate -i'
)


def prepare(headless: bool = False) -> None:
    """Set locale, PyOpenGL's platform and pyglet's options.

    `headless` draws through EGL into a surface that nobody sees, for tests and screenshots.
    """
    _use_utf8()
    # Every GL call lets go of the interpreter's lock, and would wait for a busy thread this long.
    sys.setswitchinterval(SWITCH_SECONDS)
    if LINUX:
        # Left alone PyOpenGL takes EGL on a Wayland desktop, while pyglet's windows are GLX.
        os.environ["PYOPENGL_PLATFORM"] = "egl" if headless else "x11"
        pyglet.options["headless"] = headless
    pyglet.options["shadow_window"] = False
    pyglet.options["debug_gl"] = False
    # Sizes stay what the desktop makes of them; window.py does the scaling.
    pyglet.options["dpi_scaling"] = "platform"


def display_problem() -> str | None:
    """One line that says why no window can be opened, or None when one can."""
    if not LINUX or pyglet.options["headless"]:
        return None
    if not os.environ.get("DISPLAY"):
        return f"no display: DISPLAY is not set; {HEADLESS_ADVICE}"
    try:
        pyglet.display.get_display()
    except ImportError:
        return f"no display: libX11 is not installed; {HEADLESS_ADVICE}"
    except Exception:  # pyglet has two exceptions of one name for this, in private places.
        name = os.environ["DISPLAY"]
        return f"no display: cannot connect to DISPLAY={name}; {HEADLESS_ADVICE}"
    return None


def _use_utf8() -> None:
    """pyglet reads keys and sets titles by LC_CTYPE's encoding, which is ASCII under LC_ALL=C."""
    for name in (None, "", "C.UTF-8", "en_US.UTF-8"):
        try:
            locale.setlocale(locale.LC_CTYPE, name)
        except locale.Error:
            continue
        if (locale.getlocale(locale.LC_CTYPE)[1] or "").upper() in ("UTF-8", "UTF8"):
            return
