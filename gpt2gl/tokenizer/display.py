"""Token bytes as text for tables and pictures: every byte can be seen, none breaks a line."""

from __future__ import annotations

import unicodedata
from typing import Final

_NAMED: Final = {
    " ": "\N{OPEN BOX}",
    "\N{OPEN BOX}": r"\u2423",
    "\\": r"\\",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
}


def printable(data: bytes) -> str:
    r"""Printable text, different for different bytes.

    A space is `␣`; what does not print is escaped as in a Python string, with `\x80` to `\xff` for
    bytes that are no UTF-8. A combining mark at the start, which would sit on its neighbour in the
    table, is escaped too.
    """
    text = data.decode("utf-8", "surrogateescape")
    if text and unicodedata.category(text[0]).startswith("M"):
        return _escape(text[0]) + "".join(map(_show, text[1:]))
    return "".join(map(_show, text))


def _show(char: str) -> str:
    return _NAMED.get(char) or (char if char.isprintable() else _escape(char))


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
