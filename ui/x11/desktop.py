"""How the window presents itself to the desktop: its class, its scale, its full screen."""

from __future__ import annotations

import os
import re
from ctypes import POINTER, byref, cast
from typing import Any

from pyglet.display import xlib as display
from pyglet.libs.x11 import xlib

from gpt2gl_ui.x11 import properties

WM_CLASS = "gpt2gl"
STATE, STATE_FULLSCREEN = "_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN"
FROM_APPLICATION = 1
XA_CARDINAL = 6


class Desktop:
    """A fixed WM_CLASS, and full screen by the window manager.

    pyglet makes the class from the title, and for full screen destroys the X window, whose input
    context then belongs to nothing.
    """

    RELIES_ON = ("set_wm_class", "_x_display", "_window", "_get_root", "set_fullscreen")

    def set_wm_class(self: Any, name: str) -> None:
        """Desktops find an application's icon and group its windows by this."""
        super().set_wm_class(WM_CLASS)  # type: ignore[misc]
        process = properties.atom(self._x_display, "_NET_WM_PID")
        properties.write_longs(self._x_display, self._window, process, XA_CARDINAL, [os.getpid()])

    @property
    def fullscreen(self: Any) -> bool:
        """What the window manager says."""
        name = properties.atom(self._x_display, STATE)
        states = properties.longs(properties.read(self._x_display, self._window, name)[0])
        return properties.atom(self._x_display, STATE_FULLSCREEN) in states

    def set_fullscreen(self: Any, fullscreen: bool = True, *_: Any) -> None:
        """Ask the window manager; without one nothing happens."""
        event = xlib.XEvent()
        event.xclient.type = xlib.ClientMessage
        event.xclient.message_type = properties.atom(self._x_display, STATE)
        event.xclient.display = cast(self._x_display, POINTER(xlib.Display))
        event.xclient.window = self._window
        event.xclient.format = 32
        state = properties.atom(self._x_display, STATE_FULLSCREEN)
        for place, value in enumerate((int(fullscreen), state, 0, FROM_APPLICATION)):
            event.xclient.data.l[place] = value
        mask = xlib.SubstructureRedirectMask | xlib.SubstructureNotifyMask
        xlib.XSendEvent(self._x_display, self._get_root(), False, mask, byref(event))
        xlib.XFlush(self._x_display)


def guard_scale() -> None:
    """pyglet crashes where Xft.dpi is no whole number, such as 120.5."""
    original = getattr(display.XlibScreen, "get_dpi", None)
    if original is None or getattr(original, "guarded", False):
        return

    def get_dpi(screen: Any) -> int:
        try:
            return int(original(screen))
        except ValueError:
            return round(_dpi(xlib.XResourceManagerString(screen.display._display) or b""))

    get_dpi.guarded = True  # type: ignore[attr-defined]
    display.XlibScreen.get_dpi = get_dpi


def _dpi(resources: bytes) -> float:
    """Xft.dpi of an X resource string; 96 where it is missing or no number."""
    found = re.search(rb"^\s*Xft\.dpi\s*:\s*(\d+(?:\.\d+)?)", resources, re.MULTILINE)
    return float(found[1]) if found else 96.0
