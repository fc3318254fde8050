"""Plain 2-D textures with eight bits a colour, which a window shows, and the values of a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from gpt2gl.errors import DeviceError
from gpt2gl.gl.call import Block
from gpt2gl.gl.device import FIRST_BLOCK_BINDING, Device
from gpt2gl.gl.faults import device_errors, release
from gpt2gl.gl.framebuffers import FLAT

# Below the engine's own, above those of a window toolkit.
VIEW_BINDING = FIRST_BLOCK_BINDING - 1
VIEW_VALUES = 16


@dataclass(frozen=True)
class Picture:
    """A texture of kind GL_TEXTURE_2D, RGBA8, not premultiplied: its GL name and size in pixels.

    The first line of the texture is the top of the picture.
    """

    texture: int
    width: int
    height: int


class Pictures:
    """Owns pictures and the uniform block with the values that they are drawn by.

    Their bytes are counted in the device's pool under `use`.
    """

    def __init__(self, device: Device, use: str) -> None:
        self.device = device
        self.use = use
        self._live: list[Picture] = []
        with device_errors():
            device.take()
            buffer = int(GL.glGenBuffers(1))
            self.block = Block(buffer, VIEW_BINDING, 4 * VIEW_VALUES)
            GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, buffer)
            GL.glBufferData(GL.GL_UNIFORM_BUFFER, self.block.nbytes, None, GL.GL_DYNAMIC_DRAW)

    @property
    def live(self) -> int:
        """Pictures that exist."""
        return len(self._live)

    @device_errors()
    def make(self, width: int, height: int, *, linear: bool = False) -> Picture:
        """A picture, contents undefined.

        Raises:
            DeviceError: larger than the device's textures, or no room.
        """
        side = self.device.limits.max_side
        if max(width, height) > side:
            raise DeviceError(
                f"a picture of {width} x {height} pixels exceeds this driver's textures of side"
                f" {side}: ask for a smaller one"
            )
        self.device.take()
        picture = Picture(int(GL.glGenTextures(1)), width, height)
        self._live.append(picture)
        self._count(picture, 1)
        target, filtering = GL.GL_TEXTURE_2D, GL.GL_LINEAR if linear else GL.GL_NEAREST
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindTexture(target, picture.texture)
        for name in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            GL.glTexParameteri(target, name, filtering)
        for name in (GL.GL_TEXTURE_WRAP_S, GL.GL_TEXTURE_WRAP_T):
            GL.glTexParameteri(target, name, GL.GL_CLAMP_TO_EDGE)
        GL.glTexParameteri(target, GL.GL_TEXTURE_MAX_LEVEL, 0)
        GL.glTexImage2D(
            *(target, 0, GL.GL_RGBA8, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, None)
        )
        GL.glBindTexture(target, 0)
        return picture

    def discard(self, picture: Picture) -> None:
        """Delete a picture and its framebuffer."""
        self.device.take()
        self._live.remove(picture)
        self._count(picture, -1)
        self.device.framebuffers.forget({picture.texture})
        release((GL.glDeleteTextures, (1, [picture.texture])))

    @device_errors()
    def set_view(self, values: Sequence[float]) -> None:
        """Tell the shaders what the next draw shows; see glsl/lib/view.glsl."""
        self.device.take()
        data = np.zeros(VIEW_VALUES, np.float32)
        data[: len(values)] = values
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, self.block.buffer)
        GL.glBufferSubData(GL.GL_UNIFORM_BUFFER, 0, data.nbytes, data)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, VIEW_BINDING, self.block.buffer)

    @device_errors()
    def read(self, picture: Picture) -> NDArray[np.uint8]:
        """[height, width, 4] pixels; waits for the device. For saving and for tests."""
        self.device.take()
        pixels = np.empty((picture.height, picture.width, 4), np.uint8)
        framebuffer = self.device.framebuffers.get(((picture.texture, FLAT),))
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        GL.glReadPixels(
            *(0, 0, picture.width, picture.height, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, pixels)
        )
        return pixels

    def _count(self, picture: Picture, sign: int) -> None:
        self.device.pool.bytes_by_use[self.use] += sign * 4 * picture.width * picture.height

    def close(self) -> None:
        """Delete all of it; safe to call twice."""
        for picture in list(self._live):
            self.discard(picture)
        if self.block.buffer:
            self.device.take()
            release((GL.glDeleteBuffers, (1, [self.block.buffer])))
            self.block = Block(0, VIEW_BINDING, 0)
