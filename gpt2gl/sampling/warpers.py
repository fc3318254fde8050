"""Steps that look only at the logits. They take any set of candidates, in any order.

A token that is already excluded (-inf) has no influence on what a warper keeps, so a warper gives
the same answer on the whole vocabulary and on the candidates that are left of it. Sums and
comparisons round where those of transformers do (float64 running sums, float32 thresholds), so
that a token on the edge falls on the same side.
"""

from __future__ import annotations

import numpy as np

from .numeric import keep_only, kth_largest, log_softmax, select_largest, softmax
from .state import Logits, State, Step

_LARGEST = float(np.finfo(np.float32).max)
_SMALLEST = float(np.finfo(np.float32).tiny)


def temperature(logits: Logits, state: State) -> Logits:
    """Divide the logits by the temperature; 0 keeps the most likely token, the lowest id of equals.

    Ackley, Hinton & Sejnowski 1985; equals transformers' `TemperatureLogitsWarper`, and for 0 its
    greedy search.
    """
    value = state.options.temperature
    if value == 1.0:
        return logits
    if value == 0.0:
        return keep_only(logits, np.array([logits.argmax()]))
    divisor = max(value, _SMALLEST)  # a smaller one would be 0 in float32
    with np.errstate(over="ignore"):
        if abs(float(logits.max())) / divisor > _LARGEST:
            logits = logits - logits.max()  # same probabilities; the largest quotient is now 0
        quotient: Logits = logits / np.float32(divisor)
    return quotient


def top_k(logits: Logits, state: State) -> Logits:
    """Keep the k most likely tokens and every token whose logit equals the k-th.

    Fan et al. 2018, arXiv:1805.04833; ties as in transformers' `TopKLogitsWarper`.
    """
    k = state.options.top_k
    if k == 0 or k >= logits.size:
        return logits
    return keep_only(logits, np.flatnonzero(logits >= kth_largest(logits, k)))


def top_p(logits: Logits, state: State) -> Logits:
    """Keep the smallest set of most likely tokens whose probability reaches p; always one.

    Holtzman et al. 2019, arXiv:1904.09751, computed from the unlikely end as in
    transformers' `TopPLogitsWarper`: remove tokens while their sum is at most 1 - p. Among equal
    logits on the edge the lower ids stay; transformers keeps as many, without saying which.
    """
    if state.options.top_p >= 1.0:
        return logits
    removable = 1.0 - state.options.top_p
    probs = softmax(logits)
    # Tokens below this bound cannot sum to more than half of `removable`: they need no sorting.
    head = np.flatnonzero(probs >= removable / (2 * logits.size))
    rising = np.sort(probs[head])
    tail = probs.sum(dtype=np.float64) - rising.sum(dtype=np.float64)
    sums = (tail + np.cumsum(rising, dtype=np.float64)).astype(np.float32)
    removed = min(int(np.count_nonzero(sums <= np.float32(removable))), head.size - 1)
    return keep_only(logits, head[select_largest(logits[head], head.size - removed)])


def min_p(logits: Logits, state: State) -> Logits:
    """Drop tokens whose probability is below p times that of the most likely token.

    Nguyen et al. 2024, arXiv:2407.01082; equals transformers' `MinPLogitsWarper`.
    """
    share = state.options.min_p
    if share == 0.0:
        return logits
    probs = softmax(logits)
    return keep_only(logits, np.flatnonzero(probs >= np.float32(share) * probs.max()))


def typical_p(logits: Logits, state: State) -> Logits:
    """Keep the tokens whose information is closest to the entropy until they hold probability p.

    Meister et al. 2022, arXiv:2202.00666; equals transformers' `TypicalLogitsWarper`:
    the token that crosses p stays, and so does every token as far from the entropy as it is.
    """
    mass = state.options.typical_p
    if mass >= 1.0:
        return logits
    log_probs = log_softmax(logits)
    probs = np.exp(log_probs)
    with np.errstate(invalid="ignore"):  # 0 * -inf is a token without probability: it adds nothing
        entropy = -np.nansum(log_probs * probs)
    distance = np.abs(-log_probs - entropy)
    order = np.argsort(distance)
    held = np.cumsum(probs[order], dtype=np.float64).astype(np.float32)
    last = min(int(np.count_nonzero(held < np.float32(mass))), logits.size - 1)
    return keep_only(logits, np.flatnonzero(distance <= distance[order[last]]))


WARPERS: dict[str, Step] = {
    "temperature": temperature,
    "top_k": top_k,
    "top_p": top_p,
    "min_p": min_p,
    "typical_p": typical_p,
}
