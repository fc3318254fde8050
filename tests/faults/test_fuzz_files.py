"""Damaged small files: presets, dialogue.json, manifests, tunings, packed weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from gpt2gl import calibration
from gpt2gl.errors import Gpt2glError
from gpt2gl.gl.tuning import SOFTWARE
from gpt2gl.hub import library
from gpt2gl.hub.importing import import_model
from gpt2gl.presets import Preset, find_preset, save_preset
from gpt2gl.quantised_cache import QuantisedCache
from gpt2gl.quantised_file import Piece
from gpt2gl.templates import template_of
from tests.faults.command_line import write_tiny_model
from tests.mutations import (
    Damage,
    Draw,
    any_bytes,
    any_value,
    edit_json,
    fuzz_tests,
    odd_values,
    works_or_says_why,
)

Case = tuple[Callable[[Path], tuple[Path, Callable[[], object]]], Callable[[bytes, Draw], bytes]]
PIECE = np.arange(48, dtype=np.uint32).reshape(3, 4, 4)


def preset(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = save_preset(Preset("mine", {"top_k": 3, "top_p": 0.5, "stop": ["x"], "seed": 1}))
    return path, lambda: find_preset("mine")


def dialogue(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / "dialogue.json"
    path.write_text(json.dumps({"template": "transcript", "user": "A", "assistant": "B"}))
    return path, lambda: template_of(folder, {})


def manifest(folder: Path) -> tuple[Path, Callable[[], object]]:
    *_, done = import_model(write_tiny_model(folder / "tiny"), "copy")
    path = done.folder / "gpt2gl-model.json"  # type: ignore[union-attr]

    def read() -> None:
        found = library.find("copy")
        assert found is None or found.path.is_relative_to(done.folder)  # type: ignore[union-attr]
        for model in library.installed():
            str(model.manifest)
        list(library.verify("copy"))

    return path, read


def tuning(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / "tuning.json"
    path.write_text(json.dumps(vars(SOFTWARE)))

    def read() -> None:
        found = calibration._read(path)
        assert found is None or calibration._is_sound(found)

    return path, read


def packed(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / "key-int8-digest.bin"

    def read() -> None:
        with QuantisedCache(path, folder) as cache:
            (piece,) = cache.pieces("w", lambda: [Piece(0, PIECE, None)])
            np.testing.assert_array_equal(piece.texels, PIECE)

    read()
    return path, read


def preset_value(raw: bytes, draw: Draw) -> bytes:
    values = json.loads(raw)
    return json.dumps(values | {draw(st.sampled_from(sorted(values))): draw(odd_values)}).encode()


def record_value(raw: bytes, draw: Draw) -> bytes:
    """A manifest with something replaced in its list of files."""
    values = json.loads(raw)
    return json.dumps({**values, "files": edit_json(values["files"], draw)}).encode()


MUTATIONS: dict[str, Case] = {
    "preset bytes": (preset, any_bytes),
    "preset values": (preset, any_value),
    "preset options": (preset, preset_value),
    "dialogue bytes": (dialogue, any_bytes),
    "dialogue values": (dialogue, any_value),
    "manifest bytes": (manifest, any_bytes),
    "manifest files": (manifest, record_value),
    "tuning values": (tuning, any_value),
    "packed bytes": (packed, any_bytes),
}


@pytest.fixture
def damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutation: Case) -> Damage:
    """Damages the file anew each time, and reads it as the product does."""
    for name in ("GPT2GL_CACHE_DIR", "GPT2GL_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    make, mutate = mutation
    path, read = make(tmp_path)
    raw = path.read_bytes()

    def damage_and_read(draw: Draw) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(mutate(raw, draw))
        works_or_says_why(read, Gpt2glError, "")

    return damage_and_read


test_damaged_files, test_many_more_damaged_files = fuzz_tests(MUTATIONS)
