"""What a driver can do, asked once. Tests lower the numbers to stand for weaker drivers."""

from __future__ import annotations

from dataclasses import dataclass

from OpenGL import GL

from gpt2gl.errors import DeviceError
from gpt2gl.gl.faults import device_errors

# Parts of the names of renderers that draw with the CPU.
SOFTWARE_NAMES = (
    *("llvmpipe", "softpipe", "swiftshader", "software", "swrast"),
    *("gdi generic", "microsoft basic render"),
)


@dataclass(frozen=True)
class Limits:
    """A driver's name and the limits that the engine plans by."""

    renderer: str
    vendor: str
    version: str
    glsl: str
    max_side: int
    max_layers: int
    max_draw_buffers: int
    max_uniform_block: int
    max_texture_units: int
    # ES draws to float textures without blending on them unless EXT_float_blend is there.
    blends_floats: bool = True

    @property
    def is_software(self) -> bool:
        """Whether the CPU draws: worth telling a user who expects a GPU."""
        return is_software_name(self.renderer)

    @property
    def rows_per_fragment(self) -> int:
        """Rows that one fragment writes when there are many: 8, or what the driver allows."""
        return 8 if self.max_draw_buffers >= 8 else 4


@device_errors()
def query() -> Limits:
    """The limits of the current context.

    Raises:
        DeviceError: the context is older than OpenGL 3.3 and OpenGL ES 3.0.
    """
    version = _string(GL.GL_VERSION)
    is_es = "OpenGL ES" in version
    limits = Limits(
        renderer=_string(GL.GL_RENDERER),
        vendor=_string(GL.GL_VENDOR),
        version=version,
        glsl="300 es" if is_es else "330 core",
        max_side=_integer(GL.GL_MAX_TEXTURE_SIZE),
        max_layers=_integer(GL.GL_MAX_ARRAY_TEXTURE_LAYERS),
        max_draw_buffers=min(
            _integer(GL.GL_MAX_DRAW_BUFFERS), _integer(GL.GL_MAX_COLOR_ATTACHMENTS)
        ),
        max_uniform_block=_integer(GL.GL_MAX_UNIFORM_BLOCK_SIZE),
        max_texture_units=_integer(GL.GL_MAX_TEXTURE_IMAGE_UNITS),
        blends_floats=not is_es or "GL_EXT_float_blend" in extensions(),
    )
    needed = (3, 0) if is_es else (3, 3)
    have = (_integer(GL.GL_MAJOR_VERSION), _integer(GL.GL_MINOR_VERSION))
    if have < needed:
        raise DeviceError(
            f"{limits.renderer} offers OpenGL {version}; 3.3 (or ES 3.0) is needed:"
            " update the graphics driver"
        )
    return limits


def is_software_name(renderer: str) -> bool:
    """Whether a renderer of that name draws with the CPU."""
    return any(name in renderer.lower() for name in SOFTWARE_NAMES)


def renderer_name() -> str:
    """What the driver of the current context calls the device."""
    return _string(GL.GL_RENDERER)


def extensions() -> set[str]:
    """The names of what the current context offers beyond its version."""
    names = (GL.glGetStringi(GL.GL_EXTENSIONS, i) for i in range(_integer(GL.GL_NUM_EXTENSIONS)))
    return {name.decode("ascii", "replace") for name in names if isinstance(name, bytes)}


def _string(name: int) -> str:
    value = GL.glGetString(name)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _integer(name: int) -> int:
    return int(GL.glGetIntegerv(name))
