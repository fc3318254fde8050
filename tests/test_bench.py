"""`gpt2gl bench` and the two tools beside it on tiny models: what they report, never how fast."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gpt2gl
from gpt2gl.bench import Plan, Result, Spread, bench, known_precisions, measure_decode, plan_for
from gpt2gl.cli import run
from gpt2gl.config import ModelConfig
from gpt2gl.errors import OptionError
from gpt2gl.gl import timing
from gpt2gl.gl.call import Step
from gpt2gl.session import Session
from tests.checkpoints import tiny_config, tiny_weights, write_checkpoint
from tests.source_tree import ROOT

N_POSITIONS = 40
PLAN = Plan(contexts=(2, 24), prefills=(5, 33), repeats=2, profile=True)


@pytest.fixture(scope="module", autouse=True)
def short_probes() -> Iterator[None]:
    """Rates are not checked here, so they need not be right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "LARGE", (64, timing.LARGE[1]))
        patch.setattr(timing, "LONG_ENOUGH", 1e-3)
        patch.setattr(timing, "HEAD_START", 1e-3)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    config = tiny_config(n_positions=N_POSITIONS)
    write_checkpoint(path, config, tiny_weights(config))
    return path


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return bench(lambda: gpt2gl.load(str(folder), "int8"), "int8", PLAN)


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Session]:
    with gpt2gl.load(str(folder)) as opened:
        yield opened


def ordered(spread: Spread) -> bool:
    return 0 < spread.min <= spread.median <= spread.max < math.inf


# What is measured -------------------------------------------------------------------------------


def test_spread() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)


def test_decode(result: Result) -> None:
    assert [each.context for each in result.decode] == [2, 24]
    for each in result.decode:
        assert ordered(each.ms)
        assert ordered(each.read_ms)
        assert ordered(each.python_us)
        assert each.read_share == pytest.approx(each.read_ms.median / each.ms.median)
        assert each.draws > 2 * 7


def test_prefill_and_loading(result: Result) -> None:
    assert [each.tokens for each in result.prefill] == [5, 33]
    for each in result.prefill:
        assert ordered(each.seconds)
        assert each.tokens_per_s == pytest.approx(each.tokens / each.seconds.median)
    assert result.load_s > 0
    assert result.first_token_s > 0
    assert result.first_prompt == 5


def test_memory_adds_up(result: Result) -> None:
    memory = result.memory
    assert min(memory.weights, memory.kv_cache, memory.scratch) > 0
    assert memory.other >= 0
    assert memory.total == memory.weights + memory.kv_cache + memory.scratch + memory.other
    assert memory.ratio == memory.total / (memory.weights + memory.kv_cache)
    # Layers, positions, k and v, width, bytes; rows are padded.
    assert memory.kv_cache >= 2 * N_POSITIONS * 2 * 12 * 4


def test_profile_covers_the_token(result: Result) -> None:
    profile = result.profile
    assert profile is not None
    assert profile.context == 24
    assert profile.method in ("timer queries", "glFinish")
    assert profile.rates.fetches_per_s > 0
    assert profile.rates.bytes_per_s > 0
    assert sum(row.share for row in profile.passes) == pytest.approx(1)
    assert sum(row.ms for row in profile.passes) == pytest.approx(profile.ms)
    assert [row.ms for row in profile.passes] == sorted(
        (r.ms for r in profile.passes), reverse=True
    )
    for row in profile.passes:
        floor = 1e3 * max(
            row.fetches / profile.rates.fetches_per_s, row.bytes / profile.rates.bytes_per_s
        )
        assert row.floor_ms == pytest.approx(floor)
        assert row.floor_share == pytest.approx(row.floor_ms / row.ms)


def test_bytes_of_passes(result: Result) -> None:
    assert result.profile is not None
    rows = {(row.name, row.shape): row for row in result.profile.passes}
    fc = rows["linear", "12 -> 48"]
    assert fc.calls == 2
    # Of each layer: int8 weights with K padded to 12 and scales; the result.
    assert fc.bytes == 2 * (12 * 48 + 48 * 4 + 48 * 4)
    # Keys of 24 positions, and scores of at least that many for three heads.
    scores = next(row for row in result.profile.passes if row.name == "attention_scores")
    assert scores.bytes >= 2 * (24 * 12 * 4 + 3 * 24 * 4)


def test_nothing_stays_on_the_gpu(session: Session) -> None:
    device = session.model.device
    timing.measure_rates(device)  # deletes what waited for its next use
    before = timing.texture_bytes(device), {**device.counts(), "programs": 0}
    rates = timing.measure_rates(device)
    assert (timing.texture_bytes(device), {**device.counts(), "programs": 0}) == before
    assert min(rates.fetches_per_s, rates.bytes_per_s) > 0
    device.check()


