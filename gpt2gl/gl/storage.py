"""Tensors onto the device and back."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from gpt2gl.gl.device import Device
from gpt2gl.gl.faults import device_errors
from gpt2gl.gl.formats import FORMATS
from gpt2gl.gl.framebuffers import Attachments
from gpt2gl.gl.layouts import Layout
from gpt2gl.gl.pool import nbytes
from gpt2gl.gl.tensor import (
    BlockGrid,
    RowsGrid,
    Tensor,
    WeightGrid,
    ceil_div,
    rows_grid,
    weight_grid,
)

Floats = NDArray[np.float32]
PackedPiece = tuple[int, NDArray[Any], Floats | None]


@dataclass(frozen=True)
class Matrix:
    """A weight matrix [k, n] in some layout, with its scales where the layout has them."""

    weights: Tensor
    scales: Tensor | None
    layout: Layout
    k: int
    n: int

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + (self.scales.nbytes if self.scales else 0)


def allocate_rows(
    device: Device,
    rows: int,
    columns: int,
    use: str,
    *,
    layers: int = 1,
    width: int | None = None,
    left: int = 0,
    clear: bool = False,
) -> Tensor:
    """A rows tensor, contents undefined unless `clear`.

    Raises:
        DeviceError: too large for the device.
    """
    side = device.limits.max_side
    grid = rows_grid(rows, columns, side, layers=layers, width=width, left=left)
    tensor = _tensor(device, "rgba32f", grid, grid.texture_width, grid.height, layers, use)
    if clear:
        _clear(device, tensor)
    return tensor


def upload_rows(
    device: Device, values: Floats, use: str, *, layers: int = 1, width: int | None = None
) -> Tensor:
    """A rows tensor that holds `values` [rows, columns]."""
    rows, columns = values.shape
    tensor = allocate_rows(device, rows, columns, use, layers=layers, width=width)
    write_rows(tensor, values)
    return tensor


def write_rows(tensor: Tensor, values: Floats) -> None:
    """Put `values` [rows, columns] into a rows tensor of that shape."""
    texels = tensor.rows.pack(values)
    for layer in range(tensor.rows.layers):
        _upload(tensor, tensor.rows.left, 0, layer, texels[layer])


def read_rows(device: Device, tensor: Tensor, first: int = 0, count: int | None = None) -> Floats:
    """Elements [count, columns] of a rows tensor from row `first` on; waits for the device."""
    grid = tensor.rows
    last = grid.rows if count is None else first + count
    first_group = first // grid.layers
    groups = ceil_div(last, grid.layers) - first_group
    texels = np.stack(
        [
            device.read_texels(
                tensor.texture,
                layer,
                grid.left,
                first_group * grid.fold,
                grid.width,
                groups * grid.fold,
            )
            for layer in range(grid.layers)
        ]
    )
    part = RowsGrid(groups * grid.layers, grid.columns, grid.width, grid.layers)
    skip = first - first_group * grid.layers
    return part.unpack(texels)[skip : skip + last - first]


def upload_matrix(
    device: Device,
    layout: Layout,
    k: int,
    n: int,
    pieces: Iterable[tuple[int, Floats]],
    use: str = "weights",
) -> Matrix:
    """A weight matrix from column pieces: (first column, [k, columns] float32).

    Pieces start at multiples of four and follow each other; only one is in host memory at a time.

    Raises:
        DeviceError: too large for the device.
    """
    steps = upload_packed(device, layout, k, n, packed_pieces(layout, pieces), use)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            matrix: Matrix = end.value
            return matrix


def packed_pieces(layout: Layout, pieces: Iterable[tuple[int, Floats]]) -> Iterator[PackedPiece]:
    """Column pieces in a layout: (first column, texels, scales)."""
    for first, values in pieces:
        yield (first, *layout.pack(_padded(values, layout.k_multiple)))


def upload_packed(
    device: Device,
    layout: Layout,
    k: int,
    n: int,
    pieces: Iterable[PackedPiece],
    use: str = "weights",
) -> Generator[None, None, Matrix]:
    """`upload_matrix` of pieces that are in their layout already, a step each.

    Raises:
        DeviceError: too large for the device.
    """
    texels_n = ceil_div(n, 4) * (4 // layout.n_per_texel)
    texels_k = ceil_div(k, layout.k_multiple) * layout.k_multiple // layout.k_per_texel
    grid = weight_grid(texels_n, texels_k, device.limits.max_side, device.limits.max_layers)
    weights = _tensor(device, layout.format, grid, grid.width, grid.height, grid.layers, use)
    scales: Tensor | None = None
    if layout.group:
        scales = allocate_rows(device, layout.groups(k), n, use)
    for first, texels, piece_scales in pieces:
        for part in grid.pieces(first // layout.n_per_texel, texels):
            _upload(weights, *part)
        if scales is not None and piece_scales is not None:
            _upload_scales(scales, first // 4, piece_scales)
        yield
    return Matrix(weights, scales, layout, k, n)


def allocate_blocks(device: Device, grid: BlockGrid, format_name: str, use: str) -> Tensor:
    """A history, contents undefined.

    Raises:
        DeviceError: the GPU has no room for it.
    """
    return _tensor(
        device, format_name, grid, grid.texture_width, grid.height, grid.layers, use
    )


def row_attachments(tensor: Tensor) -> Attachments:
    """All layers of a rows tensor as colour attachments: one fragment writes a whole row group."""
    return tuple((tensor.texture, layer) for layer in range(tensor.rows.layers))


def release(device: Device, *tensors: Tensor | None) -> None:
    """Hand textures back to the pool."""
    for tensor in tensors:
        if tensor is not None:
            device.pool.release(tensor.texture)


def _tensor(
    device: Device,
    format_name: str,
    grid: RowsGrid | WeightGrid | BlockGrid,
    width: int,
    height: int,
    layers: int,
    use: str,
) -> Tensor:
    texture = device.pool.acquire(format_name, width, height, layers, use)
    return Tensor(texture, grid, format_name, nbytes((format_name, width, height, layers)))


def _padded(values: Floats, k_multiple: int) -> Floats:
    """[k, n] with zeros added so that k is a multiple of `k_multiple` and n of four."""
    k, n = values.shape
    padding = (-k % k_multiple, -n % 4)
    if padding == (0, 0):
        return values
    return np.pad(values, ((0, padding[0]), (0, padding[1])))


def _upload_scales(scales: Tensor, first4: int, values: Floats) -> None:
    """Put scales [groups, n] of the columns from 4 * first4 on into their rows tensor."""
    grid = scales.rows
    for group, row in enumerate(values.reshape(len(values), -1, 4)):
        at = 0
        while at < len(row):
            line, x = divmod(first4 + at, grid.width)
            count = min(grid.width - x, len(row) - at)
            _upload(scales, x, group * grid.fold + line, 0, row[None, at : at + count])
            at += count


@device_errors()
def _upload(tensor: Tensor, x: int, y: int, layer: int, texels: NDArray[Any]) -> None:
    fmt = FORMATS[tensor.format]
    height, width = texels.shape[:2]
    data = np.ascontiguousarray(texels)
    GL.glBindTexture(GL.GL_TEXTURE_2D_ARRAY, tensor.texture)
    GL.glTexSubImage3D(
        GL.GL_TEXTURE_2D_ARRAY, 0, x, y, layer, width, height, 1, fmt.pixel, fmt.component, data
    )


@device_errors()
def _clear(device: Device, tensor: Tensor) -> None:
    """Zero a tensor: what a cache row holds before it is written must not be NaN, since masked
    keys multiply it by zero."""
    for layer in range(tensor.rows.layers):
        framebuffer = device.framebuffers.get(((tensor.texture, layer),))
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        GL.glViewport(0, 0, tensor.rows.texture_width, tensor.rows.height)
        GL.glClearBufferfv(GL.GL_COLOR, 0, (GL.GLfloat * 4)(0, 0, 0, 0))
