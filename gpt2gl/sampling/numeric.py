"""Softmax and selection on float32 logits [n], safe for -inf and for the largest floats."""

from __future__ import annotations

import numpy as np

from .state import Logits, TokenIds


def exp_shifted(logits: Logits) -> Logits:
    """exp(logits - max) [n], so that the largest weight is exactly 1; -inf gives 0.

    `logits` needs one finite entry and no NaN or +inf.
    """
    with np.errstate(over="ignore"):  # the difference of two huge logits is -inf, as it should be
        weights: Logits = logits - logits.max()
    return np.exp(weights, out=weights)


def softmax(logits: Logits) -> Logits:
    """Probabilities [n] in float32."""
    weights = exp_shifted(logits)
    weights /= weights.sum()
    return weights


def log_softmax(logits: Logits) -> Logits:
    """Log-probabilities [n] in float32; -inf stays -inf."""
    with np.errstate(over="ignore"):
        shifted: Logits = logits - logits.max()
    shifted -= np.log(np.exp(shifted).sum())
    return shifted


def log_probability(logits: Logits, token: int) -> float:
    """Log-probability of `token` under the softmax of `logits` [n]."""
    total = float(exp_shifted(logits).sum())
    return float(logits[token]) - float(logits.max()) - float(np.log(total))


def kth_largest(values: Logits, k: int) -> np.float32:
    """The k-th largest of `values` [n], 1 <= k <= n, in linear time."""
    rank = values.size - k
    kth: np.float32 = np.partition(values, rank)[rank]
    return kth


def select_largest(values: Logits, count: int) -> TokenIds:
    """Indices, ascending, of the `count` largest of `values` [n]; of equals, the lower indices.

    count <= n. Linear time.
    """
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    edge = kth_largest(values, count)
    above = np.flatnonzero(values > edge)
    equal = np.flatnonzero(values == edge)[: count - above.size]
    return np.sort(np.concatenate([above, equal]))


def largest(values: Logits, count: int) -> TokenIds:
    """Indices of the `count` largest of `values` [n], largest first; of equals, lower index first.

    Fewer if `values` has fewer above -inf.
    """
    members = select_largest(values, min(count, int(np.count_nonzero(values != -np.inf))))
    return members[np.argsort(-values[members], kind="stable")]


def keep_only(logits: Logits, kept: TokenIds) -> Logits:
    """`logits` [n] with -inf everywhere but at the indices `kept`."""
    result = np.full_like(logits, -np.inf)
    result[kept] = logits[kept]
    return result
