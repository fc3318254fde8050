"""Presets: those that ship, files of one's own, damage, and what --preset does to a command."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpt2gl import presets
from gpt2gl.cli import generate, run
from gpt2gl.errors import OptionError
from gpt2gl.generation import Finished, Generation
from gpt2gl.presets import BUILT_IN, Preset, find_preset, remove_preset, save_preset, saved_names
from gpt2gl.sampling import Sampling

POSIX = os.name == "posix"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where saved presets are; it does not exist yet."""
    monkeypatch.setenv(presets.CONFIG_DIR_VARIABLE, str(tmp_path / "config"))
    return tmp_path / "config" / "presets"


def write(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_bytes(content)
    return path


def test_built_in() -> None:
    assert list(BUILT_IN) == ["creative", "balanced", "precise"]
    heat = [BUILT_IN[name].values["temperature"] for name in BUILT_IN]
    assert heat == sorted(heat, reverse=True)


def test_the_platforms_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(presets.CONFIG_DIR_VARIABLE)
    expected = platformdirs.user_config_path("gpt2gl", appauthor=False)
    assert presets.config_folder() == expected


def test_nothing_is_saved_at_first() -> None:
    assert saved_names() == []


def test_save_find_replace_remove(folder: Path) -> None:
    values = {"temperature": 0.5, "seed": None, "max_tokens": 7, "stop": ["\n", "é"]}
    path = save_preset(Preset("mine", values))
    assert path == folder / "mine.json"
    assert find_preset("mine").values == {**values, "stop": ("\n", "é")}
    save_preset(Preset("mine", {"top_k": 3}))
    assert find_preset("mine") == Preset("mine", {"top_k": 3})
    assert saved_names() == ["mine"]
    remove_preset("mine")
    assert list(folder.iterdir()) == []


def test_mode(folder: Path) -> None:
    path = save_preset(Preset("mine", {"top_k": 3}))
    if POSIX:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_save_leaves_the_old_file(
    step: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_preset(Preset("mine", {"top_k": 3}))
    before = path.read_bytes()

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OptionError, match=r"mine\.json: cannot be written \(No space left"):
            save_preset(Preset("mine", {"top_k": 4}))
    assert path.read_bytes() == before
    assert list(folder.iterdir()) == [path]


def test_a_folder_that_cannot_be_made(folder: Path) -> None:
    folder.parent.write_text("a file where the folder should be")
    with pytest.raises(OptionError, match="cannot be made"):
        save_preset(Preset("mine", {"top_k": 3}))


@pytest.mark.parametrize(
    "name", ["", "Mine", "../mine", "a/b", "a\\b", ".hidden", "-x", "a b", "x" * 41, "con", "lpt1"]
)
def test_refused_names(name: str) -> None:
    for use in (find_preset, remove_preset, lambda n: save_preset(Preset(n, {"top_k": 1}))):
        with pytest.raises(OptionError, match="preset name"):
            use(name)


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_built_in_presets_stay(name: str) -> None:
    for use in (remove_preset, lambda n: save_preset(Preset(n, {"top_k": 1}))):
        with pytest.raises(OptionError, match="built in: choose another name"):
            use(name)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"temperature": -1}, "--temperature is -1"),
        ({"temperature": "hot"}, "--temperature is 'hot'"),
        ({"top_p": 0}, "--top-p is 0"),
        ({"max_tokens": -1}, "--max-tokens is -1"),
        ({"max_tokens": 1.5}, "--max-tokens is 1.5"),
        ({"stop": "text"}, "--stop is 'text'"),
        ({"stop": [""]}, "--stop is ''"),
        ({"heat": 1}, "unknown option 'heat'"),
        ({"logit_bias": {}}, "unknown option 'logit_bias'"),
    ],
)
def test_values_are_checked(values: dict[str, Any], problem: str, folder: Path) -> None:
    with pytest.raises(OptionError, match=problem):
        Preset("mine", values)
    path = write(folder, "mine", json.dumps(values).encode())
    with pytest.raises(OptionError, match=problem) as caught:
        find_preset("mine")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"top_k": NaN}', b" " * 2_000_000],
)
def test_damaged_files(content: bytes, folder: Path) -> None:
    path = write(folder, "mine", content)
    with pytest.raises(OptionError) as caught:
        find_preset("mine")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    remove_preset("mine")
    assert not path.exists()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
