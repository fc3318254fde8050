"""Chats out of the window and into it, as files of the user's."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from gpt2gl.errors import Gpt2glError, OptionError
from gpt2gl.small_files import shown_path
from gpt2gl_ui.chats.exchange import export_chat, import_chat
from gpt2gl_ui.chats.tree import Chat

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

LONGEST_NAME = 80
MOST_FILES = 50
_UNUSABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f\ud800-\udfff]+')
# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)


def export(app: App, chat_id: str, suffix: str) -> Path | None:
    """Write a chat of the list into a file of its own; the toast tells where. None on an error."""
    try:
        chat = app.shelf.chat_of(chat_id)
        path = free_path(export_folder(), chat.title, suffix)
        try:
            export_chat(chat, path)
        except Gpt2glError:
            path.unlink(missing_ok=True)
            raise
    except Gpt2glError as error:
        app.report(error)
        return None
    app.toasts.show(f"Exported to {shown_path(path)}", kind="success", seconds=8)
    return path


def export_folder() -> Path:
    """The user's documents, or downloads, or home: the first that there is."""
    candidates = (platformdirs.user_documents_path(), platformdirs.user_downloads_path())
    return next((folder for folder in candidates if folder.is_dir()), Path.home())


def free_path(folder: Path, title: str, suffix: str) -> Path:
    """A new file named after a title, empty so far; numbered where that name is taken.

    Raises:
        OptionError: there can be no file in the folder.
    """
    stem = file_stem(title)
    for number in itertools.count(1):
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem} ({number}){suffix}")
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise OptionError(
                f"{shown_path(path)}: cannot be written ({error.strerror}): check the folder"
            ) from None
        return path
    raise AssertionError("there is always another number")


def file_stem(title: str) -> str:
    """A title as the name of a file on any system."""
    name = " ".join(_UNUSABLE.sub(" ", title).split())
    # File systems count bytes, up to 255 of them.
    short = name.encode()[: 2 * LONGEST_NAME].decode(errors="ignore")[:LONGEST_NAME]
    stem = short.strip(" .")
    return f"chat {stem}".strip() if not stem or _RESERVED.match(stem) else stem


def import_files(app: App, paths: list[Path]) -> list[str]:
    """Put files into the list of chats and open the last of them; one line for each problem."""
    problems: list[str] = []
    taken: list[Chat] = []
    for path in paths[:MOST_FILES]:
        try:
            decoded = import_chat(path)
        except Gpt2glError as error:
            problems.append(str(error))
            continue
        problems += decoded.notices
        app.shelf.adopt(decoded.chat)
        taken.append(decoded.chat)
    if len(paths) > MOST_FILES:
        problems.append(f"only the first {MOST_FILES} of {len(paths)} files are imported")
    if taken:
        app.shelf.show(taken[-1])
        what = f"“{taken[-1].title}”" if len(taken) == 1 else f"{len(taken)} chats"
        app.toasts.show(f"Imported {what}", kind="success")
    return problems
