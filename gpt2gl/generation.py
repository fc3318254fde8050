"""What a text generation is asked to do, and what it reports while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpt2gl.errors import ContextLengthError, OptionError
from gpt2gl.sampling import Sampling

STOP, LENGTH, CANCELLED, CONTEXT, TIME = "stop", "length", "cancelled", "context", "time"


@dataclass(frozen=True)
class Generation:
    """Options of one generation beside those of sampling.

    Attributes:
        max_tokens: how many tokens to make at most.
        stop: texts that end the generation; neither they nor anything after them is given out.
        time_limit: seconds after which to end, or None.
        context_policy: what to do when the text reaches the model's context, a name of
            `CONTEXT_POLICIES`.
        keep: tokens that `keep-head` keeps from the beginning.

    Raises:
        OptionError: a value outside its range.
    """

    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int = 200
    stop: tuple[str, ...] = ()
    time_limit: float | None = None
    context_policy: str = "stop"
    keep: int = 64

    def __post_init__(self) -> None:
        _check("--max-tokens", self.max_tokens, self.max_tokens >= 0, "0 or more")
        _check("--keep", self.keep, self.keep >= 0, "0 or more")
        _check("--stop", "''", "" not in self.stop, "texts that are not empty")
        if self.time_limit is not None:
            above_zero = math.isfinite(self.time_limit) and self.time_limit > 0
            _check("--time-limit", self.time_limit, above_zero, "seconds above 0")
        known = self.context_policy in CONTEXT_POLICIES
        _check("--context-policy", self.context_policy, known, " | ".join(CONTEXT_POLICIES))


def _check(option: str, value: object, ok: bool, allowed: str) -> None:
    if not ok:
        raise OptionError(f"{option} is {value}; allowed: {allowed}")


@dataclass(frozen=True)
class Working:
    """A bounded step of work was done; `done` of `total` tokens of the text are encoded."""

    done: int
    total: int


@dataclass(frozen=True)
class Token:
    """One more token. `text` is what can be shown now: it may be empty, or belong to earlier
    tokens, since characters and stop texts can span tokens.

    `logprob` and `probability` are those of `sampling.Choice`.
    """

    id: int
    text: str
    logprob: float
    probability: float


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
