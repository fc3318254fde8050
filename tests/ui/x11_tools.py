"""The other side of some X11 conversations, as a program.

python -m tests.ui.x11_tools drop WINDOW URI TYPES   drops a file, offering that many types
python -m tests.ui.x11_tools dpi VALUE               sets the resource Xft.dpi
python -m tests.ui.x11_tools keys SYMBOL...          gives the keyboard keys with these symbols
"""

from __future__ import annotations

import sys
import time
from ctypes import POINTER, byref, c_ubyte, cast
from typing import Any

from pyglet.libs.x11 import xlib

from gpt2gl_ui.x11 import properties

PATIENCE = 10.0
VERSION = 5
FIRST_KEYCODE = 240
POINT = 50 << 16 | 60
XA_ATOM, XA_STRING = 4, 31


class Source:
    """A window that something is dragged from."""

    def __init__(self, target: int, uri: str, types: int) -> None:
        self.display = xlib.XOpenDisplay(None)
        root = xlib.XDefaultRootWindow(self.display)
        self.window = xlib.XCreateSimpleWindow(self.display, root, 0, 0, 10, 10, 0, 0, 0)
        self.target, self.uri = target, uri
        self.types = [self.atom("text/uri-list")]
        self.types = [self.atom(f"x-other/{n}") for n in range(types - 1)] + self.types

    def atom(self, name: str) -> int:
        return properties.atom(self.display, name)

    def send(self, name: str, *values: int) -> None:
        event = xlib.XEvent()
        event.xclient.type = xlib.ClientMessage
        event.xclient.message_type = self.atom(name)
        event.xclient.display = cast(self.display, POINTER(xlib.Display))
        event.xclient.window = self.target
        event.xclient.format = 32
        for place, value in enumerate((self.window, *values)):
            event.xclient.data.l[place] = value
        xlib.XSendEvent(self.display, self.target, False, 0, byref(event))
        xlib.XFlush(self.display)

    def drop(self) -> None:
        selection = self.atom("XdndSelection")
        xlib.XSetSelectionOwner(self.display, selection, self.window, xlib.CurrentTime)
        name = self.atom("XdndTypeList")
        properties.write_longs(self.display, self.window, name, XA_ATOM, self.types)
        many = int(len(self.types) > 3)
        first = [*self.types, 0, 0, 0][:3]
        self.send("XdndEnter", VERSION << 24 | many, *first)
        self.send("XdndPosition", 0, POINT, 0, self.atom("XdndActionCopy"))
        status = self.wait(lambda event: self.is_message(event, "XdndStatus"))
        assert status.xclient.data.l[1] & 1, "refused"
        self.send("XdndDrop", 0, 0)
        self.answer(self.wait(lambda event: event.type == xlib.SelectionRequest).xselectionrequest)
        self.wait(lambda event: self.is_message(event, "XdndFinished"))

    def answer(self, request: Any) -> None:
        data = f"# a comment\r\n{self.uri}\r\nhttps://example.org/\r\n".encode()
        where = (request.requestor, request.property)
        properties.write(self.display, *where, request.target, data)
        event = xlib.XEvent()
        event.xselection.type = xlib.SelectionNotify
        event.xselection.requestor = request.requestor
        event.xselection.selection = request.selection
        event.xselection.target = request.target
        event.xselection.property = request.property
        xlib.XSendEvent(self.display, request.requestor, False, 0, byref(event))
        xlib.XFlush(self.display)

    def is_message(self, event: xlib.XEvent, name: str) -> bool:
        message = event.type == xlib.ClientMessage
        return message and event.xclient.message_type == self.atom(name)

    def wait(self, wanted: Any) -> xlib.XEvent:
        end, event = time.monotonic() + PATIENCE, xlib.XEvent()
        while time.monotonic() < end:
            if xlib.XPending(self.display):
                xlib.XNextEvent(self.display, byref(event))
                if wanted(event):
                    return event
            else:
                time.sleep(0.01)
        raise SystemExit("no answer to the drag")


def set_dpi(value: str) -> None:
    display = xlib.XOpenDisplay(None)
    root, name = xlib.XDefaultRootWindow(display), properties.atom(display, "RESOURCE_MANAGER")
    data = f"Xcursor.size:\t24\nXft.dpi:\t{value}\n".encode()
    buffer = (c_ubyte * len(data)).from_buffer_copy(data)
    replace = xlib.PropModeReplace
    xlib.XChangeProperty(display, root, name, XA_STRING, 8, replace, buffer, len(data))
    xlib.XCloseDisplay(display)


def add_keys(*names: str) -> None:
    """Otherwise xdotool makes a key of each symbol for a moment, which may be over too soon."""
    display = xlib.XOpenDisplay(None)
    for place, name in enumerate(names):
        symbols = (xlib.KeySym * 2)(*[xlib.XStringToKeysym(name.encode())] * 2)
        xlib.XChangeKeyboardMapping(display, FIRST_KEYCODE + place, 2, symbols, 1)
    xlib.XCloseDisplay(display)


def drop(target: str, uri: str, types: str) -> None:
    Source(int(target), uri, int(types)).drop()


if __name__ == "__main__":
    {"drop": drop, "dpi": set_dpi, "keys": add_keys}[sys.argv[1]](*sys.argv[2:])
