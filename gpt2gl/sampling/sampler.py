"""Drawing tokens: options, a random stream, and the checks on what the model computed."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DeviceError
from .chain import Candidates, filtered
from .numeric import exp_shifted, largest, log_probability, log_softmax, softmax
from .options import Sampling
from .state import Logits, State, TokenIds

_FRESH_SEEDS = 2**32  # short enough to read aloud and type again


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that could have been chosen: its `probability` under the model's own distribution,
    and the chance `kept` that the sampling options left it."""

    token: int
    probability: float
    kept: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen token.

    `logprob` is its natural log-probability under the model's own distribution (temperature 1,
    no filter); `probability` the chance that it had under the distribution it was drawn from.
    Where alternatives were asked for, `alternatives` are the model's most likely tokens, and
    `entropy` is that of the model's own distribution, in nats.
    """

    token: int
    logprob: float
    probability: float
    alternatives: tuple[Alternative, ...] = ()
    entropy: float | None = None


class Sampler:
    """Chooses tokens for one row of text; the same options and logits give the same tokens.

    The random stream is NumPy's PCG64 seeded with `options.seed`, or with a fresh seed if that is
    None; `seed` tells which. Token number t of a run uses number t of the stream, whatever the
    other options are.
    """

    def __init__(
        self, options: Sampling, vocab_size: int, eos_id: int | None, n_valid: int | None = None
    ) -> None:
        """`vocab_size` is the number of logits; ids from `n_valid` on are padding, never chosen.

        An `eos_id` outside the vocabulary counts as none. Raises `OptionError` if `options` names
        a token id that does not exist, `ValueError` if `n_valid` is not in 1..vocab_size.
        """
        self.options = options
        self.vocab_size = vocab_size
        self.n_valid = vocab_size if n_valid is None else n_valid
        self.eos_id = eos_id
        if not 1 <= self.n_valid <= vocab_size:
            raise ValueError(f"n_valid is {n_valid}; it must be from 1 to {vocab_size}")
        options.check_vocabulary(self.n_valid)
        self.seed = secrets.randbelow(_FRESH_SEEDS) if options.seed is None else options.seed
        self._ids = np.arange(self.n_valid)
        self._random = np.random.Generator(np.random.PCG64(self.seed))

    def fork(self, row: int) -> Sampler:
        """The sampler of row `row` >= 0 of a batch, at the start of its own random stream.

        Row i draws what a run of its own with the seed `seed` + i draws.
        """
        if row < 0:
            raise ValueError(f"row is {row}; it must be 0 or more")
        options = replace(self.options, seed=self.seed + row)
        return Sampler(options, self.vocab_size, self.eos_id, self.n_valid)

    def sample(
        self, logits: ArrayLike, context: Sequence[int], n_prompt: int, alternatives: int = 0
    ) -> Choice:
        """Choose the token that follows `context`, with as many `alternatives` described.

        `logits` [vocab_size] are the model's at the last position of `context`, the whole text so
        far, whose first `n_prompt` tokens are the prompt. Neither is changed. Raises `DeviceError`
        for logits that no model computes, `OptionError` if the options forbid every token,
        `ValueError` for a wrong shape or `n_prompt`.
        """
        raw = self._checked(logits)
        candidates = self._filtered(raw, context, n_prompt)
        weights = exp_shifted(candidates.logits)
        sums = np.cumsum(weights, dtype=np.float64)
        index = _invert(sums, self._random.random())
        token = int(candidates.ids[index])
        probability = float(weights[index]) / float(sums[-1])
        if alternatives == 0:
            return Choice(token, log_probability(raw, token), probability)
        log_probs = log_softmax(raw)
        ids = largest(raw, alternatives)
        described = _described(ids, log_probs, candidates, weights / sums[-1])
        return Choice(token, float(log_probs[token]), probability, described, _entropy(log_probs))

    def distribution(
        self, logits: ArrayLike, context: Sequence[int], n_prompt: int, limit: int | None = None
    ) -> tuple[TokenIds, NDArray[np.float64]]:
        """The distribution that `sample` would draw from, without drawing.

        Arguments and errors as for `sample`. Returns ids [n] and probabilities [n], most likely
        first and the lower id of equals first; they sum to 1 unless `limit` cuts them short.
        """
        candidates = self._filtered(self._checked(logits), context, n_prompt)
        return _ranked(candidates, limit)

    def top_alternatives(self, logits: ArrayLike, n: int) -> list[tuple[int, float]]:
        """As the function `top_alternatives`, for this model's valid ids."""
        return _alternatives(self._checked(logits), n)

    def _filtered(self, logits: Logits, context: Sequence[int], n_prompt: int) -> Candidates:
        tokens = np.asarray(context, dtype=np.int64)
        if not 0 <= n_prompt <= tokens.size:
            raise ValueError(f"n_prompt is {n_prompt}; the context has {tokens.size} tokens")
        state = State(self.options, tokens, n_prompt, self.eos_id)
        return filtered(Candidates(self._ids, logits), state)

    def _checked(self, logits: ArrayLike) -> Logits:
        values = np.asarray(logits, dtype=np.float32)
        if values.shape != (self.vocab_size,):
            raise ValueError(f"logits have shape {values.shape}, expected ({self.vocab_size},)")
        return _require_sound(values[: self.n_valid])


