"""The key-value cache: for each layer one texture, row p holding k and v of position p."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from gpt2gl.gl.device import Device
from gpt2gl.gl.storage import allocate_rows, release
from gpt2gl.gl.tensor import Tensor, ceil_div, single_row_shape
from gpt2gl.passes import Dims


@dataclass
class KVCache:
    """Keys and values of every layer, [n_positions, 2 * heads] each.

    The projection passes write their rows straight into these textures; nothing is ever copied.
    Rows beyond the valid ones hold zeros or what an earlier text left there, and are masked.
    """

    layers: list[Tensor]

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.layers)

    def close(self, device: Device) -> None:
        release(device, *self.layers)
        self.layers.clear()


def allocate_cache(
    device: Device, dims: Dims, n_layer: int, rows: int, positions: int | None = None
) -> KVCache:
    """An empty cache, its rows spread over `rows` layers, as many as a fragment writes.

    With `positions`, a cache of tails instead: a group of rows, one a text, for each position.

    Raises:
        DeviceError: the GPU has no room for it.
    """
    steps = allocate_steps(device, dims, n_layer, rows, positions)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            cache: KVCache = end.value
            return cache


def allocate_steps(
    device: Device, dims: Dims, n_layer: int, rows: int, positions: int | None = None
) -> Generator[None, None, KVCache]:
    """`allocate_cache` a layer at a time: a driver in host memory has to touch all of it."""
    groups = ceil_div(dims.n_positions, rows) if positions is None else positions
    slots = groups * rows
    columns = 2 * 4 * dims.ep4
    width, _ = single_row_shape(columns)
    cache = KVCache([])
    for _ in range(n_layer):
        cache.layers.append(
            allocate_rows(device, slots, columns, "kv_cache", layers=rows, width=width, clear=True)
        )
        yield
    return cache
