"""What a finished model in the cache says about itself: `gpt2gl-model.json`, written last."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpt2gl.errors import CacheError
from gpt2gl.small_files import read_object, write_whole

MANIFEST_NAME = "gpt2gl-model.json"

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_TEXTS = ("id", "source", "commit", "licence")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|git-sha1:[0-9a-f]{40}")


@dataclass(frozen=True)
class FileRecord:
    """A file's name in the model's folder, its size in bytes, and its digest as `kind:hex`.

    Raises:
        ValueError: the name is no plain one, or another field is impossible.
    """

    name: str
    size: int
    digest: str

    def __post_init__(self) -> None:
        plain = isinstance(self.name, str) and _PLAIN_NAME.fullmatch(self.name)
        sized = type(self.size) is int and self.size >= 0
        if not plain or not sized or not _DIGEST.fullmatch(str(self.digest)):
            raise ValueError(f"impossible record of a file: {self}")


@dataclass(frozen=True)
class Manifest:
    """Where a model came from and what it consists of.

    `commit` is the revision on the hub, empty for an imported model.
    """

    id: str
    source: str
    commit: str
    licence: str
    files: tuple[FileRecord, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(record.size for record in self.files)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None where there is none that can be understood."""
    try:
        return _parse(read_object(folder / MANIFEST_NAME, CacheError))
    except (OSError, CacheError, TypeError, ValueError):
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it whole; OptionError if the folder cannot be written."""
    text = json.dumps(asdict(manifest), indent=1)
    write_whole(folder / MANIFEST_NAME, text.encode())


def _parse(raw: Mapping[str, Any]) -> Manifest:
    files = tuple(FileRecord(**record) for record in raw.get("files", ()))
    model_id, source, commit, licence = (str(raw.get(name, "")) for name in _TEXTS)
    if not files or not model_id:
        raise ValueError("no files or no id")
    return Manifest(model_id, source, commit, licence, files)
