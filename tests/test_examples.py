"""The examples run from the first cell to the last."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from gpt2gl.models.gpt2 import GPT2
from gpt2gl.resources import embedded_models
from gpt2gl.session import Session
from gpt2gl.tokenizer import Tokenizer
from tests import models
from tests.checkpoints import tiny_config, write_checkpoint
from tests.conftest import MakeDevice
from tests.source_tree import ROOT


def test_induction_heads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_checkpoint(tmp_path / "tiny", tiny_config(n_positions=24))
    picture = tmp_path / "heads.png"
    monkeypatch.setattr("sys.argv", ["induction_heads.py", str(folder), str(picture)])
    runpy.run_path(str(ROOT / "examples" / "induction_heads.py"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("12 random tokens, twice")
    table = [line.split() for line in lines[2:8]]
    assert {(int(layer), int(head)) for layer, head, *_ in table} == {
        (layer, head) for layer in range(2) for head in range(3)
    }
    scores = [float(row[2]) for row in table]
    assert scores == sorted(scores, reverse=True)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_indirect_object(
    make_device: MakeDevice,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With one layer, a patch at the last position gives the other text's answer."""
    source = models.checkpoint(models.config(vocab_size=8192, n_layer=1))
    tokenizer = Tokenizer.from_directory(embedded_models()["storyteller"])
    session = Session(GPT2.load(make_device(), source), tokenizer, "tiny")
    monkeypatch.setattr("gpt2gl.load", lambda name: session)
    picture = tmp_path / "patched.png"
    monkeypatch.setattr("sys.argv", ["indirect_object.py", "tiny", str(picture)])
    found = runpy.run_path(str(ROOT / "examples" / "indirect_object.py"))
    difference = found["after"] - found["before"]
    assert abs(difference) > 0.01
    assert found["change"][0, -1] == pytest.approx(difference, abs=1e-3)
    assert abs(found["change"][0, :-1]).max() < 1e-3
    assert "tiny: Mary over John by" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
