"""What of the X11 part needs no X server."""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import Any

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("X11 is for Linux and BSD", allow_module_level=True)

from pyglet.display import xlib as display
from pyglet.window.xlib import XlibWindow

from gpt2gl_ui.x11 import fits, mend
from gpt2gl_ui.x11.clipboard import Clipboard
from gpt2gl_ui.x11.desktop import Desktop, _dpi, guard_scale
from gpt2gl_ui.x11.drop import Drop, paths_of
from gpt2gl_ui.x11.text import Text, _printable

MIXINS = (Text, Clipboard, Drop, Desktop)


@pytest.mark.parametrize("mixin", MIXINS)
def test_mixin_fits_the_installed_pyglet(mixin: type[Any]) -> None:
    assert fits(mixin, XlibWindow)


def test_mended_window_handles_events_with_our_methods() -> None:
    made = mend(XlibWindow)
    assert {*MIXINS} <= {*made.__mro__}
    assert made._event_selection_request is Clipboard._event_selection_request
    assert made._event_selection_notification is Drop._event_selection_notification
    assert {"_event_selection_request", "_event_key_view"} <= made._platform_event_names


@pytest.mark.parametrize("mixin", MIXINS)
def test_mixin_steps_aside_where_pyglet_changed(
    mixin: type[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    changed = ModuleType("a_changed_pyglet")
    monkeypatch.setitem(sys.modules, changed.__name__, changed)
    window = type("Window", (), {"__module__": changed.__name__})
    with caplog.at_level(logging.WARNING):
        assert not fits(mixin, window)
    assert mixin.RELIES_ON[0] in caplog.text


@pytest.mark.parametrize(
    ("uri_list", "paths"),
    [
        (b"file:///tmp/a.txt\r\n", ["/tmp/a.txt"]),
        (b"# comment\r\nfile:///a%20b\r\nfile://host/c\r\n", ["/a b", "/c"]),
        ("file:///ü/日本.txt".encode(), ["/ü/日本.txt"]),
        (b"file:///%C3%BC\0", ["/ü"]),
        (b"file:///%FF\n", ["/\udcff"]),
        (b"https://example.org/x\r\n\r\n", []),
        (b"\xff\xfe", []),
        (b"", []),
    ],
)
def test_paths_of_an_uri_list(uri_list: bytes, paths: list[str]) -> None:
    assert paths_of(uri_list) == paths


@pytest.mark.parametrize(
    ("resources", "dpi"),
    [
        (b"Xft.dpi:\t120.5\n", 120.5),
        (b"Xcursor.size: 24\nXft.dpi: 144\n", 144),
        (b"Xft.dpi: wide\n", 96),
        (b"", 96),
    ],
)
def test_dpi(resources: bytes, dpi: float) -> None:
    assert _dpi(resources) == dpi


def test_scale_is_guarded_once() -> None:
    guard_scale()
    guarded = display.XlibScreen.get_dpi
    guard_scale()
    assert display.XlibScreen.get_dpi is guarded


@pytest.mark.parametrize(
    ("text", "kept"),
    [("hello 世界", "hello 世界"), ("\r", "\r"), ("\x08", None), ("a\x1bb", "ab"), (None, None)],
)
def test_printable(text: str | None, kept: str | None) -> None:
    assert _printable(text) == kept
