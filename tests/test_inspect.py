"""`gpt2gl inspect`: its files hold what the session says, and nobody else's file is harmed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpt2gl import analysis, inspection
from gpt2gl.cli import run
from gpt2gl.interventions import scale_part
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.resources import embedded_models
from gpt2gl.session import Session
from gpt2gl.tokenizer import Tokenizer
from tests import models
from tests.conftest import MakeDevice

PROMPT = "A king had $5 and\n a \u00fcber cat $"
CONFIG = models.config(vocab_size=8192, n_positions=64)
PICTURES = {
    *("attention_h.0.png", "attention_h.1.png", "rollout.png", "lens.png"),
    *("residual_norms.png", "token_probabilities.png"),
}
ARRAYS = {"attention.npz", "residuals.npz", "lens.npz", "tokens.npz"}


@pytest.fixture(scope="module")
def tiny(make_module_device: MakeDevice) -> Session:
    """A tiny random model with the embedded model's tokenizer."""
    tokenizer = Tokenizer.from_directory(embedded_models()["storyteller"])
    model = GPT2.load(make_module_device(), models.checkpoint(CONFIG))
    return Session(model, tokenizer, "tiny")


@pytest.fixture
def inspect(
    tiny: Session, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., SimpleNamespace]:
    """Runs the command on a model that is loaded already."""
    monkeypatch.setattr(
        "gpt2gl.cli.inspect.load_with_progress", lambda model, precision, tune: nullcontext(tiny)
    )

    def call(*arguments: str) -> SimpleNamespace:
        code = run(["inspect", *arguments])
        tiny.set_interventions(())
        out, err = capfd.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


def arrays_of(path: Path) -> dict[str, Any]:
    with np.load(path) as stored:
        return dict(stored)


def index_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "inspect.json").read_text(encoding="utf-8"))
    return found


# What is written -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tiny: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One inspection with everything in it."""
    folder = tmp_path_factory.mktemp("whole") / "made" / "here"
    options = inspection.Inspection(names=("h.0.attn.q", "h.*.attn.probs"), top=3)
    inspection.inspect(tiny, tiny.prompt_tokens(PROMPT), folder, options, {"prompt": PROMPT})
    return folder


def test_the_files(whole: Path) -> None:
    index = index_of(whole)
    names = {*ARRAYS, *PICTURES, "trace.npz"}
    assert set(index["files"]) == names
    assert {path.name for path in whole.iterdir()} == {*names, "inspect.json"}
    assert (index["program"], index["complete"], index["left_out"]) == ("gpt2gl inspect", True, [])
    for name, shapes in index["arrays"].items():
        assert {k: list(v.shape) for k, v in arrays_of(whole / name).items()} == shapes


def test_the_arrays(tiny: Session, whole: Path) -> None:
    tokens = tiny.prompt_tokens(PROMPT)
    trace = tiny.trace(tokens)
    attention = arrays_of(whole / "attention.npz")["attention"]
    np.testing.assert_array_equal(attention, analysis.attention_of(trace, 2))
    residuals = arrays_of(whole / "residuals.npz")
    for i, name in enumerate(("embed", "h.0.resid_post", "h.1.resid_post")):
        np.testing.assert_array_equal(residuals["residuals"][i], trace[name])
        lengths = np.linalg.norm(trace[name], axis=1)
        np.testing.assert_allclose(residuals["norms"][i], lengths, rtol=1e-5)
    named = arrays_of(whole / "trace.npz")
    assert set(named) == {"h.0.attn.q", "h.0.attn.probs", "h.1.attn.probs"}
    np.testing.assert_array_equal(named["h.0.attn.q"], trace["h.0.attn.q"])
    lens = tiny.lens(tokens, top=3)
    np.testing.assert_array_equal(arrays_of(whole / "lens.npz")["tokens"], lens.tokens)


def test_the_token_probabilities(tiny: Session, whole: Path) -> None:
    tokens = tiny.prompt_tokens(PROMPT)
    p = analysis.probabilities(np.concatenate(list(tiny.row_logits(tokens))))
    found, rows = arrays_of(whole / "tokens.npz"), index_of(whole)["tokens"]
    assert [row["id"] for row in rows] == found["ids"].tolist() == tokens
    assert (rows[0]["probability"], rows[0]["rank"]) == (None, None)
    for i in range(1, len(tokens)):
        assert found["probabilities"][i] == pytest.approx(p[i - 1, tokens[i]], rel=1e-5)
        assert found["entropies"][i] == pytest.approx(analysis.entropy(p[i - 1]), rel=1e-5)
        assert rows[i]["rank"] == 1 + (p[i - 1] > p[i - 1, tokens[i]]).sum()
    likely = rows[-1]["next"][0]
    assert likely["id"] == p[-1].argmax()
    assert likely["text"] == tiny.tokenizer.token_text(likely["id"])


