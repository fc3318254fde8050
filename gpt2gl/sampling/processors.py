"""Steps that look at the text so far. They index `logits` [n_vocab] by token id."""

from __future__ import annotations

import numpy as np

from .state import Logits, State, Step, TokenIds


def logit_bias(logits: Logits, state: State) -> Logits:
    """Add a bias to the logit of chosen tokens (OpenAI API, `logit_bias`).

    Equals transformers' `sequence_bias` with sequences of one token.
    """
    bias = state.options.logit_bias
    if not bias:
        return logits
    biased: Logits = logits.copy()
    biased[list(bias)] += np.array(list(bias.values()), dtype=np.float32)
    return biased


def repetition_penalty(logits: Logits, state: State) -> Logits:
    """Divide a positive logit, multiply a negative one, for each token of the text so far.

    Keskar et al. 2019 (CTRL), arXiv:1909.05858, in the form of transformers, which
    treats the signs apart so that a penalty above 1 always weakens. Prompt and answer count.
    """
    penalty = state.options.repetition_penalty
    if penalty == 1.0:
        return logits
    seen = _known(np.unique(state.context), logits)
    scores = logits[seen]
    penalised: Logits = logits.copy()
    with np.errstate(over="ignore"):
        changed = np.where(scores < 0, scores * penalty, scores / penalty)
    penalised[seen] = np.minimum(changed, np.finfo(np.float32).max)
    return penalised


def presence_penalty(logits: Logits, state: State) -> Logits:
    """Subtract the penalty from every token that the answer contains.

    OpenAI API, "Frequency and presence penalties": mu[j] -= (c[j] > 0) * presence_penalty, where
    c[j] counts how often token j was sampled. The prompt does not count.
    """
    penalty = state.options.presence_penalty
    if penalty == 0.0:
        return logits
    penalised: Logits = logits.copy()
    penalised[_known(np.unique(state.answer), logits)] -= np.float32(penalty)
    return penalised


def frequency_penalty(logits: Logits, state: State) -> Logits:
    """Subtract the penalty from a token once for each time the answer contains it.

    OpenAI API, "Frequency and presence penalties": mu[j] -= c[j] * frequency_penalty, where c[j]
    counts how often token j was sampled. The prompt does not count.
    """
    penalty = state.options.frequency_penalty
    if penalty == 0.0:
        return logits
    tokens, counts = np.unique(_known(state.answer, logits), return_counts=True)
    penalised: Logits = logits.copy()
    penalised[tokens] -= counts.astype(np.float32) * np.float32(penalty)
    return penalised


def no_repeat_ngram(logits: Logits, state: State) -> Logits:
    """Forbid every token that would repeat an n-gram of the text so far, prompt included.

    Paulus et al. 2017, arXiv:1705.04304, for any n; equals transformers'
    `NoRepeatNGramLogitsProcessor`.
    """
    size, context = state.options.no_repeat_ngram, state.context
    if size == 0 or context.size < size:
        return logits
    windows = np.lib.stride_tricks.sliding_window_view(context, size)  # [n_context - n + 1, n]
    prefix = context[context.size - (size - 1) :]  # [n - 1]
    repeats = (windows[:, :-1] == prefix).all(axis=1)
    return _forbid(logits, _known(windows[repeats, -1], logits))


def banned(logits: Logits, state: State) -> Logits:
    """Forbid every token that would complete a banned sequence at the end of the text so far.

    As transformers' `NoBadWordsLogitsProcessor`: a sequence of one token is always forbidden,
    except for the end of text, which cannot be banned on its own.
    """
    sequences = [entry for entry in state.options.banned if entry != (state.eos_id,)]
    if not sequences:
        return logits
    longest = max(map(len, sequences)) - 1
    tail = tuple(state.context[max(state.context.size - longest, 0) :].tolist())
    last = [entry[-1] for entry in sequences if _ends_with(tail, entry[:-1])]
    return _forbid(logits, np.array(last, dtype=np.int64))


def min_new_tokens(logits: Logits, state: State) -> Logits:
    """Forbid the end of text until the answer has `min_new_tokens` tokens.

    Equals transformers' `MinNewTokensLengthLogitsProcessor`.
    """
    if state.eos_id is None or state.answer.size >= state.options.min_new_tokens:
        return logits
    return _forbid(logits, _known(np.array([state.eos_id]), logits))


def _known(tokens: TokenIds, logits: Logits) -> TokenIds:
    """The tokens that have a logit; a text can hold ids that this model never predicts."""
    return tokens[tokens < logits.size]


def _forbid(logits: Logits, tokens: TokenIds) -> Logits:
    if tokens.size == 0:
        return logits
    allowed: Logits = logits.copy()
    allowed[tokens] = -np.inf
    return allowed


def _ends_with(tail: tuple[int, ...], prefix: tuple[int, ...]) -> bool:
    return len(prefix) <= len(tail) and tail[len(tail) - len(prefix) :] == prefix


PROCESSORS: dict[str, Step] = {
    "logit_bias": logit_bias,
    "repetition_penalty": repetition_penalty,
    "presence_penalty": presence_penalty,
    "frequency_penalty": frequency_penalty,
    "no_repeat_ngram": no_repeat_ngram,
    "banned": banned,
    "min_new_tokens": min_new_tokens,
}
