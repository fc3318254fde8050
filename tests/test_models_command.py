"""`gpt2gl models` in this process, against a hub on loopback; a fetched model on the device."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import gpt2gl
from gpt2gl.cli import run
from gpt2gl.cli.downloads import DownloadView
from gpt2gl.config import ModelConfig
from gpt2gl.errors import DeviceError
from gpt2gl.gl.layouts import LAYOUTS, PRECISIONS
from gpt2gl.hub.events import Checking, Contacting, Downloading, Pulled, Retrying, Waiting
from gpt2gl.hub.known import KNOWN
from gpt2gl.hub.paths import model_folder
from gpt2gl.memory import needed_bytes, require_room
from gpt2gl.resources import embedded_models
from gpt2gl.tokenizer.byte_level import BYTE_CHARS
from gpt2gl.weights import open_checkpoint
from tests.checkpoints import tiny_config, write_checkpoint
from tests.hub_pulls import MODEL
from tests.hub_server import Faults, Hub, repository, served
from tests.source_tree import ROOT


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with served(monkeypatch, tmp_path / "cache") as found:
        found.repositories[MODEL] = repository(tmp_path / "repository")
        yield found


@pytest.fixture
def models(hub, capfd) -> Callable[..., SimpleNamespace]:
    """Runs `gpt2gl models ...`."""

    def call(*arguments: str) -> SimpleNamespace:
        code = run(["models", *arguments])
        out, err = capfd.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


def test_listing_without_a_network(models, hub):
    done = models()
    assert done.code == 0
    assert all(name in done.out for name in (*KNOWN, "storyteller", "built in", "apache-2.0"))
    assert not hub.requests


def test_a_model_from_pull_to_remove(models, hub):
    done = models("pull", MODEL)
    assert (done.code, done.out) == (0, f"{MODEL}: fetched and checked\n")
    assert done.err == "gpt2gl: fetching 1.3 MB\n"
    line = next(line for line in models().out.splitlines() if line.startswith(MODEL))
    assert line.split()[1:] == ["here", "1", "MB", "0", "M", "mit", f"{hub.endpoint}/{MODEL}"]
    assert models("pull", MODEL).out == f"{MODEL}: here already, checked\n"
    assert models("verify", MODEL).code == 0
    info = models("info", MODEL).out
    assert all(text in info for text in (hub.commit, "2 layers of width 96", "int4"))
    assert models("remove", MODEL).out == f"removed {MODEL}: 1 MB freed\n"
    assert models("remove", MODEL).code == 2


def test_a_damaged_model_is_said_and_repaired(models):
    models("pull", MODEL)
    path = model_folder(MODEL) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    done = models("verify", MODEL)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"gpt2gl: {MODEL}: model.safetensors not as it was when it came:"
        f" run 'gpt2gl models pull {MODEL}'\n"
    )
    assert models("pull", MODEL).code == 0
    assert models("verify", MODEL).code == 0


def test_import(models, tmp_path):
    folder = write_checkpoint(tmp_path / "mine")
    assert models("import", str(folder), "--name", "other").out == "imported other\n"
    assert "other" in models().out
    assert "7 positions" in models("info", "other").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pull", "nope"), "no model of the hub"),
        (("pull", "someone/else"), "no model someone/else at"),
        (("remove", "storyteller"), "ships with gpt2gl"),
        (("remove", "gpt2"), "not in the cache"),
        (("verify", "gpt2"), "not in the cache"),
        (("info", "nope"), "neither here nor known"),
        (("import", "nope"), "no such file or folder"),
    ],
)
def test_one_line_for_every_error(models, arguments, words):
    done = models(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("gpt2gl: ")
    assert words in done.err
    assert done.err.count("\n") == 1


def test_info_of_what_is_known_and_of_what_ships(models, hub):
    known = models("info", "gpt2").out
    assert "124,439,808" in known
    assert "about 551 MB to fetch" in known
    assert "8 layers of width 320" in models("info", "storyteller").out
    assert not hub.requests


def test_a_hub_that_stays_away(models, hub):
    hub.faults = Faults(info_status=503)
    done = models("pull", MODEL)
    assert done.code == 2
    assert "answers 503" in done.err


EVENTS = (
    Contacting(MODEL, "https://hub.example"),
    Waiting(MODEL),
    Downloading("model.safetensors", 5_000_000, 9_000_000, 2.0, 4_000_000),
    Retrying("the connection ended", 1, 2.0),
    Checking("model.safetensors", 1, 2),
    Pulled(MODEL, Path(), True),
)


def test_a_terminal_shows_speed_and_time_left(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    shown: list[str] = []
    for event in EVENTS:
        with DownloadView() as view:
            view.show(EVENTS[0])
            view.show(event)
            shown.append(view._progress.tasks[0].fields["state"])
    assert shown[2] == "5.0 of 9.0 MB, 2.0 MB/s, 0:02 left"
    assert shown[3] == "the connection ended; again in 2 s"


# On the device ----------------------------------------------------------------------------------


def test_load_fetches_and_runs_it_and_then_needs_no_network(hub, context):
    seen: list[object] = []
    with gpt2gl.load(MODEL, on_download=seen.append) as session:
        logits = session.logits([1, 2, 3])
    assert any(isinstance(event, Downloading) for event in seen)
    assert logits.shape[-1] == 1000
    hub.requests.clear()
    with gpt2gl.load(MODEL) as session:
        assert (session.logits([1, 2, 3]) == logits).all()
    assert not hub.requests


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_memory_is_estimated(context, precision):
    with gpt2gl.load(precision=precision) as session:
        session.logits([1, 2, 3])
        session.logits([1])
        used = sum(session.model.device.pool.bytes_by_use.values())
    with open_checkpoint(embedded_models()["storyteller"]) as checkpoint:
        estimate = needed_bytes(checkpoint.config, LAYOUTS[PRECISIONS[precision]])
    assert 0.8 * used < estimate < 1.3 * used


def test_a_model_that_does_not_fit_is_refused_with_numbers():
    config = ModelConfig.gpt2("gpt2")
    sides = {"max_side": 16384, "max_layers": 2048, "untied": False}
    layout = LAYOUTS["rgba32f"]
    needed = needed_bytes(config, layout)
    require_room(config, layout, capacity=None, **sides)
    require_room(config, layout, capacity=needed, **sides)
    numbers = rf"needs {needed / 1e6:.0f} MB .* has {needed / 2e6:.0f} MB in all: .*int8 or int4"
    with pytest.raises(DeviceError, match=numbers):
        require_room(config, layout, capacity=needed // 2, **sides)
    with pytest.raises(DeviceError, match="choose a smaller model"):
        require_room(config, layout, capacity=1_000_000, **sides)
    with pytest.raises(DeviceError, match="texture layers"):
        require_room(config, layout, capacity=None, **{**sides, "max_layers": 1, "max_side": 64})


def test_the_refusal_comes_before_the_upload(context, monkeypatch):
    monkeypatch.setattr("gpt2gl.gl.memory.capacity", lambda: 1_000_000)
    with pytest.raises(DeviceError, match="in all"):
        gpt2gl.load()


def test_a_driver_says_its_memory_or_nothing(device):
    from gpt2gl.gl.memory import capacity

    found = capacity()
    assert found is None or found > 1 << 20


# What docs/models.md shows ----------------------------------------------------------------------

DOCUMENT = ROOT / "docs" / "models.md"


@pytest.fixture
def shown_model(hub, tmp_path, monkeypatch) -> None:
    """A small model under the name of the documented one, and a folder to import."""
    config = tiny_config(vocab_size=300, n_embd=12, n_positions=64)
    folder = write_checkpoint(tmp_path / "my-model", config)
    vocab = {token: i for i, token in enumerate([*BYTE_CHARS, "<|endoftext|>"])}
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    hub.repositories["openai-community/gpt2"] = files
    monkeypatch.chdir(tmp_path)


def test_the_documented_commands_run(shown_model, context, capfd):
    commands = re.findall(r"^\$ gpt2gl (.+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        assert run(shlex.split(command)) == 0, (command, capfd.readouterr().err)


def test_the_documented_python_runs(shown_model, context, capfd):
    (block,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.DOTALL | re.M)
    exec(compile(block, str(DOCUMENT), "exec"), {})
    assert "Downloading(" in capfd.readouterr().out
