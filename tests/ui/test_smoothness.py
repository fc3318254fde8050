"""What keeps the window smooth, in counts: how much is done between two frames, drawn, or awaited.

Times depend on the machine and are measured by tools/bench_window.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpt2gl.dialogue import Dialogue
from gpt2gl.generation import Generation, Working
from gpt2gl.gl.context import Context, headless
from gpt2gl.quantised_cache import QuantisedCache
from gpt2gl.quantised_file import Piece
from gpt2gl.templates import ASSISTANT, USER, Template, Turn
from gpt2gl_ui.engine import (
    JUDGED_SLICES,
    LARGEST_STEP,
    READY,
    SMALLEST_STEP,
    STEP_SECONDS,
    Engine,
)

PROMPT = list(range(1, 131))
LATER = 3600.0


@pytest.fixture(scope="module")
def ready() -> Iterator[Engine]:
    engine = Engine(Context(headless().window), lambda: None)
    engine.load("storyteller", "int8")
    while engine.work(time.monotonic() + 0.05):
        pass
    assert engine.state == READY
    yield engine
    engine.close()


def start(engine: Engine, prompt: list[int]) -> list[Any]:
    """Begin an answer; its events so far."""
    assert engine.session is not None
    events: list[Any] = []
    steps = engine.session.generate(prompt, Generation(max_tokens=2))
    engine.start(steps, events.append, lambda error: None)
    return events


def test_no_step_is_taken_after_the_deadline_but_one(ready: Engine) -> None:
    events = start(ready, PROMPT)
    for _ in range(5):
        before = len(events)
        ready.work(time.monotonic() - 1)
        assert len(events) <= before + 1
    ready.stop()


def test_a_prompt_is_read_in_many_steps_and_can_be_stopped_at_each(ready: Engine) -> None:
    assert ready.session is not None
    ready.session.model.device.fetches_per_draw = SMALLEST_STEP
    events = start(ready, PROMPT)
    for _ in range(20):
        ready.work(time.monotonic())
    assert events
    assert all(isinstance(event, Working) for event in events)
    ready.stop()
    count = len(events)
    assert not ready.work(time.monotonic() + LATER)
    assert len(events) == count


@pytest.mark.parametrize(
    ("seconds", "slices", "factor"),
    [
        (STEP_SECONDS, JUDGED_SLICES, 1),
        (3 * STEP_SECONDS, JUDGED_SLICES - 1, 1),
        (3 * STEP_SECONDS, JUDGED_SLICES, 0.5),
        (9 * STEP_SECONDS, 2, 0.5),
        (STEP_SECONDS / 9, JUDGED_SLICES, 2),
    ],
)
def test_steps_follow_what_they_take(
    ready: Engine, seconds: float, slices: int, factor: float
) -> None:
    assert ready.session is not None
    device = ready.session.model.device
    device.fetches_per_draw = 1_000_000
    ready._step_seconds.clear()
    for _ in range(slices):
        ready._adapt(seconds)
    assert device.fetches_per_draw == factor * 1_000_000


def test_some_slow_slices_among_others_change_nothing(ready: Engine) -> None:
    assert ready.session is not None
    device = ready.session.model.device
    device.fetches_per_draw = 1_000_000
    ready._step_seconds.clear()
    for index in range(4 * JUDGED_SLICES):
        ready._adapt(6 * STEP_SECONDS if index % 3 == 0 else STEP_SECONDS)
    assert device.fetches_per_draw == 1_000_000


@pytest.mark.parametrize(
    ("seconds", "end"), [(1.0, SMALLEST_STEP), (0.0, LARGEST_STEP)], ids=["slow", "fast"]
)
def test_steps_stay_within_bounds(ready: Engine, seconds: float, end: int) -> None:
    assert ready.session is not None
    device = ready.session.model.device
    for _ in range(20 * JUDGED_SLICES):
        ready._adapt(seconds)
    assert device.fetches_per_draw == end


def test_waiting_for_a_thread_says_nothing_new_and_leaves_it_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes: list[bool] = []
    engine = Engine(Context(headless().window), lambda: changes.append(True))
    slept: list[float] = []
    monkeypatch.setattr("gpt2gl_ui.engine.time.sleep", slept.append)
    monkeypatch.setattr("gpt2gl.loading._open", lambda name, opened: None)  # never done
    engine.load("storyteller", "int8")
    while not engine._waits:
        engine.work(time.monotonic() + 0.01)
    before = len(changes)
    slept.clear()
    for _ in range(50):
        assert engine.work(time.monotonic() + 0.01)
    assert (len(changes), len(slept)) == (before, 50)
    engine.close()


def test_closing_gives_everything_on_the_gpu_back() -> None:
    engine = Engine(Context(headless().window), lambda: None)
    for precision in ("int8", "int4"):
        engine.load("storyteller", precision)
        while engine.work(time.monotonic() + 0.05):
            pass
        assert engine.session is not None
        device = engine.session.model.device
        assert device.counts()["textures"] > 0
        engine.close()
        assert device.counts() == {"textures": 0, "framebuffers": 0, "programs": 0, "buffers": 0}
        assert sum(device.pool.bytes_by_use.values()) == 0


class Counting(Template):
    """A token is a character; counts what is encoded."""

    def __init__(self) -> None:
        self.encoded: list[int] = []

    def prompt(self, turns: Any, tokenizer: Any) -> list[int]:
        tokens = [1] * sum(len(turn.text) for turn in turns)
        self.encoded.append(len(tokens))
        return tokens


@pytest.mark.parametrize("length", [1, 10, 300, 2000])
def test_a_long_dialogue_is_encoded_once_and_its_end_a_few_times(
    ready: Engine, length: int
) -> None:
    assert ready.session is not None
    template = Counting()
    dialogue = Dialogue(ready.session, template, Generation(max_tokens=8))
    roles = (USER, ASSISTANT)
    dialogue.turns = [Turn(roles[i % 2], "x" * length) for i in range(3001)]
    tokens = dialogue._fitting(dialogue._tokens)
    first, half = dialogue.first_seen, ready.session.model.config.n_positions // 2
    assert dialogue.turns[first].role == USER
    assert len(tokens) == (3001 - first) * length
    assert len(tokens) <= half or first == 3000
    assert len(tokens) + 2 * length > half or first == 0
    assert len(template.encoded) < 30
    assert sum(template.encoded[1:]) < 20 * max(half, 4 * length)


def test_packed_weights_are_stored_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    threads: list[threading.Thread] = []
    store = QuantisedCache._store

    def noting(self: QuantisedCache, *arguments: Any) -> None:
        threads.append(threading.current_thread())
        store(self, *arguments)

    monkeypatch.setattr(QuantisedCache, "_store", noting)
    path = tmp_path / "kept.bin"
    piece = Piece(0, np.arange(4, dtype="<u4"), None)
    with QuantisedCache(path, tmp_path) as cache:
        list(cache.pieces("a", lambda: [piece]))
        for _ in cache.store():
            pass
        assert path.exists()
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
    with QuantisedCache(path, tmp_path) as cache:
        assert [each.texels.tolist() for each in cache.pieces("a", list)] == [[0, 1, 2, 3]]
