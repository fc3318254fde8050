"""The file format of packed weights: arrays one after the other, then an index.

A header of 64 bytes (magic, length of the file, place, length and checksum of the index), the
arrays on 64-byte borders, the index as JSON. Every array has its checksum (CRC-32), which is
checked when the array is read. Numbers are little-endian.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import WeightError
from gpt2gl.weights.arrays import MappedFile

MAGIC = b"gpt2glQ1"
HEADER = struct.Struct("<8sQQQI28x")  # magic, file, index offset, index length, index checksum
ALIGNMENT = 64
PART = ".part"  # how the name of a file ends until it is whole
DTYPES = ("<i4", "<u4", "<f4")


class Damaged(Exception):
    """A file is not what was written."""


class Piece(NamedTuple):
    """Packed columns of a matrix from column `first` on: texels, and scales where there are."""

    first: int
    texels: NDArray[Any]
    scales: NDArray[np.float32] | None


class Reader:
    """A file of packed weights, memory-mapped.

    Raises:
        OSError, Damaged: there is no such file, or it is no whole file of this kind.
    """

    def __init__(self, path: Path) -> None:
        index = _index(path)
        try:
            self._records = dict(index["records"])
            self._file = MappedFile(path)
        except (KeyError, TypeError, ValueError, WeightError) as problem:
            raise Damaged(f"no usable index ({problem})") from None

    def pieces(self, name: str) -> Iterator[Piece]:
        """The pieces of a record as views of the file, checked one by one.

        Raises:
            Damaged: they are not what was written.
        """
        try:
            for first, texels, scales in self._records[name]:
                yield Piece(first, self._array(*texels), scales and self._array(*scales))
        except (KeyError, TypeError, ValueError) as problem:
            raise Damaged(f"{name}: no such record ({problem})") from None

    def close(self) -> None:
        """Unmap the file."""
        self._file.close()

    def _array(self, dtype: str, shape: list[int], offset: int, checksum: int) -> NDArray[Any]:
        if dtype not in DTYPES:
            raise Damaged(f"an array of {dtype}")
        array = self._file.view(dtype, tuple(shape), offset)
        if zlib.crc32(array.reshape(-1).view(np.uint8).data) != checksum:
            raise Damaged("a wrong checksum")
        return array


class Writer:
    """Writes a file under a temporary name, readable by its owner only; `store` names it.

    Raises:
        OSError: the folder cannot be written, or the disk is full; so do the methods.
    """

    def __init__(self, folder: Path, source: str) -> None:
        self._records: dict[str, list[Any]] = {}
        self._source = source
        # mkstemp gives the file mode 0600.
        handle, name = tempfile.mkstemp(PART, ".", folder)
        self._temporary = Path(name)
        self._file = os.fdopen(handle, "wb")
        self._file.write(bytes(HEADER.size))

    def add(self, name: str, piece: Piece) -> None:
        """Append a piece to a record."""
        scales = None if piece.scales is None else self._append(piece.scales)
        self._records.setdefault(name, []).append([piece.first, self._append(piece.texels), scales])

    def store(self, path: Path) -> None:
        """Complete the file and give it its name, replacing one that has it."""
        index = json.dumps({"source": self._source, "records": self._records}).encode()
        offset = self._file.tell()
        self._file.write(index)
        header = (MAGIC, offset + len(index), offset, len(index), zlib.crc32(index))
        self._file.seek(0)
        self._file.write(HEADER.pack(*header))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._temporary, path)

    def discard(self) -> None:
        """Close the file and delete it, unless it was stored."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink()

    def _append(self, values: NDArray[Any]) -> list[Any]:
        data = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        offset = self._file.tell()
        flat = data.reshape(-1).view(np.uint8)
        self._file.write(flat.data)
        return [data.dtype.str, list(data.shape), offset, zlib.crc32(flat.data)]


def source_of(path: Path) -> str:
    """The model that a file was made from.

    Raises:
        OSError, Damaged: the file cannot be read.
    """
    return str(_index(path).get("source"))


def _index(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        header = file.read(HEADER.size)
        size = os.fstat(file.fileno()).st_size
        if len(header) < HEADER.size:
            raise Damaged("too short")
        magic, promised, offset, length, checksum = HEADER.unpack(header)
        if magic != MAGIC or promised != size or offset + length != size:
            raise Damaged("another format or length")
        file.seek(offset)
        raw = file.read(length)
    if zlib.crc32(raw) != checksum:
        raise Damaged("a wrong checksum of the index")
    index = json.loads(raw)
    if not isinstance(index, dict):
        raise Damaged("an index of another form")
    return index
