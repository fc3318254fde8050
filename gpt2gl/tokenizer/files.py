"""Reading of tokenizer files that come from strangers: bounded, UTF-8, inside their folder."""

from __future__ import annotations

import json
import reprlib
import stat
from collections import Counter
from pathlib import Path
from typing import Final, NoReturn

from gpt2gl.errors import TokenizerError

MAX_FILE_BYTES: Final = 32 * 2**20
"""Far above any real tokenizer file (GPT-2's largest is 1.4 MB), far below a memory problem."""

_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 40
_SHORT.maxlevel = 2


def shown(value: object) -> str:
    """A value from a file, quoted for a message: one line, escaped and short."""
    return _SHORT.repr(value)


def shown_path(path: Path) -> str:
    """A path for a message; quoted and escaped where it holds characters that do not print."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def refuse(where: str, reason: str) -> NoReturn:
    """Raise the one-line TokenizerError that names the file and the reason."""
    raise TokenizerError(f"{where}: {reason}")


def present(folder: Path, name: str) -> bool:
    """Whether the folder has an entry of that name, a broken link included."""
    path = folder / name
    return path.is_symlink() or path.exists()


def read_text(folder: Path, name: str) -> str:
    """The text of one file of a model's folder.

    Raises:
        TokenizerError: it cannot be read, is a link to outside, too large, or not UTF-8.
    """
    where = shown_path(folder / name)
    try:
        data = _read_bytes(folder, name, where)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "the link leads back to itself"
        refuse(where, f"cannot be read ({reason})")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(where, f"is not UTF-8 text (byte {error.start}); download the file again")


def read_json(folder: Path, name: str) -> dict[str, object]:
    """The JSON object that one file of a model's folder holds.

    Raises:
        TokenizerError: as `read_text`; or it is not JSON, names a key twice, or is no object.
    """
    where, text = shown_path(folder / name), read_text(folder, name)
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        refuse(where, "is nested too deeply to be a tokenizer file")
    except ValueError as error:
        refuse(where, f"is damaged ({_one_line(error)}); download the file again")
    if not isinstance(value, dict):
        refuse(where, f"holds a JSON {type(value).__name__}, not an object")
    return value


def _read_bytes(folder: Path, name: str, where: str) -> bytes:
    path = (folder / name).resolve(strict=True)
    if not _belongs(folder.resolve(), path):
        refuse(where, "is a link to a file outside the model's folder; copy the file here")
    if not stat.S_ISREG(path.stat().st_mode):
        refuse(where, "is not a regular file")
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        refuse(where, f"is larger than {MAX_FILE_BYTES // 2**20} MiB; it is no tokenizer file")
    return data


def _belongs(folder: Path, path: Path) -> bool:
    """Inside the folder, or in the `blobs` that a Hugging Face cache's `snapshots/x/` links to."""
    if path.is_relative_to(folder):
        return True
    cache = folder.parent
    return cache.name == "snapshots" and path.is_relative_to(cache.parent / "blobs")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {shown(twice)} appears twice")
    return table


def _one_line(error: ValueError) -> str:
    return " ".join(str(error).split())
