"""Loading for a window: in steps, between which others draw, and at which it may be given up."""

from __future__ import annotations

from pathlib import Path

import pytest
from OpenGL import GL

from gpt2gl import warming
from gpt2gl.errors import ModelNotFound, OptionError
from gpt2gl.gl.context import Context
from gpt2gl.loading import COMPILING, READING, UPLOADING, Loading, load, load_steps
from gpt2gl.session import Session

TINY = str(Path(__file__).parent / "data" / "gpt_nano_sort" / "model")
TOKENS = [1, 2, 0, 2, 1]


def disturb(context: Context) -> None:
    """What a window does between two steps."""
    if context.owner is not None:
        context.owner.end()  # type: ignore[attr-defined]
    GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, 0)
    GL.glEnable(GL.GL_BLEND)
    GL.glEnable(GL.GL_SCISSOR_TEST)
    GL.glViewport(0, 0, 1, 1)
    GL.glPixelStorei(GL.GL_UNPACK_ROW_LENGTH, 3)
    GL.glActiveTexture(GL.GL_TEXTURE0)
    GL.glColorMask(False, False, False, False)


def test_a_load_disturbed_at_every_step_gives_the_same_model(context: Context) -> None:
    stages = []
    for step in load_steps(TINY, "fp32", context):
        if isinstance(step, Loading):
            stages.append(step.stage)
            disturb(context)
    assert isinstance(step, Session)
    with step, load(TINY, "fp32", tune=False) as other:
        assert step.logits(TOKENS).tolist() == other.logits(TOKENS).tolist()
    assert [each for each in dict.fromkeys(stages) if each != READING] == [UPLOADING, COMPILING]


def test_fractions_never_fall(context: Context) -> None:
    steps = list(load_steps(TINY, "int8", context))
    for stage in (UPLOADING, COMPILING):
        found = [s.fraction for s in steps if isinstance(s, Loading) and s.stage == stage]
        assert found == sorted(found)
        assert found[-1] == pytest.approx(1, abs=0.1)
    steps[-1].close()  # type: ignore[union-attr]


@pytest.mark.parametrize("stage", [READING, UPLOADING, COMPILING])
def test_a_load_can_be_given_up_in_every_stage(context: Context, stage: str) -> None:
    steps = load_steps(TINY, "fp32", context)
    for step in steps:
        if isinstance(step, Loading) and step.stage == stage:
            break
    steps.close()  # type: ignore[attr-defined]  # what is left over, the checks around a test find


@pytest.mark.parametrize(
    ("name", "precision", "error"),
    [("no such model", "fp32", ModelNotFound), (TINY, "fp17", OptionError)],
)
def test_errors_come_as_from_load(
    context: Context, name: str, precision: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        list(load_steps(name, precision, context))


def test_no_step_uploads_much(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpt2gl.models import gpt2_weights

    monkeypatch.setattr(gpt2_weights, "PIECE_ELEMENTS", 1 << 18)
    few = sum(s.stage == UPLOADING for s in _drained(context, "fp32"))
    monkeypatch.setattr(gpt2_weights, "PIECE_ELEMENTS", 64)
    many = sum(s.stage == UPLOADING for s in _drained(context, "fp32"))
    assert many > 2 * few


def _drained(context: Context, precision: str) -> list[Loading]:
    *steps, session = load_steps(TINY, precision, context)
    assert isinstance(session, Session)
    session.close()
    return steps  # type: ignore[return-value]


def test_warming_is_remembered_for_model_and_precision(context: Context) -> None:
    assert not warming.is_warm(context, TINY, "int4")
    warming.warm(TINY, "int4")
    assert warming.is_warm(context, TINY, "int4")
    if warming.query().is_software:
        assert not warming.is_warm(context, TINY, "fp16")
