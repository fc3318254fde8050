"""Small JSON files that people may edit, and files written for them: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from gpt2gl.config import parse_json_object, shown
from gpt2gl.errors import Gpt2glError, OptionError

MAX_BYTES = 1 << 20


def read_object(path: Path, error: type[Gpt2glError]) -> dict[str, Any]:
    """The JSON object in a file of at most `MAX_BYTES`.

    Raises:
        FileNotFoundError: there is no such file.
        error: it cannot be read, is too large, or holds something else; names the file.
    """
    where = shown_path(path)
    try:
        # Opening a named pipe would wait for a writer.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise error(f"{where}: not a file: remove it")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as problem:
        reason = problem.strerror
        raise error(f"{where}: cannot be read ({reason}): check its permissions") from None
    if len(raw) > MAX_BYTES:
        raise error(f"{where}: over {MAX_BYTES} bytes: use an undamaged file")
    return parse_json_object(raw, where, error)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, replacing one of that name.

    Whatever happens meanwhile, `path` holds the old content or the new one.

    Raises:
        OptionError: the folder or the file cannot be written.
    """
    try:
        _replace(path.resolve(), data)
    # RuntimeError: a link that leads to itself. ValueError: a zero byte in the name.
    except (OSError, RuntimeError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a usable name"
        where = shown_path(path)
        raise OptionError(f"{where}: cannot be written ({reason}): choose another place") from None


def shown_path(path: Path) -> str:
    """A path for a message: as it is, or escaped where it is not printable."""
    text = str(path)
    return text if text.isprintable() else shown(text, 200)


def _replace(path: Path, data: bytes) -> None:
    # mkstemp gives the file mode 0600.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; Windows cannot open folders and does not need it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
