"""Numbers that people compute from traced tensors. NumPy only.

L layers, H heads, T tokens; attention probabilities are [..., query, key] with rows that sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpt2gl.errors import OptionError

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]


def attention_of(trace: Mapping[str, Array], n_layer: int) -> Array:
    """The attention of all layers in one array [L, H, T, T], from a trace that holds it."""
    return np.stack([trace[f"h.{i}.attn.probs"] for i in range(n_layer)])


def head_average(probs: Array) -> Array:
    """Attention averaged over heads: [..., H, T, T] -> [..., T, T]."""
    average: Array = probs.mean(axis=-3)
    return average


def attention_rollout(probs: Array, residual: float = 0.5) -> Doubles:
    """How much of each position reaches each other one up to every layer: [L, H, T, T] ->
    [L, T, T].

    Abnar & Zuidema, "Quantifying Attention Flow in Transformers" (2020), section 3: heads are
    averaged, `residual` of each row goes straight on, and the layers' matrices are multiplied.
    """
    rollouts: list[Doubles] = []
    for layer in probs:
        rollouts.append(next_rollout(rollouts[-1] if rollouts else None, layer, residual))
    return np.stack(rollouts)


def next_rollout(before: Doubles | None, probs: Array, residual: float = 0.5) -> Doubles:
    """The rollout up to a layer with attention [H, T, T], from the one `before` it [T, T]."""
    attention = head_average(np.asarray(probs, np.float64))
    mixed: Doubles = (1 - residual) * attention + residual * np.eye(attention.shape[-1])
    mixed /= mixed.sum(axis=-1, keepdims=True)
    return mixed if before is None else mixed @ before


def entropy(probabilities: Array) -> Doubles:
    """Shannon entropy in bits over the last axis: [..., n] -> [...]."""
    p = np.asarray(probabilities, np.float64)
    terms = p * np.log2(p, out=np.zeros_like(p), where=p > 0)
    bits: Doubles = np.abs(terms.sum(axis=-1))  # never -0.0
    return bits


def probabilities(logits: Array) -> Doubles:
    """Softmax over the last axis, [..., n] -> [..., n]."""
    x = np.asarray(logits, np.float64)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    p: Doubles = e / e.sum(axis=-1, keepdims=True)
    return p


def top_k(values: Array, k: int) -> npt.NDArray[np.int64]:
    """Indices of the k largest of the last axis, largest first, equal ones in order of index:
    [..., n] -> [..., k]."""
    n = values.shape[-1]
    if not 1 <= k <= n:
        raise OptionError(f"the top {k} of {n} values; allowed: 1 to {n}")
    # All that could be among them, which of equal ones may be more than k.
    least = np.partition(values, n - k, axis=-1)[..., n - k, None]
    flat = zip(values.reshape(-1, n), (values >= least).reshape(-1, n), strict=True)
    rows = [np.flatnonzero(able)[np.argsort(-row[able], kind="stable")[:k]] for row, able in flat]
    return np.array(rows, np.int64).reshape(*values.shape[:-1], k)


def ranks(values: Array, chosen: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Rank of element `chosen` [...] of the last axis, 1 for the largest: [..., n] -> [...].

    Equal values share the better rank.
    """
    index = np.broadcast_to(np.asarray(chosen, np.int64), values.shape[:-1])
    own = np.take_along_axis(values, index[..., None], axis=-1)
    found: npt.NDArray[np.int64] = 1 + (values > own).sum(axis=-1)
    return found


# Heads ------------------------------------------------------------------------------------------


def repeated_tokens(vocab_size: int, length: int, seed: int = 0) -> list[int]:
    """`length` random tokens, twice: what induction heads are found with.

    Without token 0, which ends the text in many vocabularies.
    """
    if vocab_size < 2:
        raise OptionError(f"a vocabulary of {vocab_size} has no tokens to repeat")
    once = np.random.default_rng(seed).integers(1, vocab_size, length).tolist()
    return [*once, *once]


def induction_scores(probs: Array, period: int) -> Doubles:
    """Mean attention to the token after the previous occurrence of the present one: [..., T, T]
    -> [...], for tokens that repeat every `period`.

    The prefix-matching score of Olsson et al., "In-context Learning and Induction Heads" (2022),
    over the positions that have a previous occurrence.
    """
    n_tokens = probs.shape[-1]
    if not 2 <= period < n_tokens:
        most = n_tokens - 1
        raise OptionError(f"a period of {period} in {n_tokens} tokens; allowed: 2 to {most}")
    return _mean_diagonal(probs, period - 1, period)


def previous_token_scores(probs: Array) -> Doubles:
    """Mean attention of each position to the one before it: [..., T, T] -> [...]."""
    if probs.shape[-1] < 2:
        raise OptionError("one token has none before it: give two or more")
    return _mean_diagonal(probs, 1, 1)


def _mean_diagonal(probs: Array, back: int, first: int) -> Doubles:
    """Mean over queries from `first` on of the attention to the key `back` before."""
    queries = np.arange(first, probs.shape[-1])
    mean: Doubles = np.asarray(probs, np.float64)[..., queries, queries - back].mean(axis=-1)
    return mean
