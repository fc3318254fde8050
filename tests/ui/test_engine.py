"""The model on the window's context: loading and generating between frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpt2gl.errors import Gpt2glError
from gpt2gl.generation import Finished, Generation, Token
from gpt2gl.gl.context import Context
from gpt2gl.loading import COMPILING
from gpt2gl.sampling import Sampling
from gpt2gl_ui.engine import CLOSED, FAILED, LOADING, READY, Engine

OPTIONS = Generation(Sampling(seed=3, temperature=0.8), max_tokens=12)
PATIENCE = 120.0


def disturb() -> None:
    """What drawing the window leaves behind."""
    from pyglet import gl

    gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
    gl.glEnable(gl.GL_BLEND)
    gl.glEnable(gl.GL_SCISSOR_TEST)
    gl.glScissor(0, 0, 1, 1)
    gl.glViewport(0, 0, 3, 3)
    gl.glUseProgram(0)
    gl.glBindVertexArray(0)
    gl.glActiveTexture(gl.GL_TEXTURE0)


def finish(engine: Engine, slice_seconds: float = 0.05) -> int:
    """Work until nothing is left; how many slices that took."""
    start, slices = time.monotonic(), 0
    while engine.work(time.monotonic() + slice_seconds):
        disturb()
        slices += 1
        assert time.monotonic() - start < PATIENCE
    return slices


@pytest.fixture(scope="module")
def ready() -> Iterator[Engine]:
    from gpt2gl.gl.context import headless

    engine = Engine(Context(headless().window), lambda: None)
    engine.load("storyteller", "int8")
    assert engine.state == LOADING
    finish(engine)
    assert (engine.state, engine.error) == (READY, None)
    yield engine
    engine.close()
    assert (engine.state, engine.session) == (CLOSED, None)


def run(engine: Engine, slice_seconds: float = 0.05, options: Generation = OPTIONS) -> list[Any]:
    events: list[Any] = []
    ends: list[Gpt2glError | None] = []
    assert engine.session is not None
    steps = engine.session.generate("Once upon a time", options)
    engine.start(steps, events.append, ends.append)
    finish(engine, slice_seconds)
    assert ends == [None]
    assert not engine.is_busy
    return events


def tokens_of(events: list[Any]) -> list[int]:
    return [event.id for event in events if isinstance(event, Token)]


def test_the_same_tokens_whatever_the_budget_and_what_is_drawn_in_between(ready: Engine) -> None:
    assert ready.session is not None
    expected = tokens_of(list(ready.session.generate("Once upon a time", OPTIONS)))
    assert len(expected) == 12
    for slice_seconds in (0.0005, 0.004, 1.0):
        assert tokens_of(run(ready, slice_seconds)) == expected


def test_an_answer_can_be_cancelled_or_stopped_at_once(ready: Engine) -> None:
    assert ready.session is not None
    events: list[Any] = []
    ends: list[Gpt2glError | None] = []

    def take(event: Any) -> None:
        events.append(event)
        if isinstance(event, Token) and ready.session is not None:
            ready.session.cancel()

    ready.start(ready.session.generate("Once", OPTIONS), take, ends.append)
    finish(ready)
    assert isinstance(events[-1], Finished)
    assert events[-1].reason == "cancelled"
    ready.start(ready.session.generate("Once", OPTIONS), events.append, ends.append)
    ready.work(time.monotonic())
    ready.stop()
    assert (ends, ready.is_busy, ready.state) == ([None, None], False, READY)
    assert len(tokens_of(run(ready))) == 12


def test_an_error_ends_the_job_and_nothing_else(ready: Engine) -> None:
    def failing() -> Iterator[None]:
        yield None
        raise Gpt2glError("a reason")

    ends: list[Gpt2glError | None] = []
    ready.start(failing(), lambda step: None, ends.append)
    finish(ready)
    assert [str(error) for error in ends] == ["a reason"]
    assert ready.state == READY


@pytest.fixture
def engine() -> Iterator[Engine]:
    from gpt2gl.gl.context import headless

    made = Engine(Context(headless().window), lambda: None)
    yield made
    made.close()


def test_a_model_that_cannot_be_loaded_says_why(engine: Engine) -> None:
    engine.load("no such model", "fp32")
    finish(engine)
    assert engine.state == FAILED
    assert "no such model" in str(engine.error)
    engine.load("storyteller", "fp32")
    engine.stop()
    assert (engine.state, engine.session) == (CLOSED, None)


# Until when a load goes on; the last is its last step but one.
MOMENTS: dict[str, Callable[[Engine], bool]] = {
    "before it began": lambda engine: True,
    "half way": lambda engine: (engine.loading.fraction or 0.0) >= 0.5,
    "while shaders are compiled": lambda engine: engine.loading.stage == COMPILING,
    "with all but its end": lambda engine: engine.session is not None,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_loading_can_be_cancelled(engine: Engine, moment: str) -> None:
    engine.load("storyteller", "fp32")
    start = time.monotonic()
    while not MOMENTS[moment](engine):
        assert engine.work(time.monotonic())  # one step, as there is no time left
        assert time.monotonic() - start < PATIENCE
    assert engine.state == LOADING
    engine.stop()
    assert (engine.state, engine.session, engine.is_busy) == (CLOSED, None, False)
