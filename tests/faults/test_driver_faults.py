"""A driver that runs out of memory, loses its context or refuses shaders: one line each, nothing
left on the device, and the next load works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from OpenGL import GL

import gpt2gl
from gpt2gl.errors import DeviceError, ShaderError
from gpt2gl.gl.context import Context
from gpt2gl.gl.faults import CONTEXT_LOST
from gpt2gl.gl.tuning import GPU
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.session import Session
from tests import models
from tests.checkpoints import tiny_config, tiny_weights, write_checkpoint
from tests.conftest import MakeDevice
from tests.faults.failing_gl import (
    OUT_OF_MEMORY,
    UPLOADS,
    FailingGL,
    refuse_status,
    watch_draws,
)
from tests.gl_objects import GLObjects

CONFIG = tiny_config(vocab_size=20, n_positions=16, n_layer=1)
PROMPT = (3, 1, 4)
OPTIONS = gpt2gl.Generation(gpt2gl.Sampling(temperature=0), 3)

BOTH = (OUT_OF_MEMORY, CONTEXT_LOST)

Load = Callable[[], Session]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("tiny"), CONFIG, tiny_weights(CONFIG))


@pytest.fixture(scope="module")
def load(folder: Path) -> Load:
    return lambda: gpt2gl.load(str(folder), tune=False)


def generated(session: Session) -> list[int]:
    return [e.id for e in session.generate(PROMPT, OPTIONS) if isinstance(e, gpt2gl.Token)]


def whole_life(load: Load) -> list[int]:
    with load() as session:
        return generated(session)


@pytest.fixture(scope="module")
def expected(context: Context, load: Load) -> list[int]:
    return whole_life(load)


@pytest.fixture
def gl(context: Context, gl_objects: GLObjects, expected: list[int]) -> Iterator[FailingGL]:
    with pytest.MonkeyPatch.context() as patch:
        yield FailingGL(patch)


def refusal(load: Load, gl: FailingGL, objects: GLObjects) -> str:
    """The one line in which a life with a fault ends; nothing may be left of it."""
    before = objects.alive()
    with pytest.raises(DeviceError) as caught:
        whole_life(load)
    gl.reset()
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 300
    assert caught.value.exit_code == 3
    assert objects.alive() == before, "left on the device"
    return message


def test_out_of_memory_at_every_upload(
    gl: FailingGL, gl_objects: GLObjects, load: Load, expected: list[int]
) -> None:
    whole_life(load)
    uploads = {name: gl.calls[name] for name in UPLOADS}
    assert sum(uploads.values()) > 60
    for name, count in uploads.items():
        for number in range(count):
            gl.fail(OUT_OF_MEMORY, name, number)
            message = refusal(load, gl, gl_objects)
            assert "the GPU ran out of memory" in message or "the GPU has no room" in message
    assert whole_life(load) == expected


def places(gl: FailingGL, load: Load, every: bool = False) -> list[int]:
    """Numbers of calls in a life: the first and the last of each function, or all."""
    gl.reset()
    whole_life(load)
    order = gl.order
    if every:
        return list(range(len(order)))
    first = {name: number for number, name in reversed(list(enumerate(order)))}
    last = {name: number for number, name in enumerate(order)}
    return sorted({*first.values(), *last.values()})


def survives_faults_at(
    numbers: dict[int, tuple[int, ...]],
    gl: FailingGL,
    objects: GLObjects,
    load: Load,
    expected: list[int],
) -> None:
    for number, codes in numbers.items():
        for code in codes:
            gl.fail_call(code, number)
            before = objects.alive()
            # A call that only deletes may fail unnoticed.
            with suppress(DeviceError):
                assert whole_life(load) == expected
            name = gl.order[number] if number < len(gl.order) else "none"
            gl.reset()
            assert objects.alive() == before, f"left on the device after {name} failed"
    assert whole_life(load) == expected


def test_an_error_at_any_function(
    gl: FailingGL, gl_objects: GLObjects, load: Load, expected: list[int]
) -> None:
    numbers = places(gl, load)
    assert len(numbers) > 60
    # By turns, which is half the time.
    chosen = {number: BOTH[i % 2 : i % 2 + 1] for i, number in enumerate(numbers)}
    survives_faults_at(chosen, gl, gl_objects, load, expected)


@pytest.mark.soak
def test_an_error_at_every_call(
    gl: FailingGL, gl_objects: GLObjects, load: Load, expected: list[int]
) -> None:
    chosen = dict.fromkeys(places(gl, load, every=True), BOTH)
    survives_faults_at(chosen, gl, gl_objects, load, expected)


def test_the_context_is_lost_at_every_pass(
    gl: FailingGL,
    gl_objects: GLObjects,
    load: Load,
    expected: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draws: list[str] = []
    fatal = -1

    def count(name: str) -> None:
        if name == "glDrawArrays":
            gl.lost |= len(draws) == fatal
            draws.append(name)

    watch_draws(monkeypatch, count)
    whole_life(load)
    total = len(draws)
    assert total > 30
    for number in range(total):
        fatal = number
        draws.clear()
        assert "the OpenGL context was lost" in refusal(load, gl, gl_objects)
    fatal = -1
    assert whole_life(load) == expected


def test_a_session_that_lost_its_context_says_so_until_it_is_closed(
    gl: FailingGL, gl_objects: GLObjects, load: Load, expected: list[int]
) -> None:
    before = gl_objects.alive()
    session = load()
    generated(session)
    gl.lost = True
    for _ in range(2):
        with pytest.raises(DeviceError, match="context was lost"):
            session.logits(PROMPT)
    session.close()
    gl.reset()
    assert gl_objects.alive() == before
    assert whole_life(load) == expected


def test_logits_are_not_read_from_a_lost_context(gl: FailingGL, load: Load) -> None:
    """The draws are made, then the context goes: what memory holds must not pass for logits."""
    with load() as session:
        session.logits(PROMPT)
        gl.lost = True
        with pytest.raises(DeviceError, match="context was lost"):
            session.model.logits()
        gl.reset()


LOGS = {
    "glGetShaderiv": (
        *("glGetShaderInfoLog", b"0:40(3): error: no such thing\n"),
        r"[a-z_/]+\.(vert|frag|glsl):\d+: ",
    ),
    "glGetProgramiv": ("glGetProgramInfoLog", b"too many varyings\n", r"\w+\.frag: too many"),
}


@pytest.mark.parametrize("ask", LOGS)
def test_a_shader_that_is_refused(
    gl: FailingGL,
    gl_objects: GLObjects,
    load: Load,
    expected: list[int],
    ask: str,
) -> None:
    log, text, where = LOGS[ask]
    before = gl_objects.alive()
    with pytest.MonkeyPatch.context() as patch:
        refuse_status(patch, ask, log, text)
        with pytest.raises(ShaderError, match=rf"^pass \w+\b.*{where}") as caught:
            whole_life(load)
    assert "\n" not in str(caught.value)
    assert gl_objects.alive() == before
    assert whole_life(load) == expected


def test_a_framebuffer_that_is_incomplete(
    gl: FailingGL, gl_objects: GLObjects, load: Load, expected: list[int]
) -> None:
    """Each framebuffer in turn, those of probing, loading and drawing."""
    whole_life(load)
    for number in range(gl.calls["glCheckFramebufferStatus"]):
        with pytest.MonkeyPatch.context() as patch:
            asked = iter(range(10_000))
            statuses = {number: GL.GL_FRAMEBUFFER_UNSUPPORTED}
            patch.setattr(
                GL,
                "glCheckFramebufferStatus",
                lambda _, a=asked, s=statuses: s.get(next(a), GL.GL_FRAMEBUFFER_COMPLETE),
            )
            assert "cannot draw to float textures" in refusal(load, gl, gl_objects)
    assert whole_life(load) == expected


def test_an_interrupt_between_two_calls_changes_no_later_answer(
    make_device: MakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C amid a pass may leave blending on; what is drawn next is right all the same."""
    calls: list[str] = []
    fatal = -1

    def count(name: str) -> None:
        calls.append(name)
        if len(calls) == fatal:
            raise KeyboardInterrupt

    watch_draws(monkeypatch, count)
    model = GPT2.load(make_device(tuning=GPU), models.checkpoint(models.config(n_layer=1)))
    tokens = models.some_tokens(model.config, 9)
    wanted = models.encoded(model, tokens), models.encoded(model, tokens, 8)
    calls.clear()
    models.encoded(model, tokens, 8)
    total = len(calls)
    assert "glEnable" in calls, "no pass blends"
    for number in range(1, total):
        fatal = number
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            models.encoded(model, tokens, 8)
        fatal = -1
        found = models.encoded(model, tokens), models.encoded(model, tokens, 8)
        np.testing.assert_array_equal(found, wanted)
