"""Framebuffers, one for each set of texture layers that is drawn to, made once and kept."""

from __future__ import annotations

from OpenGL import GL

from gpt2gl.errors import DeviceError
from gpt2gl.gl.faults import device_errors, release

Attachments = tuple[tuple[int, int], ...]  # (texture, layer) of each colour attachment
# In place of a layer: the texture is a plain 2-D one, as a window toolkit shows.
FLAT = -1

_STATUS = {
    GL.GL_FRAMEBUFFER_INCOMPLETE_ATTACHMENT: "incomplete attachment",
    GL.GL_FRAMEBUFFER_UNSUPPORTED: "unsupported combination of formats",
    GL.GL_FRAMEBUFFER_UNDEFINED: "no framebuffer",
}


class Framebuffers:
    """Owns the framebuffers of a device, keyed by what is attached."""

    def __init__(self) -> None:
        self._made: dict[Attachments, int] = {}

    @property
    def live(self) -> int:
        return len(self._made)

    def get(self, attachments: Attachments) -> int:
        """The framebuffer that draws into the given texture layers.

        Raises:
            DeviceError: the driver cannot draw to float textures like these.
        """
        if attachments not in self._made:
            self._made[attachments] = _create(attachments)
        return self._made[attachments]

    def forget(self, textures: set[int]) -> None:
        """Delete the framebuffers that any of these textures is attached to."""
        for attachments in [a for a in self._made if any(t in textures for t, _ in a)]:
            release((GL.glDeleteFramebuffers, (1, [self._made.pop(attachments)])))

    def close(self) -> None:
        for framebuffer in self._made.values():
            release((GL.glDeleteFramebuffers, (1, [framebuffer])))
        self._made.clear()


@device_errors()
def _create(attachments: Attachments) -> int:
    framebuffer = int(GL.glGenFramebuffers(1))
    try:
        _attach(framebuffer, attachments)
    except BaseException:
        release((GL.glDeleteFramebuffers, (1, [framebuffer])))
        raise
    return framebuffer


def _attach(framebuffer: int, attachments: Attachments) -> None:
    GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
    points = [GL.GL_COLOR_ATTACHMENT0 + i for i in range(len(attachments))]
    for point, (texture, layer) in zip(points, attachments, strict=True):
        if layer == FLAT:
            GL.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, point, GL.GL_TEXTURE_2D, texture, 0)
        else:
            GL.glFramebufferTextureLayer(GL.GL_FRAMEBUFFER, point, texture, 0, layer)
    GL.glDrawBuffers(len(points), points)
    status = GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER)
    if status != GL.GL_FRAMEBUFFER_COMPLETE:
        reason = _STATUS.get(status, f"status {status:#x}")
        raise DeviceError(
            f"the driver cannot draw to float textures ({reason}): run 'gpt2gl doctor'"
        )
