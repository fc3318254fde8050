"""A tensor is a texture plus the one mapping from its logical indices to texels.

Every texture is a 2-D array texture; the mapping below has its GLSL twin in
`glsl/lib/tensor.glsl`, and nothing else in the tree knows where a number lies.

Rows (activations, the KV cache, position embeddings, biases): logical [rows, columns], four
columns a texel. Row t lies in layer t % layers, so that one fragment with several colour
attachments writes several rows. A row may be folded into `fold` lines of `width` texels, since
some rasterisers are slow on targets one line high.

Weights: logical [K, N], stored by a layout (see `layouts.py`) that puts some k and some n into
one texel. Whatever exceeds the largest texture side continues in the next layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import DeviceError

Array = NDArray[Any]


def ceil_div(a: int, b: int) -> int:
    """Smallest integer that is at least a / b."""
    return -(-a // b)


@dataclass(frozen=True)
class RowsGrid:
    """Where element [t, n] of a rows tensor lies.

    Texel (left + c % width, t // layers * fold + c // width, t % layers), component n % 4, with
    c = n // 4. `left` keeps columns free, to place a small tensor on a rasteriser's tile border.
    """

    rows: int
    columns: int
    width: int
    layers: int = 1
    left: int = 0

    @property
    def columns4(self) -> int:
        """Texels a row takes."""
        return ceil_div(self.columns, 4)

    @property
    def fold(self) -> int:
        """Lines of the texture one row takes."""
        return ceil_div(self.columns4, self.width)

    @property
    def groups(self) -> int:
        """Groups of `layers` rows that share their texel positions."""
        return ceil_div(self.rows, self.layers)

    @property
    def height(self) -> int:
        return self.groups * self.fold

    @property
    def texture_width(self) -> int:
        return self.left + self.width

    def glsl(self) -> str:
        return f"ivec4({self.width}, {self.fold}, {self.layers}, {self.left})"

    def pack(self, values: Array) -> NDArray[np.float32]:
        """[rows, columns] -> texels [layers, height, width, 4] from `left` on, zero-padded."""
        padded = np.zeros((self.groups * self.layers, self.fold * self.width * 4), np.float32)
        padded[: self.rows, : self.columns] = values
        grouped = padded.reshape(self.groups, self.layers, self.fold, self.width, 4)
        texels = grouped.transpose(1, 0, 2, 3, 4).reshape(self.layers, self.height, self.width, 4)
        return np.ascontiguousarray(texels)

    def unpack(self, texels: Array) -> NDArray[np.float32]:
        """Texels [layers, height, width, 4] -> [rows, columns]; the inverse of `pack`."""
        grouped = texels.reshape(self.layers, -1, self.fold, self.width, 4)
        rows = grouped.transpose(1, 0, 2, 3, 4).reshape(-1, self.fold * self.width * 4)
        return np.ascontiguousarray(rows[: self.rows, : self.columns], np.float32)


def rows_grid(
    rows: int,
    columns: int,
    max_side: int,
    *,
    layers: int = 1,
    width: int | None = None,
    left: int = 0,
) -> RowsGrid:
    """A rows grid as near to `width` texels wide as the largest texture side allows.

    Raises:
        DeviceError: the tensor does not fit any width.
    """
    columns4 = ceil_div(columns, 4)
    wanted = min(width or columns4, columns4, max_side)
    for candidate, margin in ((wanted, left), (min(columns4, max_side), 0)):
        grid = RowsGrid(rows, columns, candidate, layers, margin)
        if max(grid.height, grid.texture_width) <= max_side:
            return grid
    raise DeviceError(
        f"a tensor of {rows} x {columns} does not fit textures of side {max_side};"
        " use a smaller model or context"
    )


# A software rasteriser hands tiles of 64 x 64 to threads and shades blocks of 4 x 4.
TILE = 64
LINES = 4
MAX_ROW_WIDTH = 256


def single_row_shape(columns: int) -> tuple[int, int]:
    """Width and left margin that draw one row fastest: whole blocks of four lines, and a tile
    border in the middle, so that two threads share the work of even a small tensor."""
    columns4 = ceil_div(columns, 4)
    lines = LINES * ceil_div(columns4, LINES * MAX_ROW_WIDTH)
    width = 4 * ceil_div(columns4, 4 * lines)
    left = max(0, TILE - width // 2) // 4 * 4
    return width, left


@dataclass(frozen=True)
class WeightGrid:
    """Where texel (k, n) of a packed weight matrix lies.

    Texel (k % width, n % height, n // height * layers_k + k // width): a fragment walks along a
    line, which is how memory is read fastest (see docs/performance.md).
    """

    texels_n: int
    texels_k: int
    width: int
    height: int

    @property
    def layers_k(self) -> int:
        return ceil_div(self.texels_k, self.width)

    @property
    def layers(self) -> int:
        return ceil_div(self.texels_n, self.height) * self.layers_k

    def glsl(self) -> str:
        return f"ivec3({self.width}, {self.height}, {self.layers_k})"

    def pieces(self, first_n: int, texels: Array) -> list[tuple[int, int, int, Array]]:
        """Cut packed texels [n, texels_k, ...] that start at column `first_n` where the texture
        folds: a list of (x=0, y, layer, part), each part uploaded as one rectangle."""
        parts = []
        at = first_n
        while at < first_n + len(texels):
            column, y = divmod(at, self.height)
            count = min(self.height - y, first_n + len(texels) - at)
            strip = texels[at - first_n : at - first_n + count]
            for layer in range(self.layers_k):
                part = strip[:, layer * self.width : (layer + 1) * self.width]
                parts.append((0, y, column * self.layers_k + layer, part))
            at += count
        return parts


def weight_grid(texels_n: int, texels_k: int, max_side: int, max_layers: int) -> WeightGrid:
    """The grid of a packed matrix, folded into layers where a side is too long.

    Raises:
        DeviceError: more layers are needed than the driver has.
    """
    # Columns come in fours in every layout, so a fold must not cut four of them apart.
    height = min(texels_n, max_side - max_side % 4)
    grid = WeightGrid(texels_n, texels_k, min(texels_k, max_side), height)
    if grid.layers > max_layers:
        raise DeviceError(
            f"a weight matrix needs {grid.layers} texture layers and this driver has {max_layers};"
            " choose a smaller model or a packed precision such as int8"
        )
    return grid


@dataclass(frozen=True)
class BlockGrid:
    """Where a history keeps what belongs to position p of a text, at each of some points.

    Every position has a block of `width` x `lines` texels; texel (x, y) of the block, with y up to
    `parts * lines`, is ((p % across) * width + x, p // across * lines + y % lines,
    point * parts + y // lines). What does not fit below each other lies in further `parts`.
    """

    width: int
    lines: int
    capacity: int
    across: int
    parts: int
    points: int

    @property
    def texture_width(self) -> int:
        return self.width * self.across

    @property
    def height(self) -> int:
        return self.lines * ceil_div(self.capacity, self.across)

    @property
    def layers(self) -> int:
        return self.points * self.parts

    def glsl(self) -> str:
        """The width is left out: a shader asks for the texture's, and need not be compiled again
        when a history grows."""
        return f"ivec3({self.lines}, {self.across}, {self.parts})"

    def corner(self, position: int) -> tuple[int, int]:
        """The first texel of a position's block."""
        return position % self.across * self.width, position // self.across * self.lines


# Blocks side by side: no fewer than the rows that a fragment of a prompt's pass writes.
ACROSS = (8, 4, 2, 1)


def block_grid(
    width: int, lines: int, capacity: int, points: int, max_side: int, max_layers: int
) -> BlockGrid:
    """A grid for blocks of `width` x `lines` texels, cut into parts where they are too many.

    Raises:
        DeviceError: it does not fit the largest texture.
    """
    across = next((n for n in ACROSS if n * width <= max_side), 1)
    most = max_side // ceil_div(capacity, across)
    parts = ceil_div(lines, max(1, most))
    grid = BlockGrid(width, ceil_div(lines, parts), capacity, across, parts, points)
    if most < 1 or grid.texture_width > max_side or grid.layers > max_layers:
        raise DeviceError(
            f"the inspector cannot keep {capacity} positions in textures of side {max_side} with"
            f" {max_layers} layers: close the panel, or shorten the text"
        )
    return grid


@dataclass
class Tensor:
    """A texture on the device with the grid that says where its elements lie."""

    texture: int
    grid: RowsGrid | WeightGrid | BlockGrid
    format: str
    nbytes: int

    @property
    def rows(self) -> RowsGrid:
        """The grid of a rows tensor; the caller knows that it is one."""
        assert isinstance(self.grid, RowsGrid)
        return self.grid

    @property
    def blocks(self) -> BlockGrid:
        """The grid of a history; likewise."""
        assert isinstance(self.grid, BlockGrid)
        return self.grid
