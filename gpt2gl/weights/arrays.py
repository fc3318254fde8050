"""Arrays that stay in their file until they are read, and their conversion to float32."""

from __future__ import annotations

import mmap
import os.path
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpt2gl.config import shown
from gpt2gl.errors import WeightError

Floats: TypeAlias = npt.NDArray[np.float32]
Index: TypeAlias = tuple[slice, ...]


class StoredArray(Protocol):
    """One array as a file (or a generator) holds it."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str:
        """Name of the stored type, as its format spells it: "F32", "BF16", "Q4_0", ..."""

    @property
    def convertible(self) -> bool:
        """Whether `floats` can convert this dtype."""

    def floats(self, index: Index) -> Floats:
        """The part `index` (one slice an axis, step 1, missing axes whole) as float32."""


class MappedFile:
    """A file mapped read-only into memory.

    Raises:
        WeightError: not a regular file, unreadable, or empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not os.path.isfile(path):
            raise WeightError(f"{path}: no such file: the model is incomplete, download it again")
        try:
            with path.open("rb") as file:
                self._mapping: mmap.mmap | None = mmap.mmap(
                    file.fileno(), 0, access=mmap.ACCESS_READ
                )
        except ValueError:
            raise WeightError(f"{path}: the file is empty: download it again") from None
        except OSError as error:
            reason = error.strerror
            raise WeightError(f"{path}: cannot be read ({reason}): check its permissions") from None
        self.size = len(self._mapping)

    @property
    def data(self) -> mmap.mmap:
        """The mapped bytes; WeightError after `close`."""
        if self._mapping is None:
            raise WeightError(f"{self.path}: the checkpoint was closed: open it again")
        return self._mapping

    def view(self, dtype: npt.DTypeLike, shape: tuple[int, ...], offset: int) -> npt.NDArray[Any]:
        """A read-only view, no copy, of `shape` values from byte `offset` on.

        Pages that earlier views have touched are given back, so that a model read tensor by
        tensor never lies in memory whole; what is still in use of them is mapped again unseen.
        """
        if hasattr(self.data, "madvise"):  # not on Windows
            self.data.madvise(mmap.MADV_DONTNEED)
        array: npt.NDArray[Any] = np.ndarray(shape, dtype, buffer=self.data, offset=offset)
        return array

    def close(self) -> None:
        """Let go of the file: it is unmapped when the last view of it is gone."""
        self._mapping = None


@dataclass(frozen=True)
class MappedArray:
    """An array of plain numbers in a mapped file, C order, little-endian."""

    file: MappedFile
    shape: tuple[int, ...]
    dtype: str
    offset: int

    @property
    def convertible(self) -> bool:
        return self.dtype in CONVERSIONS

    def floats(self, index: Index) -> Floats:
        dtype, convert = CONVERSIONS[self.dtype]
        try:
            return convert(self.file.view(dtype, self.shape, self.offset)[index])
        except FloatingPointError:
            problem = f"a tensor of {self.dtype} holds values beyond float32"
            raise WeightError(f"{self.file.path}: {problem}: store it as F32") from None


@dataclass(frozen=True)
class ZeroArray:
    """Zeros in place of a bias that the model was trained without."""

    shape: tuple[int, ...]
    dtype: str = "F32"
    convertible: bool = True

    def floats(self, index: Index) -> Floats:
        return np.zeros(self.shape, np.float32)[index]


@dataclass(frozen=True)
class LazyTensor:
    """One weight in the orientation that the engine uses, read when asked for.

    `shape` is logical: matrices of attention and MLP are [in, out], as y = x W + b takes them.
    `dtype` is what the file stores. `transposed` says that the file stores [out, in].
    """

    name: str
    stored: StoredArray
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        return self.stored.shape[::-1] if self.transposed else self.stored.shape

    @property
    def dtype(self) -> str:
        """Name of the stored type, e.g. "F32", "F16", "BF16", "Q8_0"."""
        return self.stored.dtype

    def read(self) -> Floats:
        """The whole tensor, float32, C-contiguous.

        An untransposed F32 tensor of a file is a read-only view of the mapped file, without a
        copy; everything else is a new array. WeightError if the checkpoint was closed.
        """
        return self.read_rows(0, self.shape[0])

    def read_rows(self, start: int, stop: int) -> Floats:
        """Rows `start` to `stop` (exclusive) of the logical tensor, as `read` gives them.

        Only these rows are converted, so that a large tensor can be handled in pieces. Raises
        IndexError unless 0 <= start <= stop <= shape[0].
        """
        if not 0 <= start <= stop <= self.shape[0]:
            raise IndexError(f"{self.name}: rows {start}:{stop} of {self.shape[0]}")
        if start == stop:
            return np.empty((0, *self.shape[1:]), np.float32)
        rows = slice(start, stop)
        if self.transposed:
            part = self.stored.floats((slice(None), rows)).T  # [out, rows] -> [rows, out]
        else:
            part = self.stored.floats((rows,))
        return np.require(part, np.float32, ["C", "A"])


def same_values(a: LazyTensor, b: LazyTensor, rows: int = 1024) -> bool:
    """Whether two tensors hold the same float32 bits; reads `rows` rows of each at a time."""
    if a.shape != b.shape:
        return False
    for start in range(0, a.shape[0], rows):
        stop = min(start + rows, a.shape[0])
        left, right = (t.read_rows(start, stop).view(np.uint32) for t in (a, b))
        if not np.array_equal(left, right):
            return False
    return True


def listed(names: list[str], limit: int = 8) -> str:
    """Names in one line, cut after `limit` with the full count."""
    text = ", ".join(shown(name, 80)[1:-1] for name in names[:limit])
    return text if len(names) <= limit else f"{text}, ... ({len(names)} in all)"


def _as_float32(part: npt.NDArray[Any]) -> Floats:
    with np.errstate(over="raise", invalid="ignore"):
        return part.astype(np.float32, order="C", copy=False)


def _bfloat16_to_float32(part: npt.NDArray[Any]) -> Floats:
    # bfloat16 is the upper half of a float32.
    wide = part.astype(np.uint32, order="C")
    np.left_shift(wide, 16, out=wide)
    return wide.view(np.float32)


# dtype as safetensors spells it -> how NumPy reads it, and its conversion.
CONVERSIONS: Mapping[str, tuple[str, Callable[[npt.NDArray[Any]], Floats]]] = {
    "F64": ("<f8", _as_float32),
    "F32": ("<f4", _as_float32),
    "F16": ("<f2", _as_float32),
    "BF16": ("<u2", _bfloat16_to_float32),
}
