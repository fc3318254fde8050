"""Tier 1: a window without a display (EGL). Tier 2: a real one under Xvfb, in a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpt2gl_ui import bootstrap

# Before any test module of this folder imports pyglet's window or OpenGL.
bootstrap.prepare(headless=True)

if TYPE_CHECKING:
    from tests.ui.driver import Driver
    from tests.ui.xvfb import Desktop


@pytest.fixture
def current_context() -> Iterator[None]:
    """Afterwards the context that was current before, e.g. the engine's, is current again."""
    if not bootstrap.LINUX:
        yield
        return
    from pyglet.libs.egl import egl

    surfaces = [egl.eglGetCurrentSurface(each) for each in (egl.EGL_DRAW, egl.EGL_READ)]
    display, context = egl.eglGetCurrentDisplay(), egl.eglGetCurrentContext()
    yield
    if context:
        egl.eglMakeCurrent(display, *surfaces, context)


@pytest.fixture
def demo(current_context: None) -> Iterator[Any]:
    """The demo window of tests/ui/demo.py, with a clock that stands still between frames."""
    from tests.ui.demo import Demo
    from tests.ui.driver import Clock

    made = Demo(Clock())
    yield made
    made.close()


@pytest.fixture
def driver(demo: Any) -> Driver:
    """Somebody at the demo window."""
    from tests.ui.driver import Driver

    return Driver(demo.window, demo.backend, demo.loop, demo.hook, demo.backend._clock)


@pytest.fixture(scope="session")
def desktop() -> Iterator[Desktop]:
    """An X server with a window manager, for all tests that want a real window."""
    from tests.ui.xvfb import Desktop, missing_programs

    if missing := missing_programs():
        pytest.skip(f"needs {', '.join(missing)}: sudo apt-get install xvfb openbox xdotool xclip")
    with Desktop() as made:
        yield made


@pytest.fixture(scope="session")
def window_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where starts of the whole app keep what they measured, so that only the first does it."""
    return tmp_path_factory.mktemp("window-cache")
