"""Tuning: what is chosen, what is remembered, and that no answer depends on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpt2gl
from gpt2gl import calibration
from gpt2gl.calibration import (
    ADVANTAGE,
    MAX_FETCHES,
    MIN_FETCHES,
    Chain,
    calibrate,
    candidates,
    described,
    stored,
    tuning_for,
)
from gpt2gl.cli import run
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import Device
from gpt2gl.gl.tuning import GPU, SOFTWARE, Tuning, default_tuning
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.tolerances import compare
from gpt2gl.weights import Checkpoint
from tests.models import EXACT, checkpoint, config, encoded, some_tokens

FOUND = Tuning(x_blocks=False, split_fragments=24, fetches_per_draw=123_456)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; its folder of tunings."""
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuning"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Context]:
    """Calibrations asked for; each finds `FOUND` at once."""
    made: list[Context] = []

    def measure(context: Context) -> Tuning:
        made.append(context)
        return FOUND

    monkeypatch.setattr(calibration, "calibrate", measure)
    return made


def is_software(device: Device, value: bool) -> Any:
    """The device's limits as those of a CPU that draws, or of a GPU."""
    return replace(device.limits, renderer="llvmpipe" if value else "GPU")


# Measuring --------------------------------------------------------------------------------------


def test_a_calibration_chooses_a_candidate(device: Device) -> None:
    found = calibrate(device.context)
    choices = [(each.x_blocks, each.split_fragments) for each in candidates(device.limits)]
    assert (found.x_blocks, found.split_fragments) in choices
    assert MIN_FETCHES <= found.fetches_per_draw <= MAX_FETCHES


@pytest.mark.parametrize("tuning", [SOFTWARE, GPU], ids=["uniform block", "texture"])
@pytest.mark.parametrize("n_rows", [1, 16])
def test_chains_are_of_numbers_other_than_zero(device: Device, tuning: Tuning, n_rows: int) -> None:
    from gpt2gl.gl.storage import read_rows

    device.tuning = tuning
    products = calibration._Products(device, "int8", n_rows)
    chain = products.chain()
    # A token's worth of texels: 768 x 768 in blocks of 16 a product, twice a pair.
    assert chain.fetches >= 2 * 768 * 768 // 16
    rows = read_rows(device, products.y)
    assert np.isfinite(rows).all()
    assert (rows != 0).mean() > 0.99
    assert 0.1 < rows.std() < 10


def test_candidates_start_with_the_default(device: Device) -> None:
    for software in (True, False):
        limits = is_software(device, software)
        choices = candidates(limits)
        assert choices[0] == default_tuning(limits)
        assert len(set(choices)) == len(choices) > 1


@pytest.mark.parametrize(
    ("seconds", "expected"), [((1.0, ADVANTAGE * 0.99), 1), ((1.0, ADVANTAGE * 1.01), 0)]
)
def test_noise_does_not_decide(
    device: Device,
    monkeypatch: pytest.MonkeyPatch,
    seconds: tuple[float, ...],
    expected: int,
) -> None:
    times = iter((*seconds, *[1.0] * 9))
    monkeypatch.setattr(calibration, "_chains", lambda *_: [Chain(next(times), 1_000_000)])
    monkeypatch.setattr(calibration, "candidates", lambda limits: [SOFTWARE, FOUND])
    found = calibrate(device.context)
    assert found.x_blocks == (SOFTWARE, FOUND)[expected].x_blocks


@pytest.mark.parametrize(
    ("fetches", "expected"),
    [(10_000_000_000, 40_000_000), (1, MIN_FETCHES), (10**15, MAX_FETCHES)],
)
def test_a_draw_may_take_four_milliseconds(
    device: Device, monkeypatch: pytest.MonkeyPatch, fetches: int, expected: int
) -> None:
    monkeypatch.setattr(calibration, "_chains", lambda *_: [Chain(1.0, fetches)])
    assert calibrate(device.context).fetches_per_draw == expected


# Remembering ------------------------------------------------------------------------------------


def test_a_device_is_measured_once(cache: Path, device: Device, calls: list[Context]) -> None:
    assert stored(device.limits) is None
    assert [tuning_for(device.context) for _ in range(3)] == [FOUND] * 3
    assert len(calls) == 1
    assert stored(device.limits) == FOUND
    (path,) = cache.iterdir()
    assert json.loads(path.read_text())["renderer"] == device.limits.renderer


@pytest.mark.parametrize("field", ["renderer", "vendor", "version"])
def test_another_driver_is_another_device(device: Device, calls: list[Context], field: str) -> None:
    tuning_for(device.context)
    assert stored(replace(device.limits, **{field: "another"})) is None


def good() -> dict[str, Any]:
    return {"x_blocks": True, "split_fragments": 0, "fetches_per_draw": 1_000_000}