def test_the_lens_in_the_index(tiny: Session, whole: Path) -> None:
    rows = index_of(whole)["lens"]
    assert [row["tensor"] for row in rows[:3]] == ["embed", "h.0.resid_post", "h.1.resid_post"]
    last = rows[-1]
    assert last["chosen"] == last["guesses"][0]["text"]
    assert last["chosen_rank"] == 1


def test_the_pictures(whole: Path) -> None:
    for name in PICTURES:
        data = (whole / name).read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        assert data.startswith(b"\x89PNG")
        assert 200 < width < 4000, name
        assert 100 < height < 4000, name


# The command -----------------------------------------------------------------------------------


def test_the_command(inspect: Callable[..., SimpleNamespace], tmp_path: Path) -> None:
    done = inspect(PROMPT, "--out", str(tmp_path), "--no-plots", "--top", "2", "--lens", "3")
    assert (done.code, done.out) == (0, f"5 files on 16 tokens in {tmp_path}\n")
    assert done.err == "left out: the lens at the first 13 tokens: --lens 0 for all\n"
    assert {path.name for path in tmp_path.iterdir()} == {*ARRAYS, "inspect.json"}
    index = index_of(tmp_path)
    assert index["prompt"] == PROMPT
    assert (index["model"], index["precision"]) == ("storyteller", "fp32")
    assert len(index["lens"]) == 9


def test_parts_switched_off_and_scaled(
    inspect: Callable[..., SimpleNamespace], tiny: Session, tmp_path: Path
) -> None:
    done = inspect(
        *(PROMPT, "-o", str(tmp_path), "--no-plots", "--ablate", "h.0.attn.head.2"),
        *("--ablate", "h.1.mlp", "--scale", "h.0=0.5"),
    )
    assert done.code == 0, done.err
    assert index_of(tmp_path)["interventions"] == ["h.0.attn.head.2=0", "h.1.mlp=0", "h.0=0.5"]
    parts = (("h.0.attn.head.2", 0.0), ("h.1.mlp", 0.0), ("h.0", 0.5))
    with tiny.intervene(*(each for part in parts for each in scale_part(*part))):
        trace = tiny.trace(tiny.prompt_tokens(PROMPT), ["h.1.resid_post"])
    found = arrays_of(tmp_path / "residuals.npz")["residuals"][-1]
    np.testing.assert_array_equal(found, trace["h.1.resid_post"])


def test_a_second_run_takes_the_place_of_the_first(
    inspect: Callable[..., SimpleNamespace], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for prompt in ("one two", "three"):
        assert inspect(prompt, "--out", str(tmp_path), "--no-plots").code == 0
    assert index_of(tmp_path)["prompt"] == "three"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 6


def test_a_long_text_leaves_attention_out(
    inspect: Callable[..., SimpleNamespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "MOST_ATTENTION", 1000)
    done = inspect(PROMPT, "--out", str(tmp_path), "--no-plots")
    assert done.code == 0
    assert "left out: attention.npz would hold" in done.err
    assert not (tmp_path / "attention.npz").exists()


def test_files_of_others_are_not_overwritten(
    inspect: Callable[..., SimpleNamespace], tmp_path: Path
) -> None:
    (tmp_path / "lens.npz").write_text("mine")
    done = inspect(PROMPT, "--out", str(tmp_path))
    assert done.code == 2
    assert "lens.npz is there already" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["lens.npz"]
    assert (tmp_path / "lens.npz").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--names", "h.2.attn.q"), "no tensor is called 'h.2.attn.q'"),
        (("--ablate", "h.7.mlp"), "no tensor is called 'h.7.mlp"),
        (("--ablate", "h.0.attn.head.3"), "head 3 does not exist; allowed: 0 to 2"),
        (("--scale", "h.0.mlp"), "--scale is 'h.0.mlp'; allowed: PART=NUMBER"),
        (("--scale", "h.0.mlp=inf"), "values must be finite"),
        (("--top", "0"), "--top"),
    ],
)
def test_bad_options(
    inspect: Callable[..., SimpleNamespace],
    tmp_path: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    done = inspect(PROMPT, "--out", str(tmp_path / "new"), *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_bad_places_and_texts(
    inspect: Callable[..., SimpleNamespace], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        done = inspect(PROMPT, "--out", str(out))
        assert done.code == 2
        assert done.err.endswith("choose another folder\n")
    long = inspect("word " * 100, "--out", str(tmp_path / "new"))
    assert (long.code, long.err.count("\n")) == (2, 1)
    assert "exceed the model's context of 64" in long.err
    assert inspect(PROMPT).code == 2


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    from gpt2gl.array_files import array_file

    path = tmp_path / "a.npz"
    with array_file(path) as file:
        file.add("x", np.arange(3))
    with pytest.raises(KeyError), array_file(path) as file:
        file.add("x", {}["missing"])
    assert arrays_of(path)["x"].tolist() == [0, 1, 2]
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]
