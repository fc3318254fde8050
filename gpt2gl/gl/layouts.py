"""Weight layouts: how a matrix [K, N] is put into texels, one registry row each.

The reading half of a layout is `glsl/lib/weights_<name>.glsl`; the two are compared with each
other by the layout tests. Activations and sums are float32 in every layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpt2gl.gl.tensor import ceil_div

Floats = NDArray[np.float32]
Packed = tuple[NDArray[np.generic], Floats | None]


@dataclass(frozen=True)
class Layout:
    """One way of storing weights.

    Attributes:
        format: texture format of the texels.
        n_per_texel, k_per_texel: columns and rows of the matrix that share a texel.
        group: rows of K that share a scale; 0 where there are no scales, -1 for all of K.
        fold_ln: whether LayerNorm's gain and bias are folded into the next matrix at load.
            The plain layout keeps them apart and so checks the folding of the others.
        pack: [K, n] float32 (K padded to `k_multiple`, n to 4) -> texels
            [n / n_per_texel, K / k_per_texel, components] and scales [groups, n] or None.
    """

    name: str
    format: str
    n_per_texel: int
    k_per_texel: int
    group: int
    fold_ln: bool
    pack: Callable[[Floats], Packed]

    @property
    def k_multiple(self) -> int:
        """K is padded with zeros to a multiple of this."""
        return max(4, self.k_per_texel, self.group)

    @property
    def fetches(self) -> int:
        """Texel fetches for four columns of four rows of K."""
        return max(1, 16 // (self.n_per_texel * self.k_per_texel))

    def groups(self, k: int) -> int:
        """Scales along K for each column."""
        if self.group == 0:
            return 0
        return 1 if self.group < 0 else ceil_div(k, self.group)

    def defines(self, k: int, splits: int = 1) -> dict[str, object]:
        """What a shader needs to know of a matrix with K rows, summed in `splits` slices.

        A slice is GROUPS spans of SPAN4 texels of K; a span lies within one scale group.
        """
        group4 = self._group4(k)
        groups = max(1, self.groups(k))
        span4 = group4 if groups > 1 else group4 // splits
        unroll = next(u for u in UNROLL if span4 % (u * self._block4) == 0)
        return {
            "LAYOUT": self.name,
            "GROUP4": group4,
            "GROUPS": groups // splits if groups > 1 else 1,
            "SPAN4": span4,
            "UNROLL": unroll,
            "SCALED": int(self.group != 0),
        }

    def splits(self, k: int, most: int) -> int:
        """The largest number of equal slices up to `most` that K can be cut into."""
        groups = self.groups(k)
        parts = groups if groups > 1 else self._group4(k) // self._block4
        return next(s for s in range(most, 0, -1) if parts % s == 0)

    @property
    def _block4(self) -> int:
        return max(1, self.k_per_texel // 4)

    def _group4(self, k: int) -> int:
        """K in texels of a scale group; without groups, all of K padded to whole blocks."""
        if self.group > 0:
            return self.group // 4
        return ceil_div(ceil_div(k, 4), self._block4) * self._block4


# Blocks of K that a product handles in one turn of its loop, the first that divides K.
UNROLL = (8, 4, 2, 1)


def _pack_r32f(w: Floats) -> Packed:
    return w.T[:, :, None], None


def _pack_rgba32f(w: Floats) -> Packed:
    return w.reshape(w.shape[0], -1, 4).transpose(1, 0, 2), None


def _pack_f16(w: Floats) -> Packed:
    """Two rows of K and four columns a texel: component 2 (k % 2) + n % 4 // 2, low half n even."""
    halves = w.astype(np.float16).reshape(-1, 2, w.shape[1] // 4, 4).transpose(2, 0, 1, 3)
    return np.ascontiguousarray(halves).reshape(*halves.shape[:2], 8).view(np.uint32), None


def _pack_int8(w: Floats) -> Packed:
    """Symmetric, one scale per column: component k % 4, byte n % 4."""
    scale = np.maximum(np.abs(w).max(axis=0), np.float32(1e-30)) / np.float32(127)
    q = np.rint(w / scale).astype(np.int8)
    blocks = q.reshape(-1, 4, w.shape[1] // 4, 4).transpose(2, 0, 1, 3)
    texels = np.ascontiguousarray(blocks).reshape(*blocks.shape[:2], 16).view(np.int32)
    return texels, scale[None, :].astype(np.float32)


INT4_GROUP = 32


def _pack_int4(w: Floats) -> Packed:
    """Signed 4-bit values, a scale per column and 32 rows: component k % 8 // 2, nibble
    4 (k % 2) + n % 4."""
    groups = w.reshape(-1, INT4_GROUP, w.shape[1])
    scale = _int4_scale(groups)
    q = np.clip(np.rint(groups / scale), -8, 7).astype(np.int32).reshape(w.shape) & 15
    blocks = q.reshape(-1, 4, 2, w.shape[1] // 4, 4).transpose(3, 0, 1, 2, 4)
    nibbles = blocks.reshape(*blocks.shape[:3], 8).astype(np.uint32)
    shifts = np.arange(0, 32, 4, dtype=np.uint32)
    texels = np.bitwise_or.reduce(nibbles << shifts, axis=-1).view(np.int32)
    return texels, np.ascontiguousarray(scale[:, 0])


def _int4_scale(groups: Floats) -> Floats:
    """[G, 32, n] -> [G, 1, n]: of a few candidate scales the one with the least squared error.

    The value of largest magnitude is put on -8, the end with one more step, hence the sign.
    """
    peak = np.take_along_axis(groups, np.abs(groups).argmax(axis=1, keepdims=True), axis=1)
    best = np.where(peak == 0, np.float32(1), peak / np.float32(-8)).astype(np.float32)
    least = np.full(best.shape, np.inf, np.float32)
    chosen: Floats = best
    for shrink in (1.0, 0.95, 0.9, 0.85, 0.8, 0.75):
        scale = best * np.float32(shrink)
        error = np.square(np.clip(np.rint(groups / scale), -8, 7) * scale - groups)
        total = error.sum(axis=1, keepdims=True)
        chosen = np.where(total < least, scale, chosen).astype(np.float32)
        least = np.minimum(total, least)
    return chosen


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("r32f", "r32f", 1, 1, 0, False, _pack_r32f),
        Layout("rgba32f", "rgba32f", 4, 1, 0, True, _pack_rgba32f),
        Layout("f16", "rgba32ui", 4, 2, 0, True, _pack_f16),
        Layout("int8", "rgba32i", 4, 4, -1, True, _pack_int8),
        Layout("int4", "rgba32i", 4, 8, INT4_GROUP, True, _pack_int4),
    )
}

# What the command line and the window call a layout.
PRECISIONS = {
    "fp32": "rgba32f",
    "fp32-plain": "r32f",
    "fp16": "f16",
    "int8": "int8",
    "int4": "int4",
}
