"""Draws imgui's triangles with OpenGL, and keeps the textures its fonts live in.

Every state that drawing relies on is set each frame, because the engine works on the same context
and leaves its own; nothing is asked of the driver. UBO binding 0 is pyglet's and stays alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from imgui_bundle import imgui
from pyglet import gl

from gpt2gl_ui.programs import link

VERTEX = """#version 330 core
layout(location = 0) in vec2 position;
layout(location = 1) in vec2 uv;
layout(location = 2) in vec4 colour;
uniform vec4 transform;
out vec2 fragment_uv;
out vec4 fragment_colour;
void main() {
    fragment_uv = uv;
    fragment_colour = colour;
    gl_Position = vec4(position * transform.xy + transform.zw, 0.0, 1.0);
}
"""
FRAGMENT = """#version 330 core
in vec2 fragment_uv;
in vec4 fragment_colour;
uniform sampler2D image;
out vec4 result;
void main() {
    result = fragment_colour * texture(image, fragment_uv);
}
"""
INDEX_TYPE = gl.GL_UNSIGNED_SHORT if imgui.INDEX_SIZE == 2 else gl.GL_UNSIGNED_INT
OFF = (
    gl.GL_CULL_FACE,
    gl.GL_DEPTH_TEST,
    gl.GL_STENCIL_TEST,
    gl.GL_RASTERIZER_DISCARD,
    gl.GL_PRIMITIVE_RESTART,
    gl.GL_COLOR_LOGIC_OP,
    gl.GL_FRAMEBUFFER_SRGB,
)
PIXEL_STORE = (gl.GL_UNPACK_ROW_LENGTH, gl.GL_UNPACK_SKIP_ROWS, gl.GL_UNPACK_SKIP_PIXELS)
Colour = tuple[float, float, float, float]


@dataclass
class _Objects:
    program: int
    transform: int
    vertex_array: int
    vertices: int
    indices: int


class Renderer:
    """imgui's draw data on the current context; `close` frees all of it."""

    def __init__(self) -> None:
        imgui.get_io().backend_flags |= (
            imgui.BackendFlags_.renderer_has_textures | imgui.BackendFlags_.renderer_has_vtx_offset
        )
        self._limit_textures()
        self._objects = _create()

    def render(self, data: imgui.ImDrawData, size: tuple[int, int], background: Colour) -> None:
        """Clear framebuffer 0 of `size` pixels and draw; updates font textures first."""
        self.update_textures()
        self._begin(size, background)
        for commands in data.cmd_lists:
            self._upload(commands)
            for command in commands.cmd_buffer:
                _draw(command, size)
        _end()

    def update_textures(self) -> None:
        """Give imgui the font textures that it asks for, and free those it gave up."""
        for texture in imgui.get_platform_io().textures:
            if texture.status != imgui.ImTextureStatus.ok:
                _TEXTURE_CHANGES[texture.status](texture)

    def rebuild(self) -> None:
        """Make everything anew on a new context: the old names mean nothing there."""
        for texture in imgui.get_platform_io().textures:
            if texture.status != imgui.ImTextureStatus.destroyed:
                texture.set_tex_id(0)
                texture.set_status(imgui.ImTextureStatus.want_create)
        self._objects = _create()

    def close(self) -> None:
        """Free the textures, buffers and the program; imgui's context must still be there."""
        for texture in imgui.get_platform_io().textures:
            if texture.tex_id:
                _destroy(texture)
        made = self._objects
        gl.glUseProgram(0)  # GL keeps a deleted program for as long as it is in use
        gl.glDeleteProgram(made.program)
        gl.glDeleteVertexArrays(1, ctypes.byref(ctypes.c_uint(made.vertex_array)))
        gl.glDeleteBuffers(2, (ctypes.c_uint * 2)(made.vertices, made.indices))

    @staticmethod
    def _limit_textures() -> None:
        # Far below what any driver of GL 3.3 offers, and larger than fonts ever need.
        platform = imgui.get_platform_io()
        platform.renderer_texture_max_width = platform.renderer_texture_max_height = 4096

    def _begin(self, size: tuple[int, int], background: Colour) -> None:
        made, (width, height) = self._objects, (max(1, size[0]), max(1, size[1]))
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        _set_state(width, height)
        gl.glClearColor(*background)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT)
        gl.glEnable(gl.GL_SCISSOR_TEST)
        gl.glUseProgram(made.program)
        gl.glUniform4f(made.transform, 2.0 / width, -2.0 / height, -1.0, 1.0)
        gl.glBindVertexArray(made.vertex_array)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, made.vertices)

    def _upload(self, commands: imgui.ImDrawList) -> None:
        for target, buffer, unit in (
            (gl.GL_ARRAY_BUFFER, commands.vtx_buffer, imgui.VERTEX_SIZE),
            (gl.GL_ELEMENT_ARRAY_BUFFER, commands.idx_buffer, imgui.INDEX_SIZE),
        ):
            address = ctypes.c_void_p(buffer.data_address())
            gl.glBufferData(target, buffer.size() * unit, address, gl.GL_STREAM_DRAW)


