"""How likely a model finds a text: log-probabilities, perplexity, bits per byte.

Windows and perplexity are those of "Perplexity of fixed-length models" in the documentation of
Hugging Face transformers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import DeviceError, OptionError


class RowLogits(Protocol):
    """What scoring needs of a session."""

    def row_logits(self, tokens: Sequence[int]) -> Iterator[NDArray[np.float32]]:
        """Logits after every token, [rows, vocab_size] chunk by chunk."""
        ...


@dataclass(frozen=True)
class Window:
    """The model reads `tokens[begin:end]`; those from `first` on are scored, each given what
    stands before it in the window. All are positions in the text."""

    begin: int
    first: int
    end: int


@dataclass(frozen=True)
class WindowScore:
    """`logprobs` [end - first]: natural logarithms of the probabilities of a window's tokens."""

    window: Window
    logprobs: NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """The score of a whole text of T tokens.

    Attributes:
        logprobs: [T] natural logarithms; NaN for tokens without anything before them: the first
            of the text, and where the stride is the window, the first of each window.
        perplexity: as the Hugging Face guide computes it. The guide gives a window of n new tokens
            the weight n - 1, although after the first window all n are scored.
        token_perplexity: exp of the mean negative log-probability, every token counted once.
        bits_per_byte: bits needed for the scored tokens, per byte of their UTF-8 text.
    """

    logprobs: NDArray[np.float64]
    perplexity: float
    token_perplexity: float
    bits_per_byte: float

    @property
    def n_scored(self) -> int:
        """How many tokens have a log-probability."""
        return int(np.count_nonzero(~np.isnan(self.logprobs)))


def windows_of(n_tokens: int, window: int, stride: int) -> Iterator[Window]:
    """The windows that slide over a text, each `stride` after the last.

    Raises:
        OptionError: the window is below 2, or the stride not from 1 to the window; fewer than two
            tokens, so that none has anything before it.
    """
    if window < 2:
        raise OptionError(f"--window is {window}; allowed: 2 or more")
    if not 1 <= stride <= window:
        raise OptionError(f"--stride is {stride}; allowed: 1 to the window, {window}")
    if n_tokens < 2:
        count = ("no tokens", "one token")[n_tokens]
        raise OptionError(f"the text has {count}: scoring needs two or more")
    return _windows(n_tokens, window, stride)


def _windows(n_tokens: int, window: int, stride: int) -> Iterator[Window]:
    scored = 0
    for begin in range(0, n_tokens, stride):
        end = min(begin + window, n_tokens)
        yield Window(begin, max(scored, begin + 1), end)
        scored = end
        if end == n_tokens:
            return


def score_windows(
    model: RowLogits, tokens: Sequence[int], windows: Iterable[Window]
) -> Iterator[WindowScore]:
    """Score the windows one after another; each is encoded anew, as positions are learned.

    Raises:
        DeviceError: the logits are not numbers.
        ContextLengthError, OptionError: a window is longer than the context, or holds a token
            that does not exist.
    """
    for window in windows:
        yield WindowScore(window, _logprobs(model, tokens, window))


def _logprobs(model: RowLogits, tokens: Sequence[int], window: Window) -> NDArray[np.float64]:
    found = np.empty(window.end - window.first)
    position = window.begin + 1  # of the token that the chunk's first row predicts
    for chunk in model.row_logits(tokens[window.begin : window.end]):
        start, stop = max(position, window.first), min(position + len(chunk), window.end)
        if start < stop:
            rows = chunk[start - position : stop - position]  # [n, vocab_size]
            found[start - window.first : stop - window.first] = _of_targets(
                rows, tokens[start:stop]
            )
        position += len(chunk)
    if not np.isfinite(found).all():
        raise DeviceError("the model gave logits that are not numbers: run 'gpt2gl doctor'")
    return found


def _of_targets(logits: NDArray[np.float32], targets: Sequence[int]) -> NDArray[np.float64]:
    """log softmax of each row [n, vocab_size] at its target [n], in float64."""
    x = logits.astype(np.float64)
    x -= x.max(axis=1, keepdims=True)
    logprobs: NDArray[np.float64] = x[np.arange(len(targets)), targets]
    logprobs -= np.log(np.exp(x).sum(axis=1))
    return logprobs


def combine(n_tokens: int, parts: Iterable[WindowScore], token_bytes: Sequence[int]) -> Score:
    """The score of a text of T = `n_tokens` tokens from those of all its windows.

    Args:
        token_bytes: [T] length of each token in bytes.
    """
    logprobs = np.full(n_tokens, np.nan)
    total, weight, previous_end = 0.0, 0, 0
    for part in parts:
        window = part.window
        logprobs[window.first : window.end] = part.logprobs
        # The guide's weight. It is 0 where one token is new, or where a window of one has none.
        new = window.end - previous_end - 1
        total += new * float(part.logprobs.mean()) if new else 0.0
        weight += new
        previous_end = window.end
    scored = ~np.isnan(logprobs)
    nll = -float(logprobs[scored].sum())
    n_bytes = int(np.asarray(token_bytes)[scored].sum())
    return Score(
        logprobs=logprobs,
        perplexity=_exp(-total / weight),
        token_perplexity=_exp(nll / int(scored.sum())),
        bits_per_byte=nll / math.log(2) / n_bytes,
    )


def _exp(x: float) -> float:
    """exp, or infinity where that is too large for a float."""
    return math.exp(x) if x < 709 else math.inf
