"""The texture formats in use: what GL calls them, what a texel holds, which sampler reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from OpenGL import GL


@dataclass(frozen=True)
class Format:
    """A texture format: GL's three names for it, its sampler type in GLSL, NumPy type and size."""

    internal: int
    pixel: int
    component: int
    sampler: str
    dtype: type[np.generic]
    components: int

    @property
    def texel_bytes(self) -> int:
        return self.components * int(np.dtype(self.dtype).itemsize)


FORMATS = {
    "r32f": Format(GL.GL_R32F, GL.GL_RED, GL.GL_FLOAT, "sampler2DArray", np.float32, 1),
    "rgba32f": Format(GL.GL_RGBA32F, GL.GL_RGBA, GL.GL_FLOAT, "sampler2DArray", np.float32, 4),
    # Drawn to and read as floats; nothing is uploaded in it.
    "rgba16f": Format(
        GL.GL_RGBA16F, GL.GL_RGBA, GL.GL_HALF_FLOAT, "sampler2DArray", np.float16, 4
    ),
    "rgba32ui": Format(
        GL.GL_RGBA32UI, GL.GL_RGBA_INTEGER, GL.GL_UNSIGNED_INT, "usampler2DArray", np.uint32, 4
    ),
    "rgba32i": Format(GL.GL_RGBA32I, GL.GL_RGBA_INTEGER, GL.GL_INT, "isampler2DArray", np.int32, 4),
}
