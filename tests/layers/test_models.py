"""Models against Hugging Face transformers on random weights, all plans and layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpt2gl.models.gpt2 import GPT2
from gpt2gl.weights import Checkpoint
from tests.conftest import MakeDevice
from tests.models import (
    check_logits,
    check_plans,
    checkpoint,
    config,
    encoded,
    reference,
    some_tokens,
)

CASES: dict[str, dict[str, Any]] = {
    "heads of 16, vocabulary 3": {"n_embd": 48, "n_head": 3, "vocab_size": 3, "n_positions": 11},
    "heads of 15, inverse scale, untied": {
        **{"n_embd": 60, "n_head": 4, "vocab_size": 101, "n_inner": 75},
        **{"activation_function": "silu", "scale_attn_by_inverse_layer_idx": True},
        "tie_word_embeddings": False,
    },
    # n_inner == n_embd: the two c_proj of a layer have the same source and different blocks.
    "one head, unscaled, n_inner = n_embd": {
        **{"n_embd": 20, "n_head": 1, "n_inner": 20, "n_layer": 3},
        **{"activation_function": "relu", "scale_attn_weights": False},
    },
    "long context, odd width": {
        **{"n_embd": 21, "n_head": 3, "n_inner": 33, "n_positions": 203, "vocab_size": 50},
        "activation_function": "gelu",
    },
}
LAYOUTS = [
    ("heads of 16, vocabulary 3", "rgba32f"),
    ("heads of 16, vocabulary 3", "r32f"),
    ("heads of 15, inverse scale, untied", "rgba32f"),
    ("heads of 15, inverse scale, untied", "r32f"),
    ("heads of 15, inverse scale, untied", "f16"),
    ("heads of 15, inverse scale, untied", "int8"),
    ("heads of 15, inverse scale, untied", "int4"),
    ("one head, unscaled, n_inner = n_embd", "rgba32f"),
    ("long context, odd width", "rgba32f"),
]
# The longest first, so that a short text meets what a long one has left in the textures.
LENGTHS = [64, 17, 2, 1]

Load = Callable[[str, str], GPT2]


@pytest.fixture(scope="module")
def load(make_module_device: MakeDevice) -> Load:
    """Loads a case in a layout, once for all tests of the module."""
    models: dict[tuple[str, str], GPT2] = {}

    def get(case: str, layout: str) -> GPT2:
        if (case, layout) not in models:
            models[case, layout] = GPT2.load(make_module_device(), source(case), layout)
        return models[case, layout]

    return get


def source(case: str) -> Checkpoint:
    return checkpoint(config(**CASES[case]))


@pytest.mark.parametrize(("case", "layout"), LAYOUTS)
def test_against_transformers(load: Load, case: str, layout: str) -> None:
    model = load(case, layout)
    for length in LENGTHS:
        tokens = some_tokens(model.config, min(length, model.config.n_positions), length)
        check_plans(model, tokens, reference(source(case), tokens))


@pytest.mark.parametrize("layout", ["rgba32f", "r32f"])
@pytest.mark.parametrize("split", [1, 5, 8, 15, 16, 17])
def test_prefill_then_decode(load: Load, layout: str, split: int) -> None:
    """A cache that holds the first `split` tokens gives the logits of one full pass."""
    case = "heads of 15, inverse scale, untied"
    model = load(case, layout)
    tokens = some_tokens(model.config, 20, split)
    expected = reference(source(case), tokens)["logits"]
    check_logits(layout, encoded(model, tokens[:split]), expected[split - 1])
    check_logits(layout, encoded(model, tokens, split), expected[-1])
    for i in range(split, len(tokens)):
        check_logits(layout, encoded(model, tokens[: i + 1], i), expected[i])


def test_more_rows_than_one_chunk(load: Load) -> None:
    """A prompt in two chunks, then shorter texts over what it has left behind."""
    case = "long context, odd width"
    model = load(case, "rgba32f")
    for length in (203, 130, 9, 129, 3):
        tokens = some_tokens(model.config, length, length)
        expected = reference(source(case), tokens)
        check_logits("rgba32f", encoded(model, tokens), expected["logits"][-1])
    check_plans(model, tokens, expected)


def test_decode_to_the_end_of_the_context(load: Load) -> None:
    """Attention over one, two, three and four chunks of 64 keys."""
    case = "long context, odd width"
    model = load(case, "rgba32f")
    tokens = some_tokens(model.config, 203)
    expected = reference(source(case), tokens)
    check_plans(model, tokens, expected)


def test_a_rewritten_end(load: Load) -> None:
    """Taking back tokens is encoding with fewer valid ones."""
    case = "heads of 15, inverse scale, untied"
    model = load(case, "rgba32f")
    first = some_tokens(model.config, 30, 1)
    encoded(model, first)
    for kept in (29, 13, 8, 1):
        tokens = first[:kept] + some_tokens(model.config, 3, kept)
        expected = reference(source(case), tokens)["logits"]
        check_logits("rgba32f", encoded(model, tokens, kept), expected[-1])
        encoded(model, first)
    check_logits("rgba32f", encoded(model, first, 30), reference(source(case), first)["logits"][-1])


def test_an_abandoned_pass_leaves_nothing(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    case = "heads of 15, inverse scale, untied"
    model = load(case, "rgba32f")
    monkeypatch.setattr(model.device, "fetches_per_draw", 1000)
    tokens = some_tokens(model.config, 12, 5)
    for steps in (1, 4, 9):
        abandoned = model.encode(some_tokens(model.config, 40, 6), 0)
        for _ in range(steps):
            next(abandoned)
        abandoned.close()  # type: ignore[attr-defined]
        wanted = reference(source(case), tokens)["logits"][-1]
        check_logits("rgba32f", encoded(model, tokens), wanted)


def test_outliers(make_device: MakeDevice) -> None:
    """Residual features of several thousand, as trained GPT-2 has them."""
    large = checkpoint(config(n_embd=48), std=0.02, outliers=True)
    tokens = some_tokens(large.config, 17)
    expected = reference(large, tokens)
    assert abs(expected["h.1.resid_post"]).max() > 2000
    check_plans(GPT2.load(make_device(), large), tokens, expected)
