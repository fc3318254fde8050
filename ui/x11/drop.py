"""Files dropped from a file manager (the XDND protocol, version 5)."""

from __future__ import annotations

import urllib.parse
from ctypes import POINTER, byref, cast
from typing import Any

from pyglet.libs.x11 import xlib
from pyglet.window.xlib import XDND_VERSION, XlibEventHandler

from gpt2gl_ui.x11 import properties

URI_LIST = "text/uri-list"
TYPES_IN_MESSAGE = 3


class Drop:
    """Replaces pyglet's reading of a drag's types and of what was dropped.

    pyglet crashes on sources with up to three types, and tells the wrong window that it is done.
    """

    RELIES_ON = (
        *("_event_drag_enter", "_event_selection_notification", "_x_display", "_window"),
        *("_create_xdnd_atoms", "_event_drag_drop", "XDND_VERSION"),
    )

    def _event_drag_enter(self: Any, event: xlib.XEvent) -> None:
        data = event.xclient.data.l
        self._xdnd_source, self._xdnd_version = data[0], data[1] >> 24 & 0xFF
        self._xdnd_format = None
        if self._xdnd_version > XDND_VERSION:
            return
        wanted = self._xdnd_atoms[URI_LIST]
        types = [data[2 + place] for place in range(TYPES_IN_MESSAGE)]
        if data[1] & 1:
            more = self._xdnd_atoms["XdndTypeList"]
            types = properties.longs(properties.read(self._x_display, data[0], more)[0])
        if wanted in types:
            self._xdnd_format = wanted

    @XlibEventHandler(xlib.SelectionNotify)  # type: ignore[untyped-decorator]
    def _event_selection_notification(self: Any, event: xlib.XEvent) -> None:
        answer = event.xselection
        if not answer.property or answer.selection != self._xdnd_atoms["XdndSelection"]:
            return
        if not self._xdnd_format:
            return
        where = (answer.requestor, answer.property)
        data, _ = properties.read(self._x_display, *where, delete=True)
        self._finish_drop()
        self._xdnd_format = None
        if paths := paths_of(data):
            x, y = self._xdnd_position
            self.dispatch_event("on_file_drop", x, self.height - y, paths)

    def _finish_drop(self: Any) -> None:
        message = xlib.XEvent()
        message.xclient.type = xlib.ClientMessage
        message.xclient.message_type = self._xdnd_atoms["XdndFinished"]
        message.xclient.display = cast(self._x_display, POINTER(xlib.Display))
        message.xclient.window = self._xdnd_source
        message.xclient.format = 32
        accepted = 1
        values = (self._window, accepted, self._xdnd_atoms["XdndActionCopy"])
        for place, value in enumerate(values):
            message.xclient.data.l[place] = value
        xlib.XSendEvent(self._x_display, self._xdnd_source, False, 0, byref(message))
        xlib.XFlush(self._x_display)


def paths_of(uri_list: bytes) -> list[str]:
    """The local files of a text/uri-list (RFC 2483); addresses of other kinds are left out."""
    lines = uri_list.decode("utf-8", "replace").replace("\0", "").splitlines()
    parts = [urllib.parse.urlsplit(line) for line in lines if not line.startswith("#")]
    local = [part.path for part in parts if part.scheme == "file"]
    return [urllib.parse.unquote(path, errors="surrogateescape") for path in local]
