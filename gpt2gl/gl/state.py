"""The state that passes rely on, and what a window toolkit expects to get back."""

from __future__ import annotations

from OpenGL import GL

from gpt2gl.gl.call import GLCalls

# Of these a pass has an input each at most.
TEXTURE_UNITS = 8
# How rows lie in host memory and in uniform blocks: one after the other, without gaps.
PIXEL_STORE = {
    GL.GL_PACK_ALIGNMENT: 4,
    GL.GL_PACK_ROW_LENGTH: 0,
    GL.GL_PACK_SKIP_ROWS: 0,
    GL.GL_PACK_SKIP_PIXELS: 0,
    GL.GL_UNPACK_ALIGNMENT: 4,
    GL.GL_UNPACK_ROW_LENGTH: 0,
    GL.GL_UNPACK_IMAGE_HEIGHT: 0,
    GL.GL_UNPACK_SKIP_ROWS: 0,
    GL.GL_UNPACK_SKIP_PIXELS: 0,
    GL.GL_UNPACK_SKIP_IMAGES: 0,
}
CAPABILITIES = (
    GL.GL_BLEND,
    GL.GL_SCISSOR_TEST,
    GL.GL_DEPTH_TEST,
    GL.GL_CULL_FACE,
    GL.GL_STENCIL_TEST,
    GL.GL_RASTERIZER_DISCARD,
)


def take_over(vertex_array: int) -> None:
    """Set every state that a pass depends on, but for buffers bound to blocks."""
    for capability in CAPABILITIES:
        GL.glDisable(capability)
    GL.glColorMask(True, True, True, True)
    GL.glBlendFunc(GL.GL_ONE, GL.GL_ONE)
    GL.glBlendEquation(GL.GL_FUNC_ADD)
    GL.glBindVertexArray(vertex_array)
    for name, value in PIXEL_STORE.items():
        GL.glPixelStorei(name, value)
    # A sampler object overrides the filters of the texture in its unit.
    for unit in range(TEXTURE_UNITS):
        GL.glBindSampler(unit, 0)
    for buffer in (GL.GL_PIXEL_PACK_BUFFER, GL.GL_PIXEL_UNPACK_BUFFER):
        GL.glBindBuffer(buffer, 0)


def hand_back() -> GLCalls:
    """What leaves no framebuffer, program, vertex array, buffer or texture of ours bound."""
    return (
        (GL.glBindFramebuffer, (GL.GL_FRAMEBUFFER, 0)),
        (GL.glUseProgram, (0,)),
        (GL.glBindVertexArray, (0,)),
        (GL.glBindBuffer, (GL.GL_PIXEL_PACK_BUFFER, 0)),
        (GL.glActiveTexture, (GL.GL_TEXTURE0,)),
        (GL.glBindTexture, (GL.GL_TEXTURE_2D_ARRAY, 0)),
    )
