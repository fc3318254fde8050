"""Packed weights on disk, so that a model is quantised once.

One file for each model and layout holds every packed matrix (texels and scales, after LayerNorm
was folded in) and the biases that the folding changed. It is written while the model is first
uploaded and memory-mapped afterwards; the model's own tensors are then not read.

A file belongs to a model by its path, the layout, and a digest of its config and weight files:
name, size, time of change, and 64 blocks of 64 KB spread over each file, the first of which holds
the header. Hashing all of a large file would cost more than packing it. Size and time notice
every ordinary change, the blocks a file that was put in place with its old time: training changes
every block. Files of up to 64 MB are hashed whole.

Nothing here is ever an error: what cannot be read is made anew, what cannot be written is not
kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Thread
from types import TracebackType

from gpt2gl.errors import Gpt2glError
from gpt2gl.hub.paths import cache_root, make_folder
from gpt2gl.quantised_file import PART, Damaged, Piece, Reader, Writer, source_of
from gpt2gl.small_files import drop_leftovers
from gpt2gl.weights import Checkpoint

# Part of every key: to be raised whenever packing, folding or the format changes.
VERSION = 1
# Below this a model is packed in less time than its file takes to write.
MIN_VALUES = 1 << 25
# Layouts that are only rearranged are as fast to make as to read.
CACHED_LAYOUTS = ("f16", "int8", "int4")

WHOLE_BYTES = 64 << 20
BLOCKS, BLOCK_BYTES = 64, 64 << 10

STORE_STEP = 0.004  # seconds between two looks whether a file is stored

Pieces = Iterable[Piece]

_log = logging.getLogger(__name__)


class QuantisedCache:
    """The packed form of one model in one layout: read where it is there, else kept.

    A context manager around one upload: left normally, what was made is stored.
    """

    def __init__(self, path: Path | None, source: Path) -> None:
        """`path` is the file, None to keep nothing; `source` the model it stands for."""
        self.path = path
        self.source = source
        self._reader: Reader | None = None
        self._writer: Writer | None = None

    def __enter__(self) -> QuantisedCache:
        if self.path is not None:
            self._open(self.path)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._reader is not None:
            self._reader.close()
        if self._writer is not None and self.path is not None:
            if kind is None:
                self._store(self._writer, self.path)
            else:
                self._writer.discard()

    def store(self) -> Iterator[None]:
        """Store now what was made, in a thread, since a disk may take a second to be sure of it;
        yields while that lasts."""
        writer, self._writer = self._writer, None
        if writer is None or self.path is None:
            return
        thread = Thread(target=self._store, args=(writer, self.path), name="gpt2gl-cache")
        thread.start()
        while thread.is_alive():
            thread.join(STORE_STEP)
            yield

    def pieces(self, name: str, make: Callable[[], Pieces]) -> Iterator[Piece]:
        """The pieces that `make` gives, from the file if it has them.

        Where the file is damaged all of them come again from `make`.
        """
        if self._reader is not None:
            try:
                yield from self._reader.pieces(name)
                return
            except Damaged as problem:
                self._forget(str(problem))
        for piece in make():
            self._keep(name, piece)
            yield piece

    def _open(self, path: Path) -> None:
        try:
            self._reader = Reader(path)
        except (OSError, Damaged) as problem:
            if path.exists():
                self._forget(str(problem))
            self._start(path)

    def _start(self, path: Path) -> None:
        try:
            make_folder(path.parent)
            drop_leftovers(path.parent, ".", PART)
            self._writer = Writer(path.parent, str(self.source))
        except (OSError, Gpt2glError) as problem:
            _log.debug("packed weights are not kept: %s", problem)

    def _keep(self, name: str, piece: Piece) -> None:
        if self._writer is None:
            return
        try:
            self._writer.add(name, piece)
        except OSError as problem:
            _log.debug("packed weights are not kept: %s", problem)
            self._writer.discard()
            self._writer = None

    def _store(self, writer: Writer, path: Path) -> None:
        try:
            writer.store(path)
        except OSError as problem:
            _log.debug("packed weights are not kept: %s", problem)
            writer.discard()
            return
        _drop_stale(path)

    def _forget(self, problem: str) -> None:
        """Delete the damaged file; the next load writes it again."""
        _log.debug("%s: %s: packed anew", self.path, problem)
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self.path is not None:
            _unlink(self.path)


def open_cache(checkpoint: Checkpoint, layout: str) -> QuantisedCache:
    """The cache of a checkpoint in a layout; one that keeps nothing for random weights, models
    under `MIN_VALUES`, and layouts that are quick to make."""
    values = sum(math.prod(tensor.shape) for tensor in checkpoint.tensors.values())
    path = None
    if layout in CACHED_LAYOUTS and values >= MIN_VALUES:
        # What cannot be identified, or has no place to be kept in, is not kept.
        with contextlib.suppress(OSError, RuntimeError):
            path = _path(checkpoint, layout)
    return QuantisedCache(path, _absolute(checkpoint.source))


def remove(source: Path) -> int:
    """Delete what is kept of the model at `source` (the folder or file it was loaded from, which
    may be gone by now); returns the bytes freed."""
    freed = 0
    with contextlib.suppress(OSError, RuntimeError):
        for path in _folder().glob(f"{_path_key(source)}-*.bin"):
            freed += _unlink(path)
    return freed


def _folder() -> Path:
    return cache_root() / "quantised"


def _path(checkpoint: Checkpoint, layout: str) -> Path | None:
    files = _weight_files(checkpoint.source)
    if not files:
        return None
    digest = hashlib.sha256(f"{VERSION} {layout} {checkpoint.config!r}".encode())
    for file in files:
        _add_identity(digest, file)
    key = _path_key(checkpoint.source)
    return _folder() / f"{key}-{layout}-{digest.hexdigest()[:32]}.bin"


def _weight_files(source: Path) -> list[Path]:
    """The files that a checkpoint's tensors come from; none for random weights."""
    if source.is_dir():
        return sorted(source.glob("*.safetensors"))
    return [source] if source.is_file() else []


def _add_identity(digest: hashlib._Hash, path: Path) -> None:
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        digest.update(f"{path.name!r} {status.st_size} {status.st_mtime_ns}\n".encode())
        for first, count in _sampled(status.st_size):
            file.seek(first)
            digest.update(file.read(count))


def _sampled(size: int) -> Iterator[tuple[int, int]]:
    """(first byte, bytes) of what is hashed of a file."""
    if size <= WHOLE_BYTES:
        yield from ((first, BLOCK_BYTES) for first in range(0, size, BLOCK_BYTES))
        return
    last = size - BLOCK_BYTES
    yield from ((last * i // (BLOCKS - 1), BLOCK_BYTES) for i in range(BLOCKS))


def _path_key(source: Path) -> str:
    return hashlib.sha256(os.fsencode(_absolute(source))).hexdigest()[:16]


def _absolute(source: Path) -> Path:
    return Path(os.path.realpath(source))


def _drop_stale(kept: Path) -> None:
    """Delete the same model's older files in this layout, and files of models that are gone."""
    same = kept.name.rpartition("-")[0]
    for path in kept.parent.glob("*.bin"):
        if path == kept:
            continue
        with contextlib.suppress(OSError, Damaged):
            if path.name.rpartition("-")[0] == same or not os.path.exists(source_of(path)):
                _unlink(path)


def _unlink(path: Path) -> int:
    """Delete a file if that can be; returns the bytes freed."""
    with contextlib.suppress(OSError):
        size = path.stat().st_size
        path.unlink()
        return size
    return 0
