"""What a chat is made of: messages, and for answers how each token came about.

All are values: a change makes a new one, so that whoever holds one may keep it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

NO_TOKEN = -1
LARGEST = 3.4e38  # of float32, in which the model computes


def shortened(value: float) -> float:
    """A number as files keep it: six significant digits, finite, no negative zero."""
    if math.isnan(value):
        return 0.0
    return float(f"{max(-LARGEST, min(LARGEST, value)):.6g}") + 0.0


class _Alternative(NamedTuple):
    id: int
    text: str
    probability: float
    kept: float


class Alternative(_Alternative):
    """A token that could have come instead.

    `probability` is the model's own; `kept` the one after the filters of sampling, 0 for a token
    that they excluded. A tuple, as there are very many of them.
    """

    __slots__ = ()

    def __new__(cls, id: int, text: str, probability: float, kept: float) -> Alternative:
        """Make one with shortened numbers; `_make` takes a file's as they are."""
        return cls._make((id, text, shortened(probability), shortened(kept)))


class _TokenInfo(NamedTuple):
    id: int
    text: str
    logprob: float
    probability: float
    entropy: float | None
    alternatives: tuple[Alternative, ...]


class TokenInfo(_TokenInfo):
    """A generated token: `logprob` and `probability` are those of `gpt2gl.sampling.Choice`.

    `text` is what became visible with this token, which may be nothing. The id `NO_TOKEN` marks
    text between tokens that no token is known for, such as what a person wrote there. `entropy`
    is that of the model's distribution in bits, None where it was not asked for.
    """

    __slots__ = ()

    def __new__(
        cls,
        id: int,
        text: str,
        logprob: float,
        probability: float,
        entropy: float | None = None,
        alternatives: tuple[Alternative, ...] = (),
    ) -> TokenInfo:
        """Make one with shortened numbers; `_make` takes a file's as they are."""
        bits = None if entropy is None else shortened(entropy)
        values = (id, text, shortened(logprob), shortened(probability), bits, alternatives)
        return cls._make(values)


@dataclass(frozen=True, slots=True)
class Answer:
    """How an answer was made. While it is being made only `model` and `tokens` are known.

    Attributes:
        reason: why it ended, as in `gpt2gl.generation.Finished`; None while it grows, or when
            the program ended before it did.
        new_tokens: how many tokens were generated, over all continuations.
        tokens_per_second, first_token_seconds: of the last continuation.
        tokens: those whose text stands at the beginning of the message's text.
        extra: fields of a newer version of the format, kept as they are.
    """

    model: str | None = None
    reason: str | None = None
    seed: int | None = None
    new_tokens: int = 0
    tokens_per_second: float = 0.0
    first_token_seconds: float | None = None
    tokens: tuple[TokenInfo, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens_per_second", shortened(self.tokens_per_second))
        if self.first_token_seconds is not None:
            object.__setattr__(self, "first_token_seconds", shortened(self.first_token_seconds))


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the tree.

    Attributes:
        id: unique within the chat.
        parent: the message that it follows, None for the first of a conversation.
        role: `USER` or `ASSISTANT` of `gpt2gl.templates`.
        created: seconds since 1970, UTC.
        edited: whether a person changed or wrote anew what stood here.
        answer: for answers of a model.
        extra: fields of a newer version of the format, kept as they are.
    """

    id: str
    parent: str | None
    role: str
    text: str
    created: float
    edited: bool = False
    answer: Answer | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


def tokens_within(tokens: tuple[TokenInfo, ...], text: str) -> tuple[TokenInfo, ...]:
    """The first tokens, as far as their texts together begin `text`."""
    at = 0
    for i, token in enumerate(tokens):
        if not text.startswith(token.text, at):
            return tokens[:i]
        at += len(token.text)
    return tokens


def tokens_covering(tokens: tuple[TokenInfo, ...], text: str) -> tuple[TokenInfo, ...]:
    """Tokens that begin `text`, with one of id `NO_TOKEN` for the rest if there is any."""
    covered = sum(len(token.text) for token in tokens)
    if covered >= len(text):
        return tokens
    return (*tokens, TokenInfo(NO_TOKEN, text[covered:], logprob=0.0, probability=1.0))
