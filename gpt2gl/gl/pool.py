"""Textures that are handed out, taken back and counted."""

from __future__ import annotations

from collections import Counter

from OpenGL import GL

from gpt2gl.errors import DeviceError
from gpt2gl.gl.faults import CONTEXT_LOST, device_errors, release
from gpt2gl.gl.formats import FORMATS

Shape = tuple[str, int, int, int]


class TexturePool:
    """Owns every texture of a device.

    `release` keeps a texture for the next request of the same format and size; `close` deletes
    all. `bytes_by_use` says how much each use ("weights", "kv_cache", "scratch") holds now.
    """

    def __init__(self) -> None:
        self._free: dict[Shape, list[int]] = {}
        self._live: dict[int, tuple[Shape, str]] = {}
        self.bytes_by_use: Counter[str] = Counter()

    @property
    def live(self) -> int:
        """Textures handed out and not yet released."""
        return len(self._live)

    @property
    def total(self) -> int:
        """Textures that exist on the device, handed out or waiting."""
        return self.live + sum(len(textures) for textures in self._free.values())

    def acquire(self, format_name: str, width: int, height: int, layers: int, use: str) -> int:
        """A texture of the given texels, contents undefined.

        Raises:
            DeviceError: the driver is out of memory.
        """
        shape = (format_name, width, height, layers)
        waiting = self._free.get(shape)
        texture = waiting.pop() if waiting else _create(shape)
        self._live[texture] = (shape, use)
        self.bytes_by_use[use] += nbytes(shape)
        return texture

    def release(self, texture: int) -> None:
        shape, use = self._live.pop(texture)
        self.bytes_by_use[use] -= nbytes(shape)
        self._free.setdefault(shape, []).append(texture)

    def trim(self) -> list[int]:
        """Delete the textures that wait to be reused; returns their names."""
        waiting = [texture for textures in self._free.values() for texture in textures]
        self._free.clear()
        if waiting:
            release((GL.glDeleteTextures, (len(waiting), waiting)))
        return waiting

    def close(self) -> None:
        for texture in list(self._live):
            self.release(texture)
        self.trim()


def nbytes(shape: Shape) -> int:
    """Bytes a texture of this shape takes, without the driver's own padding."""
    format_name, width, height, layers = shape
    return width * height * layers * FORMATS[format_name].texel_bytes


@device_errors()
def _create(shape: Shape) -> int:
    texture = int(GL.glGenTextures(1))
    try:
        _set_up(texture, shape)
    except BaseException:
        release((GL.glDeleteTextures, (1, [texture])))
        raise
    return texture


def _set_up(texture: int, shape: Shape) -> None:
    """Give a new texture its size, and the sampling under which integer and float textures are
    complete: by default it would be mipmapped and linear."""
    format_name, width, height, layers = shape
    fmt = FORMATS[format_name]
    target = GL.GL_TEXTURE_2D_ARRAY
    GL.glBindTexture(target, texture)
    for name in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
        GL.glTexParameteri(target, name, GL.GL_NEAREST)
    for name in (GL.GL_TEXTURE_WRAP_S, GL.GL_TEXTURE_WRAP_T):
        GL.glTexParameteri(target, name, GL.GL_CLAMP_TO_EDGE)
    GL.glTexParameteri(target, GL.GL_TEXTURE_MAX_LEVEL, 0)
    try:
        GL.glTexImage3D(
            target, 0, fmt.internal, width, height, layers, 0, fmt.pixel, fmt.component, None
        )
    except GL.GLError as error:
        if error.err == CONTEXT_LOST:
            raise
        raise DeviceError(
            f"the GPU has no room for a texture of {nbytes(shape) / 2**20:.0f} MB"
            f" ({width} x {height} x {layers} {format_name});"
            " close other programs or use a smaller model or precision"
        ) from error
