"""The window's settings: each value by itself, the file never lost, controls for all of it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from gpt2gl import presets
from gpt2gl.errors import OptionError
from gpt2gl.gl.layouts import PRECISIONS as ALL_PRECISIONS
from gpt2gl.presets import BUILT_IN, SAMPLING_FIELDS, Preset
from gpt2gl_ui import settings
from gpt2gl_ui.chats.writer import Writer
from gpt2gl_ui.settings import CONTROLS, DEFAULTS, SettingsFile, reset, with_value

LONG = 20.0
# For each control another value than the default.
OTHERS: dict[str, Any] = {
    **{"temperature": 0.5, "top_k": 7, "top_p": 0.5, "min_p": 0.1, "typical_p": 0.5},
    **{"repetition_penalty": 1.5, "presence_penalty": 1.0, "frequency_penalty": 1.0},
    **{"no_repeat_ngram": 3, "min_new_tokens": 2, "seed": 2**63 - 1, "max_tokens": 9},
    **{"time_limit": 2.5, "keep": 8, "stop": ("\n\n", "é", "\ud800"), "context_policy": "stop"},
    **{"preset": "creative", "model": "gpt2", "precision": "int8", "theme": "dark"},
    **{"font_size": 20, "ui_scale": 1.5, "reduced_motion": True, "token_tint": "entropy"},
    **{"sidebar_open": False, "sidebar_width": 300, "inspector_open": True},
    **{"inspector_width": 500, "window_size": (800, 600), "window_position": (-5, 10)},
    **{"last_chat": "0" * 32},
}


@pytest.fixture
def writer() -> Iterator[Writer]:
    made = Writer(lambda key, problem: None, 60)
    yield made
    made.close(LONG)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(presets.CONFIG_DIR_VARIABLE, str(tmp_path / "config"))
    return tmp_path / "config" / "window.json"


def test_every_value_is_kept(writer: Writer, path: Path) -> None:
    changed = DEFAULTS
    for name, control in CONTROLS.items():
        value = OTHERS.get(name, control.get(changed))
        changed = with_value(changed, name, value)
        assert control.get(changed) == value
    file = SettingsFile(writer)
    assert file.load() == DEFAULTS
    assert file.save_soon(changed)
    assert writer.flush(LONG)
    again = SettingsFile(writer)
    assert again.load() == changed
    assert (again.problems, again.path) == ([], path)
    assert not again.save_soon(changed)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for name in CONTROLS:
        changed = reset(changed, name)
    assert changed == DEFAULTS


def test_a_bad_value_falls_back_by_itself(writer: Writer, path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"theme": "pink", "font_size": 20, "top_p": 0, "window_size": [1]}))
    file = SettingsFile(writer)
    loaded = file.load()
    assert loaded == replace(DEFAULTS, font_size=20)
    assert file.problems == [
        f"{path}: theme: theme is 'pink'; allowed: light | dark | system: 'system' is used",
        f"{path}: top_p: --top-p is 0; allowed: a number above 0, at most 1: 0.95 is used",
        f"{path}: window_size: window_size is [1]; allowed: two of a whole number from 200 to"
        " 16384: (1180, 780) is used",
    ]
    assert file.save_soon(loaded)
    assert writer.flush(LONG)
    again = SettingsFile(writer)
    assert (again.load(), again.problems) == (loaded, [])


def test_unknown_fields_survive(writer: Writer, path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"wallpaper": ["x"], "theme": "dark"}))
    file = SettingsFile(writer)
    file.save_soon(replace(file.load(), theme="light"))
    assert writer.flush(LONG)
    raw = json.loads(path.read_text())
    assert (raw["wallpaper"], raw["theme"]) == (["x"], "light")


def test_a_damaged_file_is_kept(writer: Writer, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"theme": "dark"')
    file = SettingsFile(writer)
    assert file.load() == DEFAULTS
    (problem,) = file.problems
    assert problem.startswith(f"{path}: not valid JSON")
    file.save_soon(replace(DEFAULTS, theme="light"))
    assert writer.flush(LONG)
    assert path.with_name("window.json.damaged").read_bytes() == b'{"theme": "dark"'
    assert SettingsFile(writer).load().theme == "light"


@run_settings(deadline=None, max_examples=100)
@given(
    st.dictionaries(
        st.sampled_from(list(CONTROLS)),
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
        | st.lists(st.none() | st.integers() | st.text(max_size=2), max_size=3),
    )
)  # fmt: skip
def test_any_value_loads(tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("any") / "window.json"
    path.write_text(json.dumps(values))
    writer = Writer(lambda key, problem: None)
    file = SettingsFile(writer, path)
    loaded = file.load()
    assert "\n" not in "".join(file.problems)
    file.save_soon(loaded)
    assert writer.close(LONG)
    again = SettingsFile(writer, path)
    assert (again.load(), again.problems) == (loaded, [])


@run_settings(deadline=None, max_examples=50)
@given(st.binary(max_size=40))
def test_any_bytes_load(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "window.json"
    path.write_bytes(data)
    file = SettingsFile(Writer(lambda key, problem: None), path)
    assert file.load() == DEFAULTS
    assert file.problems or json.loads(data) == {}


def test_controls_say_what_they_are() -> None:
    assert set(SAMPLING_FIELDS) <= set(CONTROLS)
    for name, control in CONTROLS.items():
        assert control.label
        assert control.option.help.endswith(".")
        assert control.option.allowed
        assert control.option.check(control.default) == control.default, name
    assert set(settings.PRECISIONS) < set(ALL_PRECISIONS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("precision", "fp8"), ("precision", ["fp32"]), ("reduced_motion", 1)),
        *(("stop", "text"), ("stop", [""]), ("model", ""), ("model", "a\nb")),
        ("model", "x" * 2000),
        *(("window_size", None), ("window_size", [800, 1.5]), ("window_position", "ab")),
        *(("ui_scale", 0), ("ui_scale", float("nan")), ("font_size", True)),
    ],
)
def test_refusals(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match="allowed: "):
        with_value(DEFAULTS, name, value)


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_presets(name: str) -> None:
    before = with_value(with_value(DEFAULTS, "seed", 5), "context_policy", "stop")
    before = with_value(before, "min_p", 0.3)
    after = before.with_preset(BUILT_IN[name])
    sampling = after.generation.sampling
    assert {n: getattr(sampling, n) for n in BUILT_IN[name].values} == BUILT_IN[name].values
    assert (sampling.seed, sampling.min_p, after.preset) == (5, 0.0, name)
    assert after.generation.context_policy == "stop"
    own = after.with_preset(Preset("own", {"max_tokens": 3, "stop": ["."], "seed": None}))
    assert (own.generation.max_tokens, own.generation.stop) == (3, (".",))
    assert own.generation.sampling.seed is None
    assert DEFAULTS.with_preset(BUILT_IN["balanced"]) == DEFAULTS
