"""Compiles the window's own shaders with pyglet's GL functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from pyglet import gl

from gpt2gl.errors import ShaderError

LOG_BYTES = 4096


def link(vertex: str, fragment: str) -> int:
    """The name of a new program.

    Raises:
        ShaderError: the driver refused a shader, with the first line of its log.
    """
    program = gl.glCreateProgram()
    shaders = [
        _compile(gl.GL_VERTEX_SHADER, vertex),
        _compile(gl.GL_FRAGMENT_SHADER, fragment),
    ]
    for shader in shaders:
        gl.glAttachShader(program, shader)
    gl.glLinkProgram(program)
    for shader in shaders:
        gl.glDeleteShader(shader)
    _check(program, gl.glGetProgramiv, gl.GL_LINK_STATUS, gl.glGetProgramInfoLog)
    return int(program)


def _compile(kind: int, source: str) -> int:
    shader = gl.glCreateShader(kind)
    text = ctypes.cast(ctypes.c_char_p(source.encode()), ctypes.POINTER(ctypes.c_char))
    gl.glShaderSource(shader, 1, ctypes.byref(text), None)
    gl.glCompileShader(shader)
    _check(shader, gl.glGetShaderiv, gl.GL_COMPILE_STATUS, gl.glGetShaderInfoLog)
    return int(shader)


def _check(
    name: int, get: Callable[..., None], status: int, log: Callable[..., None]
) -> None:
    done = ctypes.c_int()
    get(name, status, ctypes.byref(done))
    if done.value:
        return
    text = ctypes.create_string_buffer(LOG_BYTES)
    log(name, LOG_BYTES, None, text)
    lines = text.value.decode(errors="replace").splitlines() or ["no log"]
    raise ShaderError(f"the window's shader: {lines[0]}; update the graphics driver")
