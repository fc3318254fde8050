"""Text from the keyboard: dead keys, compose sequences and input methods."""

from __future__ import annotations

import os
import unicodedata
from ctypes import POINTER, byref, c_int, c_uint, create_string_buffer
from typing import Any

from pyglet.libs.x11 import xlib
from pyglet.window import key

BUFFER = 256
GROUPS = 4
KEYPAD = range(0xFF80, 0xFFC0)

_symbol_of_key = xlib._lib.XkbKeycodeToKeysym
_symbol_of_key.restype = xlib.KeySym
_symbol_of_key.argtypes = [POINTER(xlib.Display), c_uint, c_int, c_int]


class Text:
    """Replaces pyglet's reading of a key event.

    pyglet offers the event to the input method with the window that the pointer is over instead
    of the one that the input context was made for, so that dead keys work only with the pointer
    outside; and it fails on text of more than one character.
    """

    RELIES_ON = ("_event_text_symbol", "_x_ic", "_window", "_x_display", "_create")

    def _create(self: Any) -> None:
        """Use the desktop's input method; pyglet asks for none."""
        if not self.display._x_im and os.environ.get("XMODIFIERS"):
            xlib.XSetLocaleModifiers(b"")
            self.display._x_im = xlib.XOpenIM(self.display._display, None, None, None)
        super()._create()  # type: ignore[misc]

    def on_deactivate(self: Any) -> None:
        """A key that is released elsewhere can be pressed here again."""
        getattr(self, "pressed_keys", set()).clear()

    def _event_text_symbol(self: Any, event: xlib.XEvent) -> tuple[str | None, int | None]:
        """The event's text, if any, and the symbol of its key, if it is a key's."""
        # A composed character comes as an event without a key.
        symbol = _symbol(self._x_display, event.xkey) if event.xkey.keycode else None
        filtered = xlib.XFilterEvent(event, self._window)
        if event.type != xlib.KeyPress:
            return None, symbol
        if filtered:
            # The input method took it: a Return that ends a composition must not send a message.
            return None, None
        return _printable(self._look_up(event)), symbol

    def _look_up(self: Any, event: xlib.XEvent) -> str | None:
        if not self._x_ic:
            return _latin_text(event)
        size = BUFFER
        while True:
            buffer, status = create_string_buffer(size), c_int()
            count = xlib.Xutf8LookupString(
                self._x_ic, event.xkey, buffer, size, None, byref(status)
            )
            if status.value != xlib.XBufferOverflow:
                break
            size = count + 1
        has_text = status.value in (xlib.XLookupChars, xlib.XLookupBoth)
        return buffer.raw[:count].decode("utf-8", "replace") if has_text else None


def _symbol(x_display: Any, event: xlib.XKeyEvent) -> int:
    """pyglet's name of the key, whatever modifiers are down.

    So press and release name the same key although Shift changed between them (pyglet takes a
    release under another name for no release), and Ctrl+C is Ctrl+C on a Cyrillic layout. The
    keypad is different keys with and without NumLock.
    """
    effective = xlib.KeySym()
    xlib.XLookupString(event, create_string_buffer(BUFFER), BUFFER, byref(effective), None)
    if effective.value in KEYPAD:
        return int(effective.value)
    active = event.state >> 13 & 3
    for group in (active, *range(GROUPS)):
        symbol = int(_symbol_of_key(x_display, event.keycode, group, 0))
        if symbol in key._key_names:
            return symbol
    return int(key.user_key(event.keycode))


def _latin_text(event: xlib.XEvent) -> str | None:
    buffer = create_string_buffer(BUFFER)
    count = xlib.XLookupString(event.xkey, buffer, BUFFER, None, None)
    return buffer.raw[:count].decode("latin-1") or None


def _printable(text: str | None) -> str | None:
    """Return is text to pyglet; other control characters are not."""
    kept = [each for each in text or "" if each == "\r" or unicodedata.category(each) != "Cc"]
    return "".join(kept) or None
