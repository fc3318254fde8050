"""Shader sources put together, compiled, cached, and their errors traced to file and line."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from OpenGL import GL

from gpt2gl.errors import ShaderError
from gpt2gl.gl.faults import device_errors, release
from gpt2gl.resources import shader_path

HEADERS = {
    "330 core": ("#version 330 core",),
    # ES has no default precision for floats in fragments, nor for any array sampler.
    "300 es": (
        "#version 300 es",
        "precision highp float;",
        "precision highp int;",
        "precision highp sampler2DArray;",
        "precision highp isampler2DArray;",
        "precision highp usampler2DArray;",
    ),
}
_INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"\s*$')
# Mesa "0:12(5): error", NVIDIA "0(12) : error", Intel and AMD "ERROR: 0:12:".
_LOG_LINE = re.compile(r"\b\d+(?::(\d+)(?:\(\d+\))?|\((\d+)\))\s*:")


@dataclass
class Source:
    """Expanded text with, for each of its lines, the file and line it came from.

    `#line` directives are no substitute: drivers disagree about their file numbers.
    """

    lines: list[str] = field(default_factory=list)
    origins: list[tuple[str, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def add(self, line: str, file: str, number: int) -> None:
        self.lines.append(line)
        self.origins.append((file, number))


Stages = tuple[tuple[int, Source], ...]  # kind of shader, source


def expand(shader: str, defines: Mapping[str, object], version: str = "330 core") -> Source:
    """The full source of a shader file: header, defines, includes in place, each file once.

    Raises:
        ShaderError: an included file does not exist.
    """
    source = Source()
    for line in HEADERS[version]:
        source.add(line, "<header>", 0)
    for name in sorted(defines):
        source.add(f"#define {name} {defines[name]}", "<defines>", 0)
    _expand_into(source, shader, set(), ("<pass>", 0), defines)
    return source


def _expand_into(
    source: Source,
    name: str,
    seen: set[str],
    included_from: tuple[str, int],
    defines: Mapping[str, object],
) -> None:
    if name in seen:
        return
    seen.add(name)
    for number, line in enumerate(_read(name, included_from), 1):
        match = _INCLUDE.match(line) if "#include" in line else None
        if match is None:
            source.add(line, name, number)
            continue
        # "lib/weights_{LAYOUT}.glsl": the define LAYOUT chooses the file.
        target = match.group(1).format_map({key: str(value) for key, value in defines.items()})
        _expand_into(source, target, seen, (name, number), defines)


def _read(name: str, included_from: tuple[str, int]) -> tuple[str, ...]:
    try:
        return _lines(shader_path, name)
    except ShaderError as error:
        file, line = included_from
        raise ShaderError(f"{file}:{line} includes {name}: {error}") from error


@functools.lru_cache(maxsize=256)
def _lines(find: Callable[[str], Path], name: str) -> tuple[str, ...]:
    """A shader file's lines, read once: a model's programs include the same few files over and
    over."""
    return tuple(find(name).read_text(encoding="utf-8").splitlines())


class ProgramCache:
    """Compiled programs by all that their sources are put together from.

    `compiled` counts compilations, so that a test can see there are none after the first token.
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self.compiled = 0
        self._programs: dict[str, int] = {}

    def get(
        self,
        name: str,
        shader: str,
        vertex: str,
        defines: Mapping[str, object],
        samplers: Mapping[str, int],
        blocks: Mapping[str, int],
    ) -> int:
        """The program of a pass, with its samplers and uniform blocks bound to fixed units.

        Raises:
            ShaderError: it does not compile or link; names pass, file, line and the driver's log.
        """
        # Units and bindings are part of a program's state: other bindings, another program.
        parts = (sorted(each.items()) for each in (defines, samplers, blocks))
        key = f"{shader} {vertex} {' '.join(map(str, parts))}"
        if key not in self._programs:
            stages = (
                (GL.GL_VERTEX_SHADER, expand(vertex, defines, self.version)),
                (GL.GL_FRAGMENT_SHADER, expand(shader, defines, self.version)),
            )
            self._programs[key] = _program(name, stages, samplers, blocks)
            self.compiled += 1
        return self._programs[key]

    def close(self) -> None:
        for program in self._programs.values():
            release((GL.glDeleteProgram, (program,)))
        self._programs.clear()

    @property
    def live(self) -> int:
        return len(self._programs)


@device_errors()
def _program(
    name: str,
    stages: Stages,
    samplers: Mapping[str, int],
    blocks: Mapping[str, int],
) -> int:
    program = int(GL.glCreateProgram())
    try:
        _link(program, name, stages)
        _bind_units(program, samplers, blocks)
    except BaseException:
        release((GL.glUseProgram, (0,)), (GL.glDeleteProgram, (program,)))
        raise
    return program


def _link(program: int, name: str, stages: Stages) -> None:
    shaders: list[int] = []
    try:
        for kind, source in stages:
            shaders.append(int(GL.glCreateShader(kind)))
            _compile(shaders[-1], name, source)
            GL.glAttachShader(program, shaders[-1])
        GL.glLinkProgram(program)
        if not GL.glGetProgramiv(program, GL.GL_LINK_STATUS):
            log = _first_line(GL.glGetProgramInfoLog(program))
            file, _ = stages[-1][1].origins[-1]
            raise ShaderError(f"pass {name} does not link: {file}: {log}; run 'gpt2gl doctor'")
    finally:
        release(*((GL.glDeleteShader, (shader,)) for shader in shaders))


def _compile(shader: int, name: str, source: Source) -> None:
    GL.glShaderSource(shader, source.text)
    GL.glCompileShader(shader)
    if not GL.glGetShaderiv(shader, GL.GL_COMPILE_STATUS):
        raise ShaderError(describe_log(name, source, _text(GL.glGetShaderInfoLog(shader))))


def describe_log(name: str, source: Source, log: str) -> str:
    """One line from a compile log: pass, file:line, the line itself, the driver's words."""
    for entry in log.splitlines():
        match = _LOG_LINE.search(entry)
        if match is None or "warning" in entry.lower():
            continue
        number = int(match.group(1) or match.group(2))
        if 1 <= number <= len(source.lines):
            file, line = source.origins[number - 1]
            quoted = source.lines[number - 1].strip()
            return f"pass {name}: {file}:{line}: {entry.strip()}; in: {quoted}"
    return f"pass {name} does not compile: {_first_line(log)}"


def _bind_units(program: int, samplers: Mapping[str, int], blocks: Mapping[str, int]) -> None:
    GL.glUseProgram(program)
    for sampler, unit in samplers.items():
        location = GL.glGetUniformLocation(program, sampler)
        if location >= 0:  # a compiler may drop an input that a variant does not read
            GL.glUniform1i(location, unit)
    for block, binding in blocks.items():
        index = GL.glGetUniformBlockIndex(program, block)
        if index != GL.GL_INVALID_INDEX:
            GL.glUniformBlockBinding(program, index, binding)


def _text(log: str | bytes) -> str:
    return log.decode("utf-8", "replace") if isinstance(log, bytes) else str(log)


def _first_line(log: str | bytes) -> str:
    lines = _text(log).strip().splitlines()
    return lines[0] if lines else "the driver gives no reason"
