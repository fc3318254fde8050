"""How much memory the GPU has, where the driver says so: GL itself has no word for it."""

from __future__ import annotations

from OpenGL import GL

from gpt2gl.gl.faults import device_errors
from gpt2gl.gl.limits import extensions

# https://registry.khronos.org/OpenGL/extensions/NVX/NVX_gpu_memory_info.txt and
# https://registry.khronos.org/OpenGL/extensions/ATI/ATI_meminfo.txt; all values are in KiB.
TOTAL_AVAILABLE_NVX = 0x9048
TEXTURE_FREE_ATI = 0x87FC


@device_errors()
def capacity() -> int | None:
    """Bytes that textures of the current context can have in all; None where no one knows.

    NVX counts all memory the GPU can use, ATI what is free of it now.
    """
    offered = extensions()
    if "GL_NVX_gpu_memory_info" in offered:
        return _kibibytes(TOTAL_AVAILABLE_NVX, 1)
    if "GL_ATI_meminfo" in offered:
        return _kibibytes(TEXTURE_FREE_ATI, 4)
    return None


def _kibibytes(name: int, values: int) -> int | None:
    """The first of the values that a query gives; 0 and less mean that the driver does not know."""
    found = (GL.GLint * values)()
    GL.glGetIntegerv(name, found)
    return int(found[0]) * 1024 if found[0] > 0 else None
