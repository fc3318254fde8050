"""Weight layouts: how a matrix [K, N] is put into texels, one registry row each.

The reading half of a layout is `glsl/lib/weights_<name>.glsl`; the two are compared with each
other by the layout tests. Activations and sums are float32 in every layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    def defines(self, k: int, splits: int = 1, rows: int = 1) -> dict[str, object]:
        """What a shader needs to know of a matrix with K rows, summed in `splits` slices.

        A slice is GROUPS spans of SPAN4 texels of K; a span lies within one scale group. With
        several `rows` a fragment a turn of the loop has enough to do as it is.
        """
        group4 = self._group4(k)
        groups = max(1, self.groups(k))
        span4 = group4 if groups > 1 else group4 // splits
        unroll = next(u for u in UNROLL if span4 % (u * self._block4) == 0) if rows == 1 else 1
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
    halves = w.astype(np.float16, order="C")
    return _by_column(halves, np.uint64).view(np.uint32).reshape(_texels(w, 2)), None


# Weights below this are nothing: the reciprocal of their scale would not be finite.
TINY = np.float32(1e-30)


def _pack_int8(w: Floats) -> Packed:
    """Symmetric, one scale per column: component k % 4, byte n % 4."""
    peak = np.maximum(w.max(axis=0), -w.min(axis=0))
    scale = np.maximum(peak, TINY) / np.float32(127)
    q = np.empty(w.shape, np.int8)
    for rows, block in _blocks(w):
        block /= scale
        q[rows] = np.rint(block, out=block)
    return _by_column(q, np.int32).reshape(_texels(w, 4)), scale[None, :]


INT4_GROUP = 32


def _pack_int4(w: Floats) -> Packed:
    """Signed 4-bit values, a scale per column and 32 rows: component k % 8 // 2, nibble
    4 (k % 2) + n % 4."""
    q = np.empty(w.shape, np.int8)
    scales = np.empty((len(w) // INT4_GROUP, w.shape[1]), np.float32)
    for group, (rows, block) in enumerate(_blocks(w)):
        scales[group] = _int4_scale(block)
        q[rows] = _rounded(block, scales[group])
    nibbles = q.view(np.uint8) & np.uint8(15)
    pairs = nibbles[:, 0::2] | nibbles[:, 1::2] << np.uint8(4)
    return _by_column(pairs, np.uint16).view(np.int32).reshape(_texels(w, 8)), scales


# Fractions of the scale that just holds the largest value: below 1 that value is clipped, and all
# others are rounded less. More candidates do not lower the perplexity of a model measurably.
INT4_SHRINKS = (1.0, 0.9)


def _int4_scale(group: Floats) -> Floats:
    """[32, n] -> [n]: the scale of least squared error that a few candidates lead to.

    A candidate gives integers q; the scale that fits these best is <q, w> / <q, q> and leaves the
    error <w, w> - <q, w>^2 / <q, q>. The value of largest magnitude is put on -8, the end with
    one more step, hence scales may be negative.
    """
    high, low = group.max(axis=0), group.min(axis=0)
    peak = np.where(high > -low, high, low)
    widest = np.where(np.abs(peak) < TINY, np.float32(1), peak / np.float32(-8))
    scale: Floats = widest
    gain = np.zeros_like(widest)
    for shrink in INT4_SHRINKS:
        q = _rounded(group, widest * np.float32(shrink))
        qw, qq = np.einsum("kn,kn->n", q, group), np.einsum("kn,kn->n", q, q)
        fitted = qw / np.maximum(qq, np.float32(1))
        scale = np.where(fitted * qw > gain, fitted, scale)
        gain = np.maximum(fitted * qw, gain)
    return scale


def _rounded(group: Floats, scale: Floats) -> Floats:
    """[32, n] / [n] as whole numbers from -8 to 7."""
    q: Floats = group * (np.float32(1) / scale)
    np.rint(q, out=q)
    np.clip(q, np.float32(-8), np.float32(7), out=q)
    return q


def _blocks(w: Floats) -> Iterator[tuple[slice, Floats]]:
    """Copies of 32 rows of K at a time: what a processor's cache holds."""
    for first in range(0, len(w), INT4_GROUP):
        rows = slice(first, first + INT4_GROUP)
        yield rows, np.array(w[rows], order="C")


def _by_column(values: NDArray[np.generic], word: type[np.generic]) -> NDArray[np.generic]:
    """[K, n] -> [n / 4, K] words, each with the four columns of one row of K, lowest first."""
    return np.ascontiguousarray(values.view(word).T)


def _texels(w: Floats, k_per_texel: int) -> tuple[int, int, int]:
    return w.shape[1] // 4, len(w) // k_per_texel, 4


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