def _set_state(width: int, height: int) -> None:
    gl.glViewport(0, 0, width, height)
    for capability in (*OFF, gl.GL_SCISSOR_TEST):
        gl.glDisable(capability)
    gl.glColorMask(True, True, True, True)
    gl.glPolygonMode(gl.GL_FRONT_AND_BACK, gl.GL_FILL)
    gl.glEnable(gl.GL_BLEND)
    gl.glBlendEquation(gl.GL_FUNC_ADD)
    gl.glBlendFuncSeparate(
        gl.GL_SRC_ALPHA, gl.GL_ONE_MINUS_SRC_ALPHA, gl.GL_ONE, gl.GL_ONE_MINUS_SRC_ALPHA
    )
    gl.glActiveTexture(gl.GL_TEXTURE0)
    # A sampler object would override the filters of the textures.
    gl.glBindSampler(0, 0)


def _draw(command: imgui.ImDrawCmd, size: tuple[int, int]) -> None:
    clip = command.clip_rect
    left, top = max(0, int(clip.x)), max(0, int(clip.y))
    right, bottom = min(size[0], int(clip.z)), min(size[1], int(clip.w))
    if right <= left or bottom <= top:
        return
    gl.glScissor(left, size[1] - bottom, right - left, bottom - top)
    gl.glBindTexture(gl.GL_TEXTURE_2D, command.tex_ref.get_tex_id())
    gl.glDrawElementsBaseVertex(
        gl.GL_TRIANGLES,
        command.elem_count,
        INDEX_TYPE,
        ctypes.c_void_p(command.idx_offset * imgui.INDEX_SIZE),
        command.vtx_offset,
    )


def _end() -> None:
    gl.glDisable(gl.GL_SCISSOR_TEST)
    gl.glDisable(gl.GL_BLEND)
    gl.glBindVertexArray(0)
    gl.glUseProgram(0)
    gl.glBindTexture(gl.GL_TEXTURE_2D, 0)


def _create() -> _Objects:
    program = link(VERTEX, FRAGMENT)
    gl.glUseProgram(program)
    gl.glUniform1i(gl.glGetUniformLocation(program, b"image"), 0)
    array, buffers = ctypes.c_uint(), (ctypes.c_uint * 2)()
    gl.glGenVertexArrays(1, ctypes.byref(array))
    gl.glGenBuffers(2, buffers)
    _describe_vertices(array.value, *buffers)
    location = gl.glGetUniformLocation(program, b"transform")
    return _Objects(program, location, array.value, *buffers)


