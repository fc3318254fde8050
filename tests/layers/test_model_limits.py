"""Weaker drivers, the end of the context, and what a user may ask for wrongly."""

from __future__ import annotations

import pytest

from gpt2gl.errors import ContextLengthError, DeviceError, OptionError
from gpt2gl.gl.device import Device
from gpt2gl.models.gpt2 import GPT2
from tests.conftest import MakeDevice
from tests.engine import drain
from tests.models import (
    check_decode,
    check_logits,
    check_plans,
    check_trace,
    checkpoint,
    config,
    encoded,
    reference,
    some_tokens,
)

# Lowered limits --------------------------------------------------------------------------------


def test_a_large_vocabulary_on_small_textures(make_device: MakeDevice) -> None:
    """GPT-2's vocabulary on textures of side 2048: the head is folded into 25 layers."""
    wide = checkpoint(config(n_embd=16, n_head=2, n_layer=1, vocab_size=50257, n_positions=20))
    tokens = [50256, 0, *some_tokens(wide.config, 9)]
    model = GPT2.load(make_device(max_side=2048), wide)
    assert model.weights.head.matrix.weights.grid.layers > 1  # type: ignore[union-attr]
    check_plans(model, tokens, reference(wide, tokens))


@pytest.mark.parametrize("layout", ["r32f", "int4"])
def test_everything_folds(make_device: MakeDevice, layout: str) -> None:
    """Textures of side 64: matrices fold along both K and N, rows into several lines."""
    tiny = checkpoint(config(n_embd=72, n_layer=1, n_positions=40, vocab_size=300))
    tokens = some_tokens(tiny.config, 11)
    model = GPT2.load(make_device(max_side=64), tiny, layout)
    check_plans(model, tokens, reference(tiny, tokens))


def test_a_context_that_no_texture_holds(make_device: MakeDevice) -> None:
    with pytest.raises(DeviceError, match="does not fit textures of side 64"):
        GPT2.load(make_device(max_side=64), checkpoint(config(n_positions=200)))


def test_four_colour_attachments(make_device: MakeDevice) -> None:
    device = make_device(max_draw_buffers=4)
    assert device.limits.rows_per_fragment == 4
    small = checkpoint(config())
    tokens = some_tokens(small.config, 18)
    model = GPT2.load(device, small)
    expected = reference(small, tokens)
    check_plans(model, tokens, expected)
    encoded(model, tokens[:6])
    check_logits("rgba32f", encoded(model, tokens, 6), expected["logits"][-1])


def test_no_uniform_blocks_for_rows(make_device: MakeDevice) -> None:
    """Rows that exceed the driver's blocks are read from textures instead."""
    device = make_device(max_uniform_block=64)
    small = checkpoint(config())
    tokens = some_tokens(small.config, 9)
    model = GPT2.load(device, small)
    expected = reference(small, tokens)
    check_trace(model, tokens, expected)
    check_decode(model, tokens, expected)
    assert device.counts()["buffers"] == 1


# The end of the context --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_model(module_device: Device) -> GPT2:
    return GPT2.load(module_device, checkpoint(config(n_positions=13)))


@pytest.mark.parametrize("length", [12, 13])
def test_a_full_context(small_model: GPT2, length: int) -> None:
    tokens = some_tokens(small_model.config, length)
    check_plans(small_model, tokens, reference(checkpoint(small_model.config), tokens))


def test_beyond_the_context(small_model: GPT2) -> None:
    tokens = some_tokens(small_model.config, 14)
    with pytest.raises(ContextLengthError, match="14 tokens exceed the model's context of 13"):
        drain(small_model.encode(tokens, 0))
    with pytest.raises(ContextLengthError, match="14 tokens"):
        drain(small_model.encode(tokens, 13))
    with pytest.raises(ContextLengthError, match="14 tokens"):
        small_model.trace(tokens)


@pytest.mark.parametrize("token", [-1, 31, 1 << 40])
def test_tokens_outside_the_vocabulary(small_model: GPT2, token: int) -> None:
    with pytest.raises(OptionError, match=f"token {token} is outside the vocabulary of 31"):
        drain(small_model.encode([1, token], 0))
    with pytest.raises(OptionError, match=f"token {token} is outside"):
        small_model.trace([token])


def test_no_tokens(small_model: GPT2) -> None:
    with pytest.raises(OptionError, match="no tokens"):
        drain(small_model.encode([], 0))


def test_an_error_leaves_the_model_usable(small_model: GPT2) -> None:
    tokens = some_tokens(small_model.config, 5)
    expected = reference(checkpoint(small_model.config), tokens)
    with pytest.raises(OptionError):
        drain(small_model.encode([99], 0))
    check_logits("rgba32f", encoded(small_model, tokens), expected["logits"][-1])


def test_an_unknown_layout(device: Device) -> None:
    with pytest.raises(OptionError, match="unknown layout 'fp8': choose from r32f, rgba32f"):
        GPT2.load(device, checkpoint(config()), "fp8")
