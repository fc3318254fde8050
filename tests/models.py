"""Small GPT-2 models with random weights, on a device and in transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from gpt2gl.config import ModelConfig
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.tolerances import compare, visible_keys
from gpt2gl.weights import Checkpoint, random_checkpoint
from gpt2gl_reference import gpt2_transformers as adapter
from tests.engine import Array, Floats, drain

EXACT = ("r32f", "rgba32f")
SHARED_FIELDS = (
    *("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner"),
    *("activation_function", "layer_norm_epsilon", "scale_attn_weights"),
    *("scale_attn_by_inverse_layer_idx", "tie_word_embeddings"),
)
# Scores of a few units: attention neither uniform nor on one key only.
STD = 0.15


def config(**changes: Any) -> ModelConfig:
    """Two layers of width 24, with `changes`."""
    tiny = {"vocab_size": 31, "n_positions": 70, "n_embd": 24, "n_layer": 2, "n_head": 3}
    return ModelConfig(**{**tiny, **changes})


def checkpoint(config: ModelConfig, seed: int = 1, **options: Any) -> Checkpoint:
    return random_checkpoint(config, seed, **{"std": STD, **options})


def in_transformers(source: Checkpoint) -> GPT2LMHeadModel:
    """The same weights in the outside reference."""
    options = {name: getattr(source.config, name) for name in SHARED_FIELDS}
    options |= {"bos_token_id": None, "eos_token_id": None}
    model = GPT2LMHeadModel(GPT2Config(**options, attn_implementation="eager")).eval()
    state = {
        ("" if name.startswith("lm_head") else "transformer.") + name: torch.from_numpy(t.read())
        for name, t in source.tensors.items()
    }
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    return model


def reference(source: Checkpoint, tokens: Sequence[int]) -> dict[str, Array]:
    return adapter.trace_model(in_transformers(source), tokens)


def some_tokens(config: ModelConfig, count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, config.vocab_size, count).tolist()


def encoded(model: GPT2, tokens: Sequence[int], n_valid: int = 0) -> Floats:
    """Logits after `tokens`, by the decode plan if one token is new, else by the prefill plan."""
    drain(model.encode(tokens, n_valid))
    return model.logits()


def check_trace(model: GPT2, tokens: Sequence[int], expected: Mapping[str, Array]) -> None:
    """Every tensor of a traced pass is within the limits of the model's layout."""
    traced = model.trace(tokens)
    assert set(traced) == set(expected)
    wrong = []
    for name, tensor in expected.items():
        found = compare(
            model.layout, name, *(visible_keys(name, t) for t in (traced[name], tensor))
        )
        if not found.ok:
            wrong.append(f"{name}: nmse {found.nmse:.3g}, max_abs {found.max_abs:.3g}")
    assert not wrong, f"{len(wrong)} tensors, first {wrong[0]}"


def check_logits(layout: str, found: Floats, expected: Array) -> None:
    difference = compare(layout, "logits", found, expected)
    assert difference.ok, difference
    if layout in EXACT:
        assert expected.max() - expected[found.argmax()] <= 2 * difference.max_abs


def check_prefill(model: GPT2, tokens: Sequence[int], expected: Mapping[str, Array]) -> None:
    check_logits(model.layout, encoded(model, tokens), expected["logits"][-1])


def check_decode(model: GPT2, tokens: Sequence[int], expected: Mapping[str, Array]) -> None:
    """Token by token from the first."""
    for i in range(len(tokens)):
        check_logits(model.layout, encoded(model, tokens[: i + 1], i), expected["logits"][i])


def check_plans(model: GPT2, tokens: Sequence[int], expected: Mapping[str, Array]) -> None:
    """The plain plan tensor by tensor, the fused plans by their logits."""
    check_trace(model, tokens, expected)
    check_prefill(model, tokens, expected)
    check_decode(model, tokens, expected)
