"""NumPy arrays into `.npz` files, piece by piece and whole or not at all."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gpt2gl.errors import OptionError
from gpt2gl.small_files import shown_path

Array = npt.NDArray[Any]


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the name `path` once the block has ended without an error.

    Raises:
        OptionError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        where, reason = shown_path(path), error.strerror
        raise OptionError(f"{where}: cannot be written ({reason}): choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


class ArrayFile:
    """An `.npz` file that is written array by array; `shapes` says of what shape each is."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self.shapes: dict[str, tuple[int, ...]] = {}

    def add(self, name: str, values: Array) -> None:
        """One array."""
        with self.stack(name, values.shape, values.dtype) as append:
            append(values)

    @contextlib.contextmanager
    def stack(
        self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Iterator[Callable[[Array], None]]:
        """An array of which parts along the first axis are handed over in order."""
        self.shapes[name] = tuple(shape)
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
            "fortran_order": False,
            "shape": tuple(shape),
        }
        with self._zip.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(member, header)
            yield lambda values: _write(member, np.asarray(values, dtype))

    def close(self) -> None:
        """Finish the file."""
        self._zip.close()


def _write(member: IO[bytes], values: Array) -> None:
    member.write(np.ascontiguousarray(values).data)


@contextlib.contextmanager
def array_file(path: Path) -> Iterator[ArrayFile]:
    """An `.npz` file that appears under its name once it is whole.

    Raises:
        OptionError: it cannot be written.
    """
    with whole_file(path) as file, contextlib.closing(ArrayFile(file)) as arrays:
        yield arrays
