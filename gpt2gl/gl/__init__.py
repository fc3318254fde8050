"""The one part of the package that talks to OpenGL.

PyOpenGL picks its window-system binding at its first import and never again. Left alone it picks
EGL whenever WAYLAND_DISPLAY is set, while pyglet's windows are GLX, and every later call fails
with "no valid context". So the choice is made here, before any module below imports OpenGL:
EGL for headless use on Linux; a program with a window sets PYOPENGL_PLATFORM=x11 before it
imports this package. Windows and macOS have one binding each and need no choice.
"""

from __future__ import annotations

import os
import sys

if sys.platform.startswith("linux"):
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
