"""Analyses of traced tensors against plain loops; names, patterns and interventions as data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpt2gl import analysis
from gpt2gl.config import ModelConfig
from gpt2gl.errors import OptionError
from gpt2gl.interventions import Add, Edit, Patch, Scale, hook_points, patch_from, resolve
from gpt2gl.tensor_names import canonical, matching, tensor_names

CONFIG = ModelConfig(vocab_size=11, n_positions=6, n_embd=8, n_layer=12, n_head=2)
NAMES = tensor_names(12)


def causal_probs(shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    weights = np.tril(np.random.default_rng(seed).random(shape) + 0.01)
    return weights / weights.sum(-1, keepdims=True)


# Attention ------------------------------------------------------------------------------------


def test_rollout_is_the_sum_over_all_paths() -> None:
    probs = causal_probs((3, 2, 5, 5))
    found = analysis.attention_rollout(probs)
    for query in range(5):
        for key in range(5):
            total = 0.0
            for b in range(5):
                for a in range(5):
                    steps = ((2, query, b), (1, b, a), (0, a, key))
                    total += math.prod(
                        0.5 * probs[layer, :, i, j].mean() + 0.5 * (i == j) for layer, i, j in steps
                    )
            assert found[2, query, key] == pytest.approx(total)
    np.testing.assert_allclose(found.sum(-1), 1)


def test_rollout_without_attention_stays_where_it_is() -> None:
    found = analysis.attention_rollout(causal_probs((2, 1, 4, 4)), residual=1.0)
    np.testing.assert_array_equal(found, np.broadcast_to(np.eye(4), (2, 4, 4)))


def test_induction_scores_of_constructed_heads() -> None:
    """One head that does nothing else, one that never does, one that attends evenly."""
    period, n_tokens = 4, 12
    probs = np.zeros((3, n_tokens, n_tokens))
    for query in range(n_tokens):
        probs[0, query, max(0, query - period + 1)] = 1
        probs[1, query, 0 if query > period else query] = 1
        probs[2, query, : query + 1] = 1 / (query + 1)
    found = analysis.induction_scores(probs, period)
    even = np.mean([1 / (query + 1) for query in range(period, n_tokens)])
    np.testing.assert_allclose(found, [1, 0, even])


def test_previous_token_scores() -> None:
    probs = np.stack([np.eye(5, k=-1), np.eye(5)])
    np.testing.assert_array_equal(analysis.previous_token_scores(probs), [1, 0])


def test_repeated_tokens() -> None:
    tokens = analysis.repeated_tokens(50, 20, seed=3)
    assert tokens[:20] == tokens[20:]
    assert 0 not in tokens
    assert max(tokens) < 50
    assert tokens == analysis.repeated_tokens(50, 20, seed=3)


@pytest.mark.parametrize("period", [1, 5, 9])
def test_a_period_outside_the_text(period: int) -> None:
    with pytest.raises(OptionError, match="allowed: 2 to 4"):
        analysis.induction_scores(causal_probs((5, 5)), period)


def test_attention_of_a_trace() -> None:
    trace = {f"h.{i}.attn.probs": causal_probs((2, 3, 3), i) for i in range(3)}
    found = analysis.attention_of(trace, 3)
    np.testing.assert_array_equal(found[1], trace["h.1.attn.probs"])
    np.testing.assert_allclose(analysis.head_average(found)[2], found[2].mean(0))


# Distributions --------------------------------------------------------------------------------

ROWS = arrays(np.float32, (3, 7), elements=st.integers(-40, 40).map(float))


@given(ROWS, st.integers(1, 7))
def test_top_and_ranks(values: np.ndarray[Any, Any], k: int) -> None:
    top = analysis.top_k(values, k)
    for row, found in zip(values, top, strict=True):
        assert found.tolist() == sorted(range(7), key=lambda i: (-row[i], i))[:k]
    for i, chosen in enumerate(top[:, -1]):
        assert analysis.ranks(values, top[:, -1])[i] == 1 + sum(values[i] > values[i, chosen])


@given(ROWS)
def test_probabilities_and_entropy(values: np.ndarray[Any, Any]) -> None:
    p = analysis.probabilities(values)
    np.testing.assert_allclose(p.sum(-1), 1)
    np.testing.assert_allclose(p.argmax(-1), values.argmax(-1))
    bits = analysis.entropy(p)
    assert ((bits >= 0) & (bits <= math.log2(7) + 1e-9)).all()


def test_entropy_of_known_distributions() -> None:
    found = analysis.entropy(np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4]))
    np.testing.assert_array_equal(found, [0, 1, 2])


def test_top_of_too_many() -> None:
    with pytest.raises(OptionError, match="allowed: 1 to 7"):
        analysis.top_k(np.zeros(7), 8)


# Names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("transformer.h.3.ln_1", "h.3.ln_1"),
        ("transformer.h.3", "h.3.resid_post"),
        ("h.11.attn", "h.11.attn.out"),
        ("h.*.mlp.c_fc", "h.*.mlp.fc"),
        ("transformer.h.0.attn.c_proj", "h.0.attn.out"),
        ("transformer.drop", "embed"),
        ("lm_head", "logits"),
        ("h.*", "h.*"),
    ],
)
def test_names_of_transformers(given: str, name: str) -> None:
    assert canonical(given) == name


def test_patterns() -> None:
    assert matching(["h.3.attn.z"], NAMES) == ("h.3.attn.z",)
    assert matching(["h.*.mlp"], NAMES) == tuple(f"h.{i}.mlp.out" for i in range(12))
    assert matching(["h.1.*"], NAMES) == tuple(n for n in NAMES if n.startswith("h.1."))
    assert matching(["*"], NAMES) == NAMES
    assert matching(["logits", "embed"], NAMES) == ("embed", "logits")


@pytest.mark.parametrize("pattern", ["h.12.attn.z", "attn", "", "h.0.attn.c_attn"])
def test_a_pattern_without_a_tensor(pattern: str) -> None:
    with pytest.raises(OptionError, match=r"allowed: h\.N\.\{ln_1, .*\} with h\.0 to h\.11, embed"):
        matching([pattern], NAMES)


# Interventions ---------------------------------------------------------------------------------


def applied(edit: Edit, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An edit of x [T, columns] or [H, T, keys], written out position by position."""
    rows = {position: i + 1 for i, position in enumerate(edit.positions)}
    out = np.array(x, np.float32)
    for t in range(x.shape[-2]):
        gain, offset = edit.gain[rows.get(t, 0)], edit.offset[rows.get(t, 0)]
        out[..., t, :] = out[..., t, :] * gain + offset[:, : x.shape[-1]]
    return out


X = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)


def test_interventions_apply_in_order() -> None:
    """One head scaled, then a position patched, then all moved."""
    edits = resolve(
        [
            Scale("h.2.attn.z", 3.0, heads=(1,)),
            Patch("h.2.attn.z", np.arange(16).reshape(2, 8), positions=(4, 1), heads=(0,)),
            Add("h.2.attn.z", np.ones(8), positions=(1,)),
            Scale("h.*.attn.z", np.full(8, 2.0)),
        ],
        CONFIG,
    )
    assert len(edits) == 12
    wanted = X.copy()
    wanted[:, 4:] *= 3
    wanted[4, :4], wanted[1, :4] = (0, 1, 2, 3), (8, 9, 10, 11)
    wanted[1] += 1
    np.testing.assert_allclose(applied(edits["h.2.attn.z"], X), 2 * wanted, rtol=1e-6)
    np.testing.assert_allclose(applied(edits["h.0.attn.z"], X), 2 * X)


def test_one_row_is_for_every_position() -> None:
    edits = resolve([Patch("embed", np.arange(8))], CONFIG)
    np.testing.assert_array_equal(applied(edits["embed"], X), np.tile(np.arange(8), (6, 1)))


def test_rows_without_positions_begin_the_text() -> None:
    edits = resolve([Patch("embed", -X[:2])], CONFIG)
    np.testing.assert_array_equal(applied(edits["embed"], X), np.concatenate([-X[:2], X[2:]]))


def test_probabilities_by_head() -> None:
    x, other = causal_probs((2, 4, 4)), causal_probs((2, 4, 4), 1)
    patch = patch_from({"h.0.attn.probs": other}, "h.0.attn.probs", [3, 1], heads=[1])
    found = applied(resolve([patch], CONFIG)["h.0.attn.probs"], x)
    wanted = x.copy()
    wanted[1, [3, 1]] = other[1, [3, 1]]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Scale("h.12.attn.z", 0.0), "no tensor is called 'h.12.attn.z'; allowed: h.N."),
        (Scale("logits", 0.0), "no tensor is called 'logits'; allowed: h.N."),
        (Scale("h.0.attn.z", 0.0, heads=(2,)), "head 2 does not exist; allowed: 0 to 1"),
        (Scale("h.0.mlp.out", 0.0, heads=(0,)), "h.0.mlp.out has no heads"),
        (Scale("h.0.attn.z", (1.0, 2.0)), "allowed: one number, or one for each of 8"),
        (Scale("h.0.attn.z", (1.0,), heads=(0, 1)), "allowed: a number, or one for each of heads"),
        (Scale("h.0.attn.probs", np.ones(8)), "allowed: one number"),
        (Scale("embed", float("nan")), "embed: values must be finite"),
        (Scale("embed", "loud"), "'loud' is no number"),
        (Scale("embed", 0.0, positions=(6,)), "position 6 does not exist; allowed: 0 to 5"),
        (Scale("embed", 0.0, positions=(1, 1)), "a position is given twice"),
        (Patch("embed", np.zeros(7)), r"(7,) do not fit; allowed: (T, 8) or (8,)"),
        (Patch("embed", np.zeros((2, 8)), positions=(0, 1, 2)), "allowed: (3, 8) or (8,)"),
        (Patch("embed", np.zeros((7, 8))), "position 6 does not exist"),
        (Add("h.0.attn.probs", np.zeros((2, 2, 7)), positions=(0, 1)), "allowed: (2, 2, keys)"),
        ("h.0", "'h.0' is no intervention; allowed: Scale, Patch, Add"),
    ],
)
def test_interventions_that_do_not_fit(bad: Any, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        resolve([bad], CONFIG)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_trace_without_the_tensor() -> None:
    with pytest.raises(OptionError, match=r"give that name to trace\(\) too"):
        patch_from({}, "h.0.resid_post", [0])


def test_every_hook_point_takes_a_number() -> None:
    assert set(resolve([Scale("*", 0.5)], CONFIG)) == set(hook_points(CONFIG))
