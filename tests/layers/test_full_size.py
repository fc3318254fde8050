"""GPT-2 small's own size, 124 million parameters, once."""

from __future__ import annotations

from gpt2gl.config import ModelConfig
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.weights import random_checkpoint
from tests.conftest import MakeDevice
from tests.models import check_logits, check_prefill, check_trace, encoded, reference, some_tokens


def test_gpt2_small(make_device: MakeDevice) -> None:
    """Every tensor of a pass over 17 tokens, and the logits of both fused plans."""
    source = random_checkpoint(ModelConfig(), 1)
    tokens = [50256, *some_tokens(source.config, 16)]
    expected = reference(source, tokens)
    model = GPT2.load(make_device(), source)
    check_trace(model, tokens, expected)
    check_prefill(model, tokens, expected)
    check_logits("rgba32f", encoded(model, tokens, len(tokens) - 1), expected["logits"][-1])
