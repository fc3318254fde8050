"""Rules of the house that a machine can check; each limit stands here once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_tree import ROOT, parse, project_files, python_files

FILE_LINES = 399
FUNCTION_LINES = 50
SHADER_LINES = 80
SHADER_SUFFIXES = (".frag", ".vert", ".glsl")
PRODUCT = ("gpt2gl", "glsl", "ui", "assets")
# glDrawBuffers selects targets and draws nothing.
DRAW_CALL = re.compile(r"gl(Multi)?Draw(?!Buffers?$)\w+")
# Put together here so that this file does not hold them.
MACHINE_PATHS = tuple(f"{start}/{name}/" for start, name in [("", "work"), ("..", "shared")])
BINARY_SUFFIXES = (".safetensors", ".ttf", ".npz", ".png", ".gguf", ".ico", ".xz")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(parse(path)) if isinstance(node, Function))


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_python_files_are_short() -> None:
    lengths = {name_of(path): line_count(path) for path in python_files()}
    assert not {name: lines for name, lines in lengths.items() if lines > FILE_LINES}


def test_functions_are_short() -> None:
    found = [(path, each) for path in python_files() for each in functions(path)]
    assert not [
        f"{name_of(path)}:{each.lineno} {each.name}: {length(each)} lines"
        for path, each in found
        if length(each) > FUNCTION_LINES
    ]


def test_shaders_are_short() -> None:
    shaders = [path for path in project_files(*PRODUCT) if path.suffix in SHADER_SUFFIXES]
    assert shaders
    lengths = {name_of(path): line_count(path) for path in shaders}
    assert not {name: lines for name, lines in lengths.items() if lines > SHADER_LINES}


@pytest.mark.parametrize("folders", [("gpt2gl", "glsl", "assets"), ("ui",)])
def test_one_draw_call(folders: tuple[str, ...]) -> None:
    """One place takes GL's drawing function, to call it or to record a call of it.

    One in the engine, and one in the window for imgui's triangles: those are no pass, come from
    another GL binding, and are drawn where there may be no device.
    """
    drawing = [
        f"{name_of(path)}:{node.lineno}"
        for path in python_files(*folders)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and DRAW_CALL.fullmatch(node.attr)
    ]
    assert len(drawing) == 1, drawing


def test_one_place_names_the_texture_size_limit() -> None:
    sources = [path for path in project_files(*PRODUCT) if path.suffix in (".py", *SHADER_SUFFIXES)]
    named = [path for path in sources if "MAX_TEXTURE_SIZE" in path.read_text(encoding="utf-8")]
    assert len(named) == 1, [name_of(path) for path in named]


def test_no_finalizers() -> None:
    """GL objects are released by close(): `__del__` may run in any thread, with no context."""
    found = [(path, each) for path in python_files(*PRODUCT) for each in functions(path)]
    assert not [f"{name_of(path)}:{each.lineno}" for path, each in found if each.name == "__del__"]


def test_no_module_for_odds_and_ends() -> None:
    assert not [name_of(path) for path in python_files() if path.stem in ("util", "utils")]


def test_no_path_of_a_developers_machine() -> None:
    texts = [path for path in project_files() if path.suffix not in BINARY_SUFFIXES]
    assert not [
        name_of(path)
        for path in texts
        if any(each in path.read_text(encoding="utf-8", errors="replace") for each in MACHINE_PATHS)
    ]


def test_future_annotations_in_every_module() -> None:
    statement = "from __future__ import annotations"
    modules = [path for path in python_files(*PRODUCT) if path.name != "__init__.py"]
    assert modules
    assert not [name_of(p) for p in modules if statement not in p.read_text(encoding="utf-8")]
