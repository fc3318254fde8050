"""Bounds check of a GGUF header, made before the `gguf` package reads it.

That package trusts the lengths in the file: a damaged count makes it loop for ever or take all
memory. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from gpt2gl.errors import WeightError
from gpt2gl.weights.arrays import MappedFile

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_ARRAY = 1 << 20  # entries; the largest arrays are vocabularies and merges
MAX_DIMENSIONS = 4

# Value types of the format: id -> bytes of one value.
_SCALARS: Mapping[int, int] = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9


def check_header(file: MappedFile) -> None:
    """Walk the header of a GGUF file; WeightError if a length or a size cannot be true."""
    walk = _Walk(file)
    if file.data[:4] != MAGIC:
        raise walk.error("this is not a GGUF file: give a .gguf or .safetensors model")
    walk.at = 4
    version = walk.number("<I")
    if version not in VERSIONS:
        raise walk.error(f"GGUF version {version} is not supported: convert the model again")
    tensors, pairs = walk.number("<Q"), walk.number("<Q")
    for _ in range(pairs):
        walk.string()
        walk.value(walk.number("<I"))
    for _ in range(tensors):
        walk.tensor()


class _Walk:
    """A position in the header; each method moves it over one item."""

    def __init__(self, file: MappedFile) -> None:
        self.file = file
        self.at = 0

    def error(self, problem: str) -> WeightError:
        return WeightError(f"{self.file.path}: {problem}")

    def skip(self, size: int) -> None:
        self.at += size
        if self.at > self.file.size:
            sizes = f"file is {self.file.size} bytes, header promises at least {self.at}"
            raise self.error(f"{sizes}: download it again")

    def number(self, form: str) -> int:
        start = self.at
        self.skip(struct.calcsize(form))
        (value,) = struct.unpack_from(form, self.file.data, start)
        return int(value)

    def string(self) -> None:
        self.skip(self.number("<Q"))

    def value(self, kind: int) -> None:
        if kind == _STRING:
            self.string()
        elif kind == _ARRAY:
            self.array(self.number("<I"), self.number("<Q"))
        elif kind in _SCALARS:
            self.skip(_SCALARS[kind])
        else:
            raise self.error(f"unknown metadata type {kind}: download the file again")

    def array(self, kind: int, length: int) -> None:
        if length > MAX_ARRAY or kind == _ARRAY:
            raise self.error("a metadata array is too large or nested: download the file again")
        for _ in range(length):
            self.value(kind)

    def tensor(self) -> None:
        self.string()
        dimensions = self.number("<I")
        if dimensions > MAX_DIMENSIONS:
            raise self.error(f"a tensor of {dimensions} dimensions: download the file again")
        count = math.prod(self.number("<Q") for _ in range(dimensions))
        self.skip(4)  # the type
        # No type takes less than one bit an element.
        if count > 8 * self.file.size or self.number("<Q") > self.file.size:
            raise self.error("a tensor lies outside the file: download it again")
