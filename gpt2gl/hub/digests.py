"""Checksums of files, in the two forms the hub knows.

Large files have a SHA-256 of their bytes. Small ones are plain git objects: SHA-1 of
`blob <size>\\0` and the bytes (git's object format, Pro Git chapter 10.2).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from gpt2gl.errors import CacheError
from gpt2gl.hub.events import Checking, Event
from gpt2gl.hub.manifest import FileRecord
from gpt2gl.small_files import shown_path

CHUNK = 1 << 22


def _git_sha1(size: int) -> Any:
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


# Kind of digest -> what begins one for a file of so many bytes.
DIGESTS: Mapping[str, Callable[[int], Any]] = {
    "sha256": lambda size: hashlib.sha256(),
    "git-sha1": _git_sha1,
}


def digest_of(path: Path, kind: str = "sha256") -> Generator[Event, None, str]:
    """Yield `Checking` while a file is read; return its digest as `kind:hex`.

    Raises:
        CacheError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest, done = DIGESTS[kind](size), 0
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                done += len(chunk)
                yield Checking(path.name, done, size)
    except OSError as error:
        where, reason = shown_path(path), error.strerror
        raise CacheError(f"{where}: cannot be read ({reason}): check its permissions") from None
    return f"{kind}:{digest.hexdigest()}"


def is_intact(path: Path, record: FileRecord) -> Generator[Event, None, bool]:
    """Whether a file has the recorded size and bytes; False as well where there is none."""
    if not path.is_file() or path.stat().st_size != record.size:
        return False
    kind = record.digest.partition(":")[0]
    return (yield from digest_of(path, kind)) == record.digest
