"""The key-value cache: for each layer one texture, row p holding k and v of position p."""

from __future__ import annotations

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


def allocate_cache(device: Device, dims: Dims, n_layer: int) -> KVCache:
    """An empty cache for all positions, rows spread over as many layers as a fragment writes.

    Raises:
        DeviceError: the GPU has no room for it.
    """
    rows = device.limits.rows_per_fragment
    slots = ceil_div(dims.n_positions, rows) * rows
    columns = 2 * 4 * dims.ep4
    width, _ = single_row_shape(columns)
    return KVCache(
        [
            allocate_rows(device, slots, columns, "kv_cache", layers=rows, width=width, clear=True)
            for _ in range(n_layer)
        ]
    )
