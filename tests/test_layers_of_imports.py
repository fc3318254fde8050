"""Data flows one way: `cli | ui -> session -> model -> passes -> gl`; only gl imports OpenGL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.source_tree import ROOT, Import, imports_of, python_files

# Unit of gpt2gl (a module, or a package with all that is in it) -> units it may import.
# A new unit needs a row. No row may name a unit whose row stands below its own.
ALLOWED_IMPORTS: dict[str, set[str]] = {
    "errors": set(),
    "tensor_names": {"errors"},
    "interventions": {"errors", "tensor_names"},
    "analysis": {"errors"},
    "lens": {"errors", "analysis"},
    "config": {"errors"},
    "resources": {"errors"},
    "tokenizer": {"errors"},
    "sampling": {"errors"},
    "small_files": {"errors", "config"},
    "scoring": {"errors"},
    "weights": {"errors", "config"},
    "hub": {"errors", "config", "resources", "small_files", "weights"},
    "templates": {"errors", "config", "resources", "tokenizer", "small_files", "hub"},
    "gl": {"errors", "resources"},
    "passes": {"errors", "config", "gl"},
    "kv_cache": {"errors", "config", "gl", "passes"},
    "quantised_file": {"errors", "weights"},
    "quantised_cache": {"errors", "small_files", "weights", "hub", "quantised_file"},
    "models": {
        *("errors", "config", "weights", "gl", "passes", "kv_cache"),
        *("quantised_file", "quantised_cache", "tensor_names", "interventions"),
    },
    "views": {"errors", "gl", "passes", "models"},
    "memory": {"errors", "config", "gl", "weights"},
    "calibration": {"errors", "small_files", "hub", "gl", "passes"},
    "stop_filter": {"errors"},
    "generation": {"errors", "sampling"},
    "presets": {"errors", "config", "sampling", "small_files", "generation"},
    "transcript": {"errors", "small_files", "templates"},
    "run": {"errors", "tokenizer", "sampling", "stop_filter", "generation", "models"},
    "inside": {"errors", "gl", "interventions", "lens", "models"},
    "session": {"errors", "tokenizer", "generation", "models", "run", "inside"},
    "array_files": {"errors", "small_files"},
    "plots": set(),
    "inspection": {
        *("errors", "analysis", "small_files", "lens", "inside", "session"),
        *("array_files", "plots"),
    },
    "dialogue": {"errors", "generation", "session", "templates"},
    "tolerances": set(),
    "selftest": {"errors", "config", "tolerances", "weights", "gl", "models"},
    "loading": {
        *("errors", "config", "resources", "tokenizer", "weights", "hub"),
        *("gl", "models", "memory", "session", "calibration", "selftest"),
    },
    "warming": {
        *("errors", "hub", "small_files", "weights", "gl", "models"),
        *("calibration", "selftest", "loading"),
    },
    "profiling": {"gl", "models"},
    "bench": {"errors", "config", "gl", "session", "profiling"},
    "verification": {"errors", "tolerances", "weights", "session"},
    "cli": {
        *("errors", "config", "resources", "tokenizer", "sampling", "weights", "hub"),
        *("gl", "generation", "session", "loading", "verification", "selftest"),
        *("scoring", "presets", "templates", "transcript", "dialogue", "small_files"),
        *("bench", "profiling", "memory", "quantised_cache"),
        *("calibration", "interventions", "inspection"),
    },
    "__main__": {"cli"},
}

# Library -> the only folders or files that may import it.
ONLY_IN: dict[str, tuple[str, ...]] = {
    "OpenGL": ("gpt2gl/gl",),
    "pyglet": ("gpt2gl/gl", "ui"),
    "torch": ("tests/reference",),
    "transformers": ("tests/reference",),
    "imgui_bundle": ("ui",),
    "gpt2gl_ui": ("ui",),
    "ui": ("ui",),
}
SHIPPED = ("gpt2gl", "glsl", "ui", "assets", "tests/reference")
ONLY_IN_FUNCTIONS = ("torch", "transformers")


def unit_of(dotted: str) -> str | None:
    """`gpt2gl.gl.device.Device` -> `gl`; None for what is not inside gpt2gl."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "gpt2gl" and len(parts) > 1 else None


def unit_of_file(path: Path) -> str:
    return path.relative_to(ROOT / "gpt2gl").with_suffix("").parts[0]


def all_imports(*folders: str) -> list[Import]:
    return [found for path in python_files(*folders) for found in imports_of(path)]


def is_inside(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(ROOT / place) for place in places)


def breaks_a_row(found: Import) -> bool:
    unit, imported = unit_of_file(found.path), unit_of(found.module)
    if imported is None or imported == unit or not is_a_unit(imported):
        return False
    return imported not in ALLOWED_IMPORTS.get(unit, set())


def is_a_unit(name: str) -> bool:
    """False for names that gpt2gl/__init__.py offers, such as `__version__`."""
    folder = ROOT / "gpt2gl"
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()


def test_every_unit_has_a_row() -> None:
    units = {unit_of_file(path) for path in python_files("gpt2gl")} - {"__init__"}
    assert units <= ALLOWED_IMPORTS.keys()


def test_the_table_has_no_cycle() -> None:
    above: set[str] = set()
    for unit, allowed in ALLOWED_IMPORTS.items():
        assert allowed <= above, f"{unit} may import only units above its row"
        above.add(unit)


def test_units_import_only_what_their_row_allows() -> None:
    inside = [found for found in all_imports("gpt2gl") if unit_of_file(found.path) != "__init__"]
    assert not [str(found) for found in inside if breaks_a_row(found)]


@pytest.mark.parametrize(("library", "places"), ONLY_IN.items())
def test_libraries_stay_in_their_place(library: str, places: tuple[str, ...]) -> None:
    users = [found for found in all_imports(*SHIPPED) if found.module.split(".")[0] == library]
    assert not [str(found) for found in users if not is_inside(found.path, places)]


def test_references_import_heavy_libraries_inside_functions() -> None:
    found = all_imports("tests/reference")
    heavy = [each for each in found if each.module.split(".")[0] in ONLY_IN_FUNCTIONS]
    assert not [str(each) for each in heavy if not each.nested]


def test_references_can_be_imported_without_the_heavy_libraries() -> None:
    modules = [f"tests.reference.{path.stem}" for path in python_files("tests/reference")]
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not set(ONLY_IN_FUNCTIONS) & set(done.stdout.split())