def _describe_vertices(array: int, vertices: int, indices: int) -> None:
    gl.glBindVertexArray(array)
    gl.glBindBuffer(gl.GL_ARRAY_BUFFER, vertices)
    gl.glBindBuffer(gl.GL_ELEMENT_ARRAY_BUFFER, indices)
    for place, (count, kind, offset) in enumerate(
        (
            (2, gl.GL_FLOAT, imgui.VERTEX_BUFFER_POS_OFFSET),
            (2, gl.GL_FLOAT, imgui.VERTEX_BUFFER_UV_OFFSET),
            (4, gl.GL_UNSIGNED_BYTE, imgui.VERTEX_BUFFER_COL_OFFSET),
        )
    ):
        gl.glEnableVertexAttribArray(place)
        normalised = kind == gl.GL_UNSIGNED_BYTE
        start = ctypes.c_void_p(offset)
        gl.glVertexAttribPointer(place, count, kind, normalised, imgui.VERTEX_SIZE, start)
    gl.glBindVertexArray(0)


def _prepare_upload(texture: int, row_length: int) -> None:
    gl.glActiveTexture(gl.GL_TEXTURE0)
    gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
    gl.glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, 0)
    for name in PIXEL_STORE:
        gl.glPixelStorei(name, 0)
    gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 4)
    gl.glPixelStorei(gl.GL_UNPACK_ROW_LENGTH, row_length)


def _upload_new(texture: imgui.ImTextureData) -> None:
    name = ctypes.c_uint()
    gl.glGenTextures(1, ctypes.byref(name))
    _prepare_upload(name.value, 0)
    for parameter, value in (
        (gl.GL_TEXTURE_MIN_FILTER, gl.GL_LINEAR),
        (gl.GL_TEXTURE_MAG_FILTER, gl.GL_LINEAR),
        (gl.GL_TEXTURE_WRAP_S, gl.GL_CLAMP_TO_EDGE),
        (gl.GL_TEXTURE_WRAP_T, gl.GL_CLAMP_TO_EDGE),
    ):
        gl.glTexParameteri(gl.GL_TEXTURE_2D, parameter, value)
    kind, pixels = (gl.GL_RGBA, gl.GL_UNSIGNED_BYTE), _pixels(texture, 0)
    size = (texture.width, texture.height)
    gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, gl.GL_RGBA8, *size, 0, *kind, pixels)
    texture.set_tex_id(name.value)
    texture.set_status(imgui.ImTextureStatus.ok)


def _upload_changes(texture: imgui.ImTextureData) -> None:
    _prepare_upload(texture.tex_id, texture.width)
    kind = (gl.GL_RGBA, gl.GL_UNSIGNED_BYTE)
    for part in texture.updates:
        pixels = _pixels(texture, part.y * texture.width + part.x)
        place = (part.x, part.y, part.w, part.h)
        gl.glTexSubImage2D(gl.GL_TEXTURE_2D, 0, *place, *kind, pixels)
    gl.glPixelStorei(gl.GL_UNPACK_ROW_LENGTH, 0)
    texture.set_status(imgui.ImTextureStatus.ok)


def _destroy(texture: imgui.ImTextureData) -> None:
    gl.glDeleteTextures(1, ctypes.byref(ctypes.c_uint(texture.tex_id)))
    texture.set_tex_id(0)
    texture.set_status(imgui.ImTextureStatus.destroyed)


def _pixels(texture: imgui.ImTextureData, pixel: int) -> ctypes.c_void_p:
    """The address of a pixel (RGBA8) in imgui's own memory; no copy."""
    start = texture.get_pixels_array().ctypes.data
    return ctypes.c_void_p(start + pixel * texture.bytes_per_pixel)


_TEXTURE_CHANGES: dict[imgui.ImTextureStatus, Callable[[Any], None]] = {
    imgui.ImTextureStatus.want_create: _upload_new,
    imgui.ImTextureStatus.want_updates: _upload_changes,
    imgui.ImTextureStatus.want_destroy: _destroy,
    imgui.ImTextureStatus.destroyed: lambda texture: None,
}
