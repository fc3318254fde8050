"""Open the window and keep it running; start afresh where the driver gave up."""

from __future__ import annotations

import os
import sys

from gpt2gl.errors import DeviceError, Gpt2glError
from gpt2gl_ui.app import App
from gpt2gl_ui.chats.folder import data_root
from gpt2gl_ui.chats.writer import Writer
from gpt2gl_ui.settings import SettingsFile, with_value
from gpt2gl_ui.window import open_window

TITLE = "gpt2gl"
MINIMUM = (640, 480)
RESTARTS = "GPT2GL_RESTARTS"
MOST_RESTARTS = 3


def open_chat(model: str | None = None, precision: str | None = None) -> None:
    """Show the window until it is closed.

    Raises:
        DeviceError: no display, no driver for OpenGL 3.3, or its context was lost time and again.
        OptionError: no such precision.
        Gpt2glError: an error kept coming back; names the report.
    """
    settings = SettingsFile(Writer(lambda what, problem: None)).load()
    app = App(open_window(TITLE, settings.window_size, MINIMUM))
    try:
        if precision is not None:
            app.settings = with_value(app.settings, "precision", precision)
        if model is not None:
            app.settings = with_value(app.settings, "model", model)
        _greet(app)
        app.run()
    finally:
        app.close()
    _after(app)


def _greet(app: App) -> None:
    if _restarts():
        text = "The graphics driver was reset. Your chats are as they were."
        app.toasts.show(text, kind="warning", seconds=12)


def _after(app: App) -> None:
    failures = app.failures
    if failures.lost:
        if _restarts() >= MOST_RESTARTS:
            raise DeviceError(
                f"the OpenGL context was lost {MOST_RESTARTS + 1} times: update the graphics"
                f" driver; reports are in {data_root()}"
            )
        os.environ[RESTARTS] = str(_restarts() + 1)
        os.execv(sys.executable, [sys.executable, "-m", "gpt2gl", *sys.argv[1:]])
    if failures.fatal is not None:
        raise Gpt2glError(
            f"{type(failures.fatal).__name__} kept coming back, so the window was closed;"
            f" nothing is lost; a report is in {failures.last_report}"
        )


def _restarts() -> int:
    text = os.environ.get(RESTARTS, "0")
    return int(text) if text.isdecimal() else 0
