"""Small steps that the engine's tests share: put rows on a device, draw a call, compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from OpenGL import GL

from gpt2gl.gl.call import Call, Step
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import Matrix, allocate_rows, read_rows, upload_matrix
from gpt2gl.gl.tensor import Tensor
from gpt2gl.passes import Dims

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]


def dims(n_embd: int = 12, n_head: int = 3, n_positions: int = 40) -> Dims:
    return Dims(n_embd, n_head, n_embd // n_head, n_positions, 1e-5)


def normal(shape: Sequence[int], seed: int = 0, std: float = 1.0) -> Floats:
    return (np.random.default_rng(seed).standard_normal(shape) * std).astype(np.float32)


def put_rows(
    device: Device, values: Array, rows: int, width: int | None = None, left: int = 0
) -> Tensor:
    """`values` [T, n] as a tensor whose rows are spread over `rows` layers."""
    count, columns = values.shape
    tensor = allocate_rows(device, count, columns, "test", layers=rows, width=width, left=left)
    device.take()
    GL.glBindTexture(GL.GL_TEXTURE_2D_ARRAY, tensor.texture)
    texels = tensor.rows.pack(values)
    depth, height, line = texels.shape[:3]
    GL.glTexSubImage3D(
        *(GL.GL_TEXTURE_2D_ARRAY, 0, tensor.rows.left, 0, 0, line, height, depth),
        *(GL.GL_RGBA, GL.GL_FLOAT, texels),
    )
    return tensor


def blank_rows(
    device: Device, count: int, columns: int, rows: int, width: int | None = None, left: int = 0
) -> Tensor:
    """A tensor that holds NaN everywhere: what a pass forgets to write will show."""
    return put_rows(device, np.full((count, columns), np.nan, np.float32), rows, width, left)


def put_matrix(device: Device, layout: str, w: Floats, piece: int = 0) -> Matrix:
    """`w` [K, N] in a layout, uploaded `piece` columns at a time (0: at once)."""
    k, n = w.shape
    step = piece or n
    pieces = ((first, w[:, first : first + step]) for first in range(0, n, step))
    return upload_matrix(device, LAYOUTS[layout], k, n, pieces)


def draw(
    device: Device, call: Call, n_rows: int, n_past: int = 0, tokens: Sequence[int] = ()
) -> None:
    step = Step(n_past, n_rows)
    device.set_step(step, tokens or [0] * n_rows)
    device.run(call, step)
    device.check()


def drawn(device: Device, call: Call, n_rows: int, n_past: int = 0) -> Floats:
    """Draw a call and read its first `n_rows` rows [n_rows, columns]."""
    draw(device, call, n_rows, n_past)
    return read_rows(device, call.output, 0, n_rows)


def drain(steps: Iterable[object]) -> int:
    """Run a generator to its end; returns how often it yielded."""
    return sum(1 for _ in steps)


def nmse(actual: Array, expected: Array) -> float:
    """sum((a - b)^2) / sum(b^2); NaN where either has one."""
    a, b = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    norm = float(np.square(b).sum())
    return float(np.square(a - b).sum()) / (norm or 1.0)


def assert_close(actual: Array, expected: Array, limit: float = 1e-12) -> None:
    assert actual.shape == expected.shape
    error = nmse(actual, expected)
    assert error <= limit, f"nmse {error:.3g} exceeds {limit:.3g}"