_FIELDS = st.sampled_from([*presets.SAMPLING_FIELDS, *presets.GENERATION_FIELDS])


@given(st.dictionaries(_FIELDS, _JSON, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_values_are_a_preset_or_an_error(values: dict[str, Any]) -> None:
    with contextlib.suppress(OptionError):
        preset = Preset("mine", values)
        save_preset(preset)
        assert find_preset("mine") == preset


# The commands -----------------------------------------------------------------------------------


def test_list_save_remove(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["presets", "save", "mine", "--temperature", "0.5", "--stop", "a b"]) == 0
    assert run(["presets"]) == 0
    shown = capfd.readouterr().out
    assert all(name in shown for name in BUILT_IN)
    assert "mine             saved     --temperature 0.5 --stop 'a b'" in shown
    assert run(["presets", "remove", "mine"]) == 0
    assert run(["presets"]) == 0
    assert "--stop" not in capfd.readouterr().out


def test_save_keeps_only_what_is_given(folder: Path) -> None:
    assert run(["presets", "save", "mine", "--top-k", "5", "--seed", "0"]) == 0
    assert json.loads((folder / "mine.json").read_bytes()) == {"top_k": 5, "seed": 0}


def test_list_shows_the_others_beside_a_damaged_one(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(folder, "bad", b"{")
    write(folder, "good", b'{"top_k": 1}')
    write(folder, "Not a preset's name", b"{")
    assert run(["presets"]) == 2
    output, message = capfd.readouterr()
    assert "good" in output
    assert str(path) in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["presets", "save", "mine"],
        ["presets", "save", "mine", "--top-k", "-1"],
        ["presets", "save", "mine", "--top-k", "x"],
        ["presets", "save", "balanced", "--top-k", "1"],
        ["presets", "remove", "none"],
        ["presets", "bogus"],
        ["generate", "Once", "--preset", "none"],
    ],
)
def test_bad_commands(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    output, message = capfd.readouterr()
    assert output == ""
    assert message.count("\n") == 1


class FakeSession:
    """Takes the options of a generation and ends it."""

    def __init__(self) -> None:
        self.options = Generation()

    def generate(self, prompt: str, options: Generation) -> Iterator[Finished]:
        self.options = options
        yield Finished(
            reason="stop",
            text="",
            prompt_tokens=1,
            new_tokens=0,
            seed=0,
            first_token_seconds=None,
            seconds=0.0,
        )

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def generated(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Generation:
    """The options that `gpt2gl generate` hands to the session."""
    session = FakeSession()
    monkeypatch.setattr(generate, "load_with_progress", lambda model, precision, tune: session)
    assert run(["generate", "Once", "--quiet", *arguments]) == 0
    return session.options


def test_preset_stands_in_for_what_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"temperature": 0.3, "top_k": 7, "max_tokens": 9, "stop": ["x"], "seed": 4}
    save_preset(Preset("mine", values))
    plain = generated(monkeypatch)
    found = generated(monkeypatch, "--preset", "mine")
    assert (found.max_tokens, found.stop) == (9, ("x",))
    sampling = found.sampling
    assert (sampling.temperature, sampling.top_k, sampling.seed) == (0.3, 7, 4)
    assert sampling.top_p == plain.sampling.top_p


def test_explicit_options_win(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"temperature": 0.3, "top_k": 7, "max_tokens": 9, "stop": ["x"]}
    save_preset(Preset("mine", values))
    plain = generated(monkeypatch)
    # Among them a value that is the default.
    given = ["--temperature", str(plain.sampling.temperature), "--max-tokens", "5", "--stop", "y"]
    found = generated(monkeypatch, "--preset", "mine", *given)
    assert (found.max_tokens, found.stop) == (5, ("y",))
    assert found.sampling.temperature == plain.sampling.temperature
    assert found.sampling.top_k == 7
    greedy = generated(monkeypatch, "--preset", "mine", "--greedy")
    assert greedy.sampling.temperature == 0


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_built_in_presets_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = generated(monkeypatch, "--preset", name).sampling
    assert {n: getattr(found, n) for n in BUILT_IN[name].values} == BUILT_IN[name].values


def test_every_field_of_sampling_but_token_options_can_be_saved() -> None:
    fields = set(inspect.signature(Sampling).parameters)
    assert set(presets.SAMPLING_FIELDS) == fields - {"logit_bias", "banned"}
