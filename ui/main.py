"""Open the window and keep it running."""

from __future__ import annotations

from gpt2gl_ui.app import App
from gpt2gl_ui.settings import with_value
from gpt2gl_ui.window import open_window

TITLE = "gpt2gl"
MINIMUM = (560, 420)


def open_chat(model: str | None = None, precision: str | None = None) -> None:
    """Show the window until it is closed.

    Raises:
        DeviceError: no display, or no driver for OpenGL 3.3.
        OptionError: no such precision.
    """
    app = App(open_window(TITLE, (1180, 780), MINIMUM))
    try:
        if precision is not None:
            app.settings = with_value(app.settings, "precision", precision)
        if model is not None:
            app.settings = with_value(app.settings, "model", model)
        app.run()
    finally:
        app.close()
