"""What a packed matrix stands for, decoded from its texels without the engine's shaders."""

from __future__ import annotations

import numpy as np

from gpt2gl.gl.layouts import INT4_GROUP, LAYOUTS
from tests.engine import Array, Floats


def dequantised(layout: str, w: Floats) -> Floats:
    """`w` [K, N] packed in a layout and decoded again, [K, N]."""
    k, n = w.shape
    multiple = LAYOUTS[layout].k_multiple
    padded = np.pad(w, ((0, -k % multiple), (0, -n % 4)))
    texels, scales = LAYOUTS[layout].pack(padded)
    # [N texels, K texels, components] -> [K texels, N texels, components]
    decoded = DECODERS[layout](np.ascontiguousarray(texels.swapaxes(0, 1)), scales)
    assert decoded.shape == padded.shape
    return decoded[:k, :n].astype(np.float32)


def _plain(texels: Array, _: Floats | None) -> Array:
    """[K, texels, columns of a texel] -> [K, N]."""
    return texels.reshape(len(texels), -1)


def _f16(texels: Array, _: Floats | None) -> Array:
    """[K / 2, N / 4, 4] of uint32: eight halves, first those of the even row."""
    halves = texels.view(np.float16)
    pairs = halves.reshape(*texels.shape[:2], 2, 4).transpose(0, 2, 1, 3)
    return pairs.reshape(2 * len(texels), -1)


def _int8(texels: Array, scales: Floats | None) -> Array:
    """[K / 4, N / 4, 4] of int32: component k, byte n."""
    assert scales is not None
    four = texels.view(np.int8).reshape(*texels.shape[:2], 4, 4)
    return four.transpose(0, 2, 1, 3).reshape(4 * len(texels), -1) * scales


def _int4(texels: Array, scales: Floats | None) -> Array:
    """[K / 8, N / 4, 4] of int32: component k / 2, nibble 4 (k % 2) + n."""
    assert scales is not None
    shifts = np.arange(0, 32, 4, dtype=np.uint32)
    nibbles = (texels.view(np.uint32)[..., None] >> shifts) & np.uint32(15)
    signed = np.where(nibbles > 7, nibbles.astype(np.int32) - 16, nibbles.astype(np.int32))
    eight = signed.reshape(*texels.shape[:2], 8, 4).transpose(0, 2, 1, 3)
    return eight.reshape(8 * len(texels), -1) * np.repeat(scales, INT4_GROUP, axis=0)


DECODERS = {"r32f": _plain, "rgba32f": _plain, "f16": _f16, "int8": _int8, "int4": _int4}
