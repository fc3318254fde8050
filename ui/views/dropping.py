"""Text of files that were dropped on the window."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING

from gpt2gl_ui.views.text_box import cleaned

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

LARGEST = 1 << 20  # bytes of a file
MOST_FILES = 10
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class NoText(Exception):
    """Why a file's text cannot be taken, in one line."""


def dropped_text(app: App) -> str:
    """The texts of the files that were dropped and that no other view took, one after the
    other; what cannot be read is told in the window."""
    paths = [path for drop in app.state.dropped for path in drop.paths]
    app.state.dropped.clear()
    if len(paths) > MOST_FILES:
        app.toasts.show(f"Only the first {MOST_FILES} files are taken", kind="warning")
    texts = []
    for path in paths[:MOST_FILES]:
        try:
            texts.append(read_text(path))
            if not texts[-1]:
                app.toasts.show(f"“{_shown(path)}” is empty", kind="warning")
        except NoText as problem:
            app.toasts.show(str(problem), kind="danger")
    return "\n".join(texts)


def _shown(path: Path) -> str:
    return path.name[-60:].encode("utf-8", "replace").decode()


def read_text(path: Path) -> str:
    """A file's text with line ends of this program; NoText where it has none."""
    name = _shown(path)
    if not path.is_file():
        raise NoText(f"“{name}” is no file: drop text files")
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise NoText(f"“{name}” has {size / 1e6:.1f} MB: files up to 1 MB can be dropped")
        data = path.read_bytes()
    except OSError as error:
        raise NoText(f"“{name}” cannot be read: {error.strerror}") from error
    encoding = next((e for mark, e in _MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise NoText(f"“{name}” is no text in UTF-8: save it as UTF-8 first") from error
    if "\0" in text:
        raise NoText(f"“{name}” is no text: it has zero bytes")
    return cleaned(text.replace("\r\n", "\n").replace("\r", "\n"))
