"""Long runs: nothing grows, and what was stopped midway leaves no trace.

Each runs briefly in the suite and at length with `-m soak`, which prints its figures (`-s`) for
docs/reliability.md.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpt2gl
from gpt2gl.gl.context import Context
from gpt2gl.session import Session
from tests.faults.command_line import write_tiny_model
from tests.gl_objects import GLObjects
from tests.mutations import cases

PROMPT = (3, 1, 4, 1, 5)
GREEDY = gpt2gl.Sampling(temperature=0, logit_bias={0: -100})
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Usage:
    """Bytes of host memory, bytes of textures, open files."""

    host: int
    gpu: int
    files: int

    @classmethod
    def now(cls, gpu: int = 0) -> Usage:
        gc.collect()
        if sys.platform != "linux":
            return cls(0, gpu, 0)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(pages * os.sysconf("SC_PAGE_SIZE"), gpu, len(os.listdir("/proc/self/fd")))


def report(what: str, count: int, before: Usage, after: Usage, seconds: float) -> None:
    host = (after.host - before.host) / MEGABYTE
    print(
        f"\n{what}: {count} in {seconds:.0f} s, host {before.host / MEGABYTE:.1f} MB {host:+.2f},"
        f" textures {before.gpu} -> {after.gpu} bytes, files {before.files} -> {after.files}"
    )


def assert_flat(before: Usage, after: Usage, growth: int) -> None:
    assert after.gpu == before.gpu
    assert after.files == before.files
    assert after.host - before.host < growth


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def load(context: Context, folder: Path) -> Callable[[], Session]:
    return lambda: gpt2gl.load(str(folder), tune=False)


@pytest.fixture(scope="module")
def session(module_objects: None, load: Callable[[], Session]) -> Iterator[Session]:
    with load() as session:
        yield session


def tokens_of(session: Session, count: int) -> list[int]:
    options = gpt2gl.Generation(GREEDY, count, context_policy="roll")
    events = session.generate(PROMPT, options)
    return [event.id for event in events if isinstance(event, gpt2gl.Token)]


def gpu_bytes(session: Session) -> int:
    return session.model.device.pool.bytes_by_use.total()


# Long --------------------------------------------------------------------------------------------


def generate_long(session: Session, count: int) -> None:
    """One text of `count` tokens, its context rolling; the first tenth is warming up."""
    options = gpt2gl.Generation(
        gpt2gl.Sampling(seed=1, logit_bias={0: -100}), count, context_policy="roll"
    )
    start, made, before = time.perf_counter(), 0, Usage.now()
    for event in session.generate(PROMPT, options):
        if isinstance(event, gpt2gl.Token):
            made += 1
            if made == count // 10:
                before = Usage.now(gpu_bytes(session))
    after = Usage.now(gpu_bytes(session))
    assert made == count
    report("tokens", count, before, after, time.perf_counter() - start)
    # Ids and positions of the text itself, with room for the allocator.
    assert_flat(before, after, 4 * MEGABYTE)


def test_500_tokens(session: Session) -> None:
    generate_long(session, 500)


@pytest.mark.soak
def test_10_000_tokens(session: Session) -> None:
    generate_long(session, 10_000)


# Loading -----------------------------------------------------------------------------------------


def load_and_close(load: Callable[[], Session], objects: GLObjects, count: int) -> None:
    """Load, make a token, close; the first tenth is warming up."""
    start, before, alive = time.perf_counter(), Usage.now(), objects.alive()
    for number in range(count):
        if number == count // 10:
            before = Usage.now()
        with load() as session:
            tokens_of(session, 1)
        assert objects.alive() == alive
    after = Usage.now()
    report("loads", count, before, after, time.perf_counter() - start)
    # The allocator settles for some dozens of loads, however many follow.
    assert_flat(before, after, 16 * MEGABYTE)


def test_20_loads(load: Callable[[], Session], gl_objects: GLObjects) -> None:
    load_and_close(load, gl_objects, 20)


@pytest.mark.soak
def test_1_000_loads(load: Callable[[], Session], gl_objects: GLObjects) -> None:
    load_and_close(load, gl_objects, 1000)


# Starting and stopping ---------------------------------------------------------------------------


def test_200_starts_and_stops(session: Session) -> None:
    expected = tokens_of(session, 6)
    before = Usage.now(gpu_bytes(session))
    dice = random.Random(0)
    for _ in range(200):
        events = session.generate(PROMPT, gpt2gl.Generation(GREEDY, 6))
        for _ in range(dice.randrange(12)):
            next(events, None)
        if dice.random() < 0.5:
            session.cancel()
        elif dice.random() < 0.5:
            events.close()  # type: ignore[attr-defined]
    assert tokens_of(session, 6) == expected
    assert_flat(before, Usage.now(gpu_bytes(session)), 4 * MEGABYTE)


@cases(max_examples=60)
@given(moment=st.integers(0, 40), first=st.lists(st.integers(1, 200), min_size=1, max_size=31))
def test_cancel_at_any_moment(session: Session, moment: int, first: list[int]) -> None:
    """What was made before is the beginning of the whole; the next text is as if nothing was."""
    options = gpt2gl.Generation(GREEDY, 12, context_policy="roll")
    made: list[int] = []
    for number, event in enumerate(session.generate(first, options)):
        if isinstance(event, gpt2gl.Token):
            made.append(event.id)
        if number == moment:
            session.cancel()
    assert isinstance(event, gpt2gl.Finished)
    assert event.reason in ("cancelled", "length")
    assert event.new_tokens == len(made)
    whole = [e.id for e in session.generate(first, options) if isinstance(e, gpt2gl.Token)]
    assert len(whole) == 12
    assert whole[: len(made)] == made


# Clocks ------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_back(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of a text come from a clock that only goes on."""
    jumps = iter(range(10**9, 0, -86_400))
    monkeypatch.setattr(time, "time", lambda: float(next(jumps)))
    options = gpt2gl.Generation(GREEDY, 4, time_limit=1000.0)
    *_, end = session.generate(PROMPT, options)
    assert isinstance(end, gpt2gl.Finished)
    assert (end.reason, end.new_tokens) == ("length", 4)
    assert end.first_token_seconds is not None
    assert 0 < end.first_token_seconds <= end.seconds < 1000