DAMAGED: dict[str, bytes] = {
    "empty": b"",
    "not JSON": b"{",
    "a list": b"[]",
    "not UTF-8": b"\xff\xfe",
    "no field": b"{}",
    **{
        f"{name} {value!r}": json.dumps({**good(), name: value}).encode()
        for name, value in [
            *(("x_blocks", 1), ("x_blocks", "yes"), ("x_blocks", None)),
            *(("split_fragments", -1), ("split_fragments", 0.5), ("split_fragments", 1 << 40)),
            *(("fetches_per_draw", 0), ("fetches_per_draw", True), ("fetches_per_draw", 10**12)),
            ("fetches_per_draw", [1]),
        ]
    },
}


@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_measured_anew(
    cache: Path, device: Device, calls: list[Context], raw: bytes
) -> None:
    tuning_for(device.context)
    (path,) = cache.iterdir()
    path.write_bytes(raw)
    assert stored(device.limits) is None
    assert tuning_for(device.context) == FOUND
    assert stored(device.limits) == FOUND
    assert len(calls) == 2


def test_where_nothing_can_be_kept_nothing_is_measured(
    cache: Path, device: Device, calls: list[Context]
) -> None:
    cache.parent.write_text("a file")
    assert tuning_for(device.context) is None
    assert calls == []


# Using ------------------------------------------------------------------------------------------


def all_candidates(device: Device) -> list[Tuning]:
    """Every way of drawing that any device may end up with, as far as a small model can tell: its
    sums are split into all their parts or not at all."""
    found = [each for kind in (True, False) for each in candidates(is_software(device, kind))]
    return list({(each.x_blocks, each.split_fragments > 0): each for each in found}.values())


@pytest.mark.parametrize("layout", ["rgba32f", "int8"])
def test_no_answer_depends_on_the_choice(device: Device, context: Context, layout: str) -> None:
    source = checkpoint(config(n_embd=36))
    tokens = some_tokens(source.config, 12)
    found = [
        each
        for tuning in all_candidates(device)
        for each in answers(context, source, layout, tuning, tokens)
    ]
    assert len(found) == 6
    for prefill, decode in found[1:]:
        for actual, wanted in ((prefill, found[0][0]), (decode, found[0][1])):
            # The weights are the same rounded ones, so the limits are those of float32.
            difference = compare("rgba32f", "logits", actual, wanted)
            assert difference.ok, difference
            assert layout not in EXACT or actual.argmax() == wanted.argmax()


def answers(
    context: Context, source: Checkpoint, layout: str, tuning: Tuning, tokens: list[int]
) -> Iterator[tuple[Any, Any]]:
    """Logits by prefill and by decode, with draws cut small and large."""
    with Device(context, tuning=tuning) as device:
        assert device.tuning == tuning
        model = GPT2.load(device, source, layout)
        for device.fetches_per_draw in (1000, MAX_FETCHES):
            prefill = encoded(model, tokens[:-1])
            yield prefill, encoded(model, tokens, len(tokens) - 1)


@pytest.mark.parametrize("tune", [True, False])
def test_load_tunes_unless_told_not_to(
    context: Context, gl_objects: Any, calls: list[Context], tune: bool
) -> None:
    with gpt2gl.load(context=context, tune=tune) as session:
        device = session.model.device
        assert device.tuning == (FOUND if tune else default_tuning(device.limits))
        assert device.fetches_per_draw == device.tuning.fetches_per_draw
    assert len(calls) == tune


@pytest.mark.parametrize("arguments", [["generate", "--max-tokens", "1", "Once"]])
def test_no_tune(
    context: Context, capsys: pytest.CaptureFixture[str], calls: list[Context], arguments: list[str]
) -> None:
    assert run([*arguments, "--no-tune"]) == 0
    assert calls == []
    assert run(arguments) == 0
    assert len(calls) == 1
    capsys.readouterr()


@pytest.mark.parametrize("command", ["generate", "verify", "score", "bench"])
def test_every_command_that_loads_can_leave_it_out(
    capsys: pytest.CaptureFixture[str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run([command, "--help"]) == 0
    assert re.search(r"--no-tune\b", capsys.readouterr().out)


def test_the_doctor_shows_it(
    context: Context,
    capsys: pytest.CaptureFixture[str],
    calls: list[Context],
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    monkeypatch.setattr("gpt2gl.selftest.check_layouts", lambda context, tuning: [])
    run(["doctor"])
    assert "(fixed; measured when a model is first loaded)" in capsys.readouterr().out
    tuning_for(context)
    run(["doctor"])
    assert f"tuning     {described(FOUND)}  (measured)" in capsys.readouterr().out


def test_a_tuning_in_words() -> None:
    assert described(FOUND) == (
        "input row in a texture, sums split for 24 fragments, 123,456 fetches a draw"
    )
    assert described(SOFTWARE).startswith("input row in a uniform block, sums not split, ")
