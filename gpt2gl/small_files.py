"""Small JSON files that people may edit, and files written for them: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpt2gl.config import parse_json_object, shown
from gpt2gl.errors import Gpt2glError, OptionError

MAX_BYTES = 1 << 20
# How the names of files end that are not whole yet.
TEMPORARY = ".gpt2gl-part"
LEFTOVER_SECONDS = 3600


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


def printable(text: str) -> str:
    """A text with what could move a terminal's cursor, or is no character, escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def user_path(text: str, where: str) -> Path:
    """The path that a person gave, a leading ~ replaced by the home folder.

    Raises:
        OptionError: there is no such home folder; `where` names the option or variable.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise OptionError(
            f"{where} is {shown(text, 200)} and there is no such home folder:"
            " give the whole path"
        ) from None


def user_folder(variable: str, standard: Callable[[], str]) -> Path:
    """The folder that an environment variable names, else the platform's standard one.

    Where a user has no home folder this is a path at which nothing can be read or written.

    Raises:
        OptionError: the variable names a home folder that does not exist.
    """
    chosen = os.environ.get(variable)
    if chosen:
        path = user_path(chosen, variable)
        # A current folder that was deleted has no path.
        with contextlib.suppress(OSError):
            return path.absolute()
        return path
    # Without a home some releases of platformdirs raise RuntimeError, and others give "~/.cache" as
    # it stands, which would be made in the current folder.
    with contextlib.suppress(RuntimeError):
        path = Path(standard())
        if path.is_absolute():
            return path
    return Path(os.devnull, "gpt2gl")


def make_private_folder(path: Path) -> None:
    """Make a folder and those above it, of mode 0700; OSError if that cannot be."""
    missing = [each for each in (path, *path.parents) if not each.is_dir()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _replace(path: Path, data: bytes) -> None:
    prefix = f".{path.name[:40]}."
    drop_leftovers(path.parent, prefix, TEMPORARY)
    # mkstemp gives the file mode 0600.
    handle, temporary = tempfile.mkstemp(TEMPORARY, prefix, path.parent)
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


def drop_leftovers(folder: Path, prefix: str, suffix: str) -> None:
    """Delete temporary files of a process that was killed; younger ones may be in use."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            ours = path.name.startswith(prefix) and path.name.endswith(suffix)
            if ours and time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; Windows cannot open folders and does not need it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
