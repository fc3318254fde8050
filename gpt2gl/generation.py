"""What a text generation is asked to do, and what it reports while it runs."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpt2gl.errors import ContextLengthError, OptionError
from gpt2gl.sampling import SAMPLING_OPTIONS, Alternative, Number, Sampling

STOP, LENGTH, CANCELLED, CONTEXT, TIME = "stop", "length", "cancelled", "context", "time"

# The numbers among the options of `Generation`, as `SAMPLING_OPTIONS` has those of `Sampling`.
GENERATION_OPTIONS: Mapping[str, Number] = {
    "max_tokens": Number(
        cli="--max-tokens",
        help="Make at most this many tokens.",
        kind=int,
        minimum=0,
        slider=(1, 1000),
    ),
    "time_limit": Number(
        cli="--time-limit",
        help="End after this many seconds.",
        kind=float,
        minimum=0,
        maximum=1_000_000,
        above_minimum=True,
        optional=True,
    ),
    "keep": Number(
        cli="--keep",
        help="How many tokens keep-head keeps, at most half of the context.",
        kind=int,
        minimum=0,
        slider=(0, 512),
    ),
}
# `Sampling` admits a nucleus of probability 0, which is one token. To ask for it is a slip.
TOP_P = Number(
    cli=SAMPLING_OPTIONS["top_p"].cli,
    help=SAMPLING_OPTIONS["top_p"].help,
    kind=float,
    minimum=0,
    maximum=1,
    above_minimum=True,
)


@dataclass(frozen=True)
class Generation:
    """Options of one generation beside those of sampling.

    Attributes:
        sampling: how each token is chosen.
        max_tokens: how many tokens to make at most.
        stop: texts that end the generation; neither they nor anything after them is given out.
        time_limit: seconds after which to end, or None.
        context_policy: what to do when the text reaches the model's context, a name of
            `CONTEXT_POLICIES`.
        keep: tokens that `keep-head` keeps from the beginning, at most half of the context.
        alternatives: how many of the model's most likely tokens each `Token` tells.

    Raises:
        OptionError: a value outside its range.
    """

    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int = 200
    stop: tuple[str, ...] = ()
    time_limit: float | None = None
    context_policy: str = "stop"
    keep: int = 64
    alternatives: int = 0

    def __post_init__(self) -> None:
        TOP_P.check(self.sampling.top_p)
        for name, option in GENERATION_OPTIONS.items():
            object.__setattr__(self, name, option.check(getattr(self, name)))
        object.__setattr__(self, "stop", _texts("--stop", self.stop))
        if self.alternatives < 0:
            raise _refusal("alternatives", self.alternatives, "a whole number of 0 or more")
        if self.context_policy not in CONTEXT_POLICIES:
            raise _refusal("--context-policy", self.context_policy, " | ".join(CONTEXT_POLICIES))


def _texts(option: str, value: Any) -> tuple[str, ...]:
    """Texts as a tuple; a single text is not taken for its characters."""
    allowed = "texts that are not empty"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _refusal(option, value, allowed)
    texts = tuple(value)
    for text in texts:
        if not isinstance(text, str) or not text:
            raise _refusal(option, text, allowed)
    return texts


def _refusal(option: str, value: object, allowed: str) -> OptionError:
    return OptionError(f"{option} is {reprlib.repr(value)}; allowed: {allowed}")


# Options that name text -------------------------------------------------------------------------


def banned_sequences(
    words: Sequence[str], encode: Callable[[str], list[int]]
) -> tuple[tuple[int, ...], ...]:
    """Token sequences for `Sampling.banned`: each word as it starts a text and after a space.

    A model can still spell a word in other pieces; these are the ones the tokenizer makes, as
    users of `bad_words_ids` in transformers give them.

    Raises:
        OptionError: a word is empty.
    """
    bare = [word.removeprefix(" ") for word in _texts("--banned", words)]
    spellings = [text for word in bare for text in (word, f" {word}") if text]
    return tuple(dict.fromkeys(tuple(encode(text)) for text in spellings))


def token_bias(
    biases: Iterable[tuple[int | str, float]], encode: Callable[[str], list[int]]
) -> dict[int, float]:
    """Biases for `Sampling.logit_bias`, with tokens named by id or by their exact text.

    Of two biases for one token the later counts.

    Raises:
        OptionError: a text is not one token, which a bias cannot be added to.
    """
    return {_one_token(token, encode): bias for token, bias in biases}


def _one_token(token: int | str, encode: Callable[[str], list[int]]) -> int:
    if isinstance(token, int):
        return token
    ids = encode(token)
    if len(ids) != 1:
        raise OptionError(
            f"--logit-bias names {reprlib.repr(token)}, which is {len(ids)} tokens"
            f" ({reprlib.repr(ids)[1:-1]}) in this model; allowed: the text of one token,"
            " or its id"
        )
    return ids[0]


# Events -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Working:
    """A bounded step of work was done; `done` of `total` tokens of the text are encoded."""

    done: int
    total: int


@dataclass(frozen=True)
class Token:
    """One more token. `text` is what can be shown now: it may be empty, or belong to earlier
    tokens, since characters and stop texts can span tokens.

    The other fields are those of `sampling.Choice`.
    """

    id: int
    text: str
    logprob: float
    probability: float
    alternatives: tuple[Alternative, ...] = ()
    entropy: float | None = None


@dataclass(frozen=True)
class Trimmed:
    """The text was longer than the context: `dropped` tokens are no longer seen by the model."""

    dropped: int
    kept: int


@dataclass(frozen=True)
class Finished:
    """The end. `text` is what was still held back.

    `reason` is one of stop, length, cancelled, context, time. Times are in seconds from the call;
    `first_token_seconds` is None where there was no token.
    """

    reason: str
    text: str
    prompt_tokens: int
    new_tokens: int
    seed: int
    first_token_seconds: float | None
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Speed after the first token, so that reading the prompt does not count."""
        if self.first_token_seconds is None or self.new_tokens < 2:
            return 0.0
        return (self.new_tokens - 1) / max(self.seconds - self.first_token_seconds, 1e-9)


Event = Working | Token | Trimmed | Finished


# When the context is full -----------------------------------------------------------------------


def _refuse(tokens: list[int], n_positions: int, keep: int) -> list[int]:
    raise ContextLengthError(
        f"the prompt has {len(tokens)} tokens and the model's context holds {n_positions}:"
        " shorten it, or choose --context-policy roll"
    )


def _roll(tokens: list[int], n_positions: int, keep: int) -> list[int]:
    return tokens[-max(1, n_positions // 2) :]


def _keep_head(tokens: list[int], n_positions: int, keep: int) -> list[int]:
    head = tokens[: min(keep, n_positions // 2)]
    room = n_positions - len(head)
    return head + tokens[len(head) :][-max(1, room // 2) :]


# Name -> what stays of a text of more than n_positions tokens. Learned positions mean that what
# stays is encoded again, so each leaves room for many more tokens.
CONTEXT_POLICIES: Mapping[str, Callable[[list[int], int, int], list[int]]] = {
    "stop": _refuse,
    "roll": _roll,
    "keep-head": _keep_head,
}