def top_alternatives(logits: ArrayLike, n: int) -> list[tuple[int, float]]:
    """The `n` most likely tokens as (id, probability) under the softmax of `logits` [n_vocab].

    Most likely first, the lower id of equals first; tokens with a logit of -inf are left out.
    Raises `DeviceError` for logits that no model computes.
    """
    return _alternatives(_require_sound(np.asarray(logits, dtype=np.float32)), n)


def _alternatives(logits: Logits, n: int) -> list[tuple[int, float]]:
    probs = softmax(logits)
    ids = largest(logits, n)
    return list(zip(ids.tolist(), probs[ids].tolist(), strict=True))


def _ranked(candidates: Candidates, limit: int | None) -> tuple[TokenIds, NDArray[np.float64]]:
    weights = exp_shifted(candidates.logits)
    order = largest(candidates.logits, candidates.ids.size if limit is None else limit)
    total = np.cumsum(weights, dtype=np.float64)[-1]  # rounded as in `sample`
    return candidates.ids[order], weights[order].astype(np.float64) / total


def _described(
    ids: TokenIds, log_probs: Logits, candidates: Candidates, chances: NDArray[np.float64]
) -> tuple[Alternative, ...]:
    """The tokens `ids`, with the chances [n_candidates] that the options left the candidates."""
    places = np.minimum(np.searchsorted(candidates.ids, ids), candidates.ids.size - 1)
    kept = np.where(candidates.ids[places] == ids, chances[places], 0.0)
    rows = zip(ids.tolist(), np.exp(log_probs[ids]).tolist(), kept.tolist(), strict=True)
    return tuple(Alternative(*row) for row in rows)


def _entropy(log_probs: Logits) -> float:
    """In nats; a token that cannot be chosen adds nothing."""
    possible = log_probs[log_probs != -np.inf]
    return float(-(np.exp(possible) * possible).sum())


def _invert(sums: NDArray[np.float64], uniform: float) -> int:
    """Index of the weight in which `uniform` falls, given the running sums [n] of the weights.

    `uniform` is at most 1 - 2**-53, as NumPy draws it. Its product with the total then rounds to
    less than the total, so that a trailing weight of 0 is never hit.
    """
    return int(np.searchsorted(sums, uniform * sums[-1], side="right"))


def _require_sound(logits: Logits) -> Logits:
    """Return `logits`; raise `DeviceError` if they hold NaN or +inf, or nothing but -inf."""
    peak = logits.max()  # NaN if any entry is
    if np.isfinite(peak):
        return logits
    raise DeviceError(
        f"the model's logits {_fault(logits)}: the OpenGL driver computed a wrong result; "
        "run `gpt2gl doctor` to find the operation that failed"
    )


def _fault(logits: Logits) -> str:
    wrong = np.flatnonzero(np.isnan(logits) | (logits == np.inf))
    if wrong.size == 0:
        return f"are -inf for all {logits.size} tokens"
    return f"hold {logits[wrong[0]]} for {wrong.size} of {logits.size} tokens, first at {wrong[0]}"
