"""Properties of X windows as bytes, which is how programs hand each other data under X11."""

from __future__ import annotations

from ctypes import POINTER, byref, c_int, c_ubyte, c_ulong, sizeof, string_at
from typing import Any

from pyglet.libs.x11 import xlib

ANY_TYPE = 0
WHOLE = 0x1FFFFFFF


def read(display: Any, window: int, name: int, *, delete: bool = False) -> tuple[bytes, int]:
    """The property's bytes and the atom of its type; no bytes and 0 where there is none."""
    kind, width, count, rest = xlib.Atom(), c_int(), c_ulong(), c_ulong()
    data = POINTER(c_ubyte)()
    xlib.XGetWindowProperty(
        *(display, window, name, 0, WHOLE, delete, ANY_TYPE),
        *(byref(kind), byref(width), byref(count), byref(rest), byref(data)),
    )
    if not data:
        return b"", int(kind.value)
    # Xlib hands out elements of 32 bits as longs.
    size = {8: 1, 16: 2, 32: sizeof(c_ulong)}.get(width.value, 1)
    value = string_at(data, count.value * size)
    xlib.XFree(data)
    return value, int(kind.value)


def write(display: Any, window: int, name: int, kind: int, data: bytes) -> None:
    """Replace a property of bytes."""
    buffer = (c_ubyte * max(1, len(data))).from_buffer_copy(data or b"\0")
    mode = xlib.PropModeReplace
    xlib.XChangeProperty(display, window, name, kind, 8, mode, buffer, len(data))


def write_longs(display: Any, window: int, name: int, kind: int, values: list[int]) -> None:
    """Replace a property of 32-bit values, e.g. atoms."""
    data = bytes((c_ulong * len(values))(*values))
    buffer = (c_ubyte * len(data)).from_buffer_copy(data)
    mode = xlib.PropModeReplace
    xlib.XChangeProperty(display, window, name, kind, 32, mode, buffer, len(values))


def longs(data: bytes) -> list[int]:
    """The values of a property of 32-bit elements."""
    return list((c_ulong * (len(data) // sizeof(c_ulong))).from_buffer_copy(data))


def atom(display: Any, name: str) -> int:
    """The server's number for a name."""
    return int(xlib.XInternAtom(display, name.encode(), False))