def test_logits_after_measuring_rates(session: Session) -> None:
    expected = session.logits([1, 2, 3])
    timing.measure_rates(session.model.device)
    np.testing.assert_array_equal(session.logits([1, 2, 3]), session.logits([1, 2, 3]))
    np.testing.assert_allclose(session.logits([1, 2, 3]), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", timing.METHODS)
def test_every_method_times_every_pass(session: Session, method: str) -> None:
    session.logits([1, 2, 3])
    device, plan = session.model.device, session.model.plan("decode")
    runs = timing.METHODS[method](device, plan, Step(2, 1), 2)
    assert [len(run) for run in runs] == [len(plan)] * 2
    assert all(seconds >= 0 for run in runs for seconds in run)
    device.check()


def test_silenced_draws_nothing_and_ends(session: Session) -> None:
    expected = session.logits([1, 2, 3, 4])
    device = session.model.device
    calls = device._gl
    with timing.silenced(device):
        assert device._gl is not calls
        for _ in session.encode_steps([1, 2, 3, 5]):
            pass
    assert device._gl is calls
    # The logits are still those of the text before.
    np.testing.assert_array_equal(session.model.logits(), expected)


def test_silence_ends_with_an_error(session: Session) -> None:
    calls = session.model.device._gl
    with pytest.raises(OptionError), timing.silenced(session.model.device):
        session.logits([99])
    assert session.model.device._gl is calls


def test_the_session_is_right_after_its_python_was_timed(session: Session) -> None:
    expected = session.logits([7, 8, 9, 10, 3])
    measure_decode(session, [7, 8, 9], [1, 10])
    np.testing.assert_allclose(session.logits([7, 8, 9, 10, 3]), expected, rtol=1e-4, atol=1e-4)


# Options ----------------------------------------------------------------------------------------


def test_sizes_are_sorted_and_default_to_what_fits() -> None:
    small = ModelConfig(n_positions=300, vocab_size=50)
    assert plan_for(small) == Plan((16, 256), (32,))
    assert plan_for(ModelConfig(n_positions=8, vocab_size=50)) == Plan((8,), (8,))
    assert plan_for(small, [9, 3, 9], [300], 1, True) == Plan((3, 9), (300,), 1, True)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"contexts": [301]}, "--context is 301; allowed: 2 to the model's 300"),
        ({"contexts": [1]}, "--context is 1; allowed: 2 to the model's 300"),
        ({"prefills": [0]}, "--prefill is 0; allowed: 2 to the model's 300"),
        ({"repeats": 0}, "--repeats is 0; allowed: 1 or more"),
    ],
)
def test_sizes_that_do_not_fit(sizes: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        plan_for(ModelConfig(n_positions=300, vocab_size=50), **sizes)
    assert str(caught.value) == message


def test_a_model_too_small() -> None:
    with pytest.raises(OptionError, match="1 tokens and 9 positions is too small"):
        plan_for(ModelConfig(n_positions=9, vocab_size=1))


def test_precisions() -> None:
    assert known_precisions(["int8", "fp32", "int8"]) == ("int8", "fp32")
    assert known_precisions(["fp32", "all"]) == ("fp32", "fp32-plain", "fp16", "int8", "int4")
    with pytest.raises(OptionError, match="precision is fp31; allowed: fp32"):
        known_precisions(["all", "fp31"])


# The command ------------------------------------------------------------------------------------


def test_json_is_one_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("--context", "9", "--prefill", "4", "--repeats", "2")
    assert run(["bench", "-m", str(folder), "-p", "int4", *sizes, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert err == ""
    assert found["model"] == str(folder)
    assert found["plan"] == {"contexts": [9], "prefills": [4], "repeats": 2, "profile": False}
    assert [each["precision"] for each in found["results"]] == ["int4"]
    for each in found["results"]:
        assert set(each["decode"][0]["ms"]) == {"median", "min", "max"}
        assert each["profile"] is None


def test_tables(
    folder: Path,
    result: Result,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpt2gl.cli.bench.bench", lambda load, precision, plan: result)
    assert run(["bench", "-m", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{folder} on ")
    for heading in ("ms a token", "tokens/s", "weights MB", "floor / time", "attention_scores"):
        assert heading in out
    assert json.loads(json.dumps(asdict(result)))["precision"] == "int8"


@pytest.mark.parametrize(
    "arguments",
    [("--context", "41"), ("--prefill", "1"), ("--repeats", "0"), ("-p", "fp31"), ("-m", "none")],
)
def test_bad_input_is_one_line(
    folder: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "-m", str(folder), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gpt2gl: ")
    assert err.count("\n") == 1


# Tools ------------------------------------------------------------------------------------------


def tool(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module(name)


def test_peers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = tool(monkeypatch, "bench_peers")
    monkeypatch.setattr(peers, "PAUSE_SECONDS", 0)
    monkeypatch.setattr("peer_engines.cores", lambda: 1)
    config = peers.GPT2Config(
        n_layer=2,
        n_embd=24,
        n_head=3,
        vocab_size=50,
        n_positions=40,
        bos_token_id=0,
        eos_token_id=0,
    )
    rows = peers.compare(config, ["fp32"], peers.Sizes(12, 20, rounds=2, tokens=2))
    by_name = {row.engine: row for row in rows}
    assert {"transformers cpu", "gpt2gl fp32"} <= by_name.keys()
    base = by_name["transformers cpu"].decode["transformers cpu"]
    assert base == Spread(1, 1, 1)
    for row in rows:
        assert row.difference <= 1e-4 * row.scale
        assert ordered(row.decode_ms)
        assert ordered(row.prefill["transformers cpu"])
    peers.table_of(rows, peers.Sizes(12, 20, 2, 2))


def test_perplexity_of_precisions(monkeypatch: pytest.MonkeyPatch) -> None:
    perplexity = tool(monkeypatch, "perplexity")
    text = "Once upon a time there was a king who had three daughters. " * 3
    windows = perplexity.Windows(size=16, stride=8, max_tokens=24)
    rows = perplexity.measure("storyteller", ["int8"], text, windows)
    assert [row.precision for row in rows] == ["fp32", "int8"]
    assert [row.n_tokens for row in rows] == [24, 24]
    assert rows[0].ratio == 1
    assert rows[1].ratio == rows[1].perplexity / rows[0].perplexity
    assert 0.9 < rows[1].ratio < 1.1
