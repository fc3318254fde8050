"""The clipboard under X11 (ICCCM §2): any text, any size, and owners that never answer."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from ctypes import byref
from dataclasses import dataclass
from typing import Any

from pyglet.libs.x11 import xlib
from pyglet.window.xlib import XlibEventHandler

from gpt2gl_ui.x11 import properties

# How long an owner may take to answer, and then for each further piece.
PATIENCE = 0.7
# Larger text travels in pieces (INCR): servers refuse requests over some limit, often 256 KiB.
PIECE = 64 * 1024
LARGEST = 64 * 1024 * 1024
XA_ATOM, XA_STRING, XA_INTEGER = 4, 31, 19
UTF8_TARGETS = ("UTF8_STRING", "text/plain;charset=utf-8", "TEXT", "text/plain")


@dataclass
class _Transfer:
    """Text that another program takes piece by piece."""

    name: int
    kind: int
    rest: bytes


class Clipboard:
    """Replaces pyglet's clipboard.

    pyglet cuts text that is not ASCII, crashes on invalid UTF-8, hangs while the owner does, and
    leaves out large text.
    """

    RELIES_ON = (
        *("_x_display", "_window", "get_clipboard_text", "set_clipboard_text"),
        *("_event_selection_request", "_event_selection_clear"),
    )

    def set_clipboard_text(self: Any, text: str) -> None:
        """Own the clipboard; the text is handed over when somebody asks."""
        selection, now = self._clip_atom("CLIPBOARD"), xlib.CurrentTime
        xlib.XSetSelectionOwner(self._x_display, selection, self._window, now)
        if xlib.XGetSelectionOwner(self._x_display, selection) == self._window:
            self._clipboard_str = text
        xlib.XFlush(self._x_display)

    def get_clipboard_text(self: Any) -> str:
        """The clipboard's text; empty when there is none or its owner does not answer."""
        owner = xlib.XGetSelectionOwner(self._x_display, self._clip_atom("CLIPBOARD"))
        if owner and owner == self._window:
            return str(self._clipboard_str or "")
        if not owner:
            return ""
        for target, encoding in (("UTF8_STRING", "utf-8"), ("STRING", "latin-1")):
            if data := self._request(target):
                return str(data.decode(encoding, "replace")).rstrip("\0")
        return ""

    @XlibEventHandler(xlib.SelectionRequest)  # type: ignore[untyped-decorator]
    def _event_selection_request(self: Any, event: xlib.XEvent) -> None:
        """Somebody pastes what was copied here."""
        asked = event.xselectionrequest
        # Old programs name no property and mean the target's.
        name = asked.property or asked.target
        ours = asked.selection == self._clip_atom("CLIPBOARD") and self._clipboard_str is not None
        done = ours and self._hand_over(asked.requestor, name, asked.target)
        answer = xlib.XEvent()
        answer.xselection.type = xlib.SelectionNotify
        answer.xselection.display = asked.display
        answer.xselection.requestor = asked.requestor
        answer.xselection.selection = asked.selection
        answer.xselection.target = asked.target
        answer.xselection.property = name if done else 0
        answer.xselection.time = asked.time
        xlib.XSendEvent(self._x_display, asked.requestor, False, 0, byref(answer))
        xlib.XFlush(self._x_display)

    def _hand_over(self: Any, window: int, name: int, target: int) -> bool:
        display = self._x_display
        texts = {self._clip_atom(each): "utf-8" for each in UTF8_TARGETS} | {XA_STRING: "latin-1"}
        if target == self._clip_atom("TARGETS"):
            properties.write_longs(display, window, name, XA_ATOM, [target, *texts])
            return True
        if target not in texts:
            return False
        kind = XA_STRING if target == XA_STRING else self._clip_atom("UTF8_STRING")
        if target in (self._clip_atom(each) for each in UTF8_TARGETS if "/" in each):
            kind = target
        data = self._clipboard_str.encode(texts[target], "replace")
        if len(data) <= PIECE:
            properties.write(display, window, name, kind, data)
        else:
            self._begin_transfer(window, _Transfer(name, kind, data))
        return True

    def _begin_transfer(self: Any, window: int, transfer: _Transfer) -> None:
        mask = xlib.PropertyChangeMask | xlib.StructureNotifyMask
        xlib.XSelectInput(self._x_display, window, mask)
        self.display._window_map[window] = lambda event: self._continue(window, transfer, event)
        size, incr = [len(transfer.rest)], self._clip_atom("INCR")
        properties.write_longs(self._x_display, window, transfer.name, incr, size)

    def _continue(self: Any, window: int, transfer: _Transfer, event: xlib.XEvent) -> None:
        """The reader deleted the property, so it wants the next piece; an empty one is the end."""
        if event.type == xlib.DestroyNotify:
            self.display._window_map.pop(window, None)
            return
        change = event.xproperty
        deleted = event.type == xlib.PropertyNotify and change.state == xlib.PropertyDelete
        if not deleted or change.atom != transfer.name:
            return
        piece, transfer.rest = transfer.rest[:PIECE], transfer.rest[PIECE:]
        properties.write(self._x_display, window, transfer.name, transfer.kind, piece)
        if not piece:
            self.display._window_map.pop(window, None)
            xlib.XSelectInput(self._x_display, window, 0)
        xlib.XFlush(self._x_display)

    def _request(self: Any, target: str) -> bytes:
        """Ask the owner for its text in one encoding."""
        name = self._clip_atom("GPT2GL_CLIPBOARD")
        self._discard(xlib.SelectionNotify)
        xlib.XDeleteProperty(self._x_display, self._window, name)
        xlib.XConvertSelection(
            *(self._x_display, self._clip_atom("CLIPBOARD"), self._clip_atom(target)),
            *(name, self._window, xlib.CurrentTime),
        )
        answer = self._await(xlib.SelectionNotify, lambda event: True)
        if answer is None or not answer.xselection.property:
            return b""
        self._discard(xlib.PropertyNotify)
        data, kind = properties.read(self._x_display, self._window, name, delete=True)
        return self._receive(name) if kind == self._clip_atom("INCR") else data

    def _receive(self: Any, name: int) -> bytes:
        """Put the pieces together; whatever arrived when the owner falls silent."""

        def is_piece(event: xlib.XEvent) -> bool:
            change = event.xproperty
            return bool(change.atom == name and change.state == xlib.PropertyNewValue)

        whole = bytearray()
        while len(whole) < LARGEST and self._await(xlib.PropertyNotify, is_piece):
            piece, _ = properties.read(self._x_display, self._window, name, delete=True)
            if not piece:
                break
            whole += piece
        return bytes(whole)

    def _await(
        self: Any, kind: int, wanted: Callable[[xlib.XEvent], bool]
    ) -> xlib.XEvent | None:
        """The next such event, or None when PATIENCE ends; leaves events of other kinds."""
        end, event = time.monotonic() + PATIENCE, xlib.XEvent()
        connection = xlib.XConnectionNumber(self._x_display)
        while True:
            while xlib.XCheckTypedWindowEvent(self._x_display, self._window, kind, byref(event)):
                if wanted(event):
                    return event
            left = end - time.monotonic()
            if left <= 0:
                return None
            select.select((connection,), (), (), left)

    def _discard(self: Any, kind: int) -> None:
        """Forget answers to earlier questions, which came too late."""
        event = xlib.XEvent()
        while xlib.XCheckTypedWindowEvent(self._x_display, self._window, kind, byref(event)):
            pass

    def _clip_atom(self: Any, name: str) -> int:
        return properties.atom(self._x_display, name)
