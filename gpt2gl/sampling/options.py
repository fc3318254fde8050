"""The options of sampling: their defaults, allowed ranges, help and command-line names.

Every field of `Sampling` carries an `Option` in its metadata. The command line and the window
build their controls from `SAMPLING_OPTIONS`; `Sampling` itself checks its values with the same
objects, so that a range is written down once.
"""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar

from ..errors import OptionError


@dataclass(frozen=True, kw_only=True)
class Option(ABC):
    """What a control needs to know about one option.

    `cli` is the option as the command line spells it, `help` one sentence for people.
    """

    cli: str
    help: str

    @property
    @abstractmethod
    def allowed(self) -> str:
        """The allowed values in words, as error messages and help texts show them."""

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return `value` in its stored form; raise `OptionError` if it is not allowed."""

    def refuse(self, value: object) -> OptionError:
        """The error for a value that is not allowed."""
        return OptionError(f"{self.cli} is {reprlib.repr(value)}; allowed: {self.allowed}")


@dataclass(frozen=True, kw_only=True)
class Number(Option):
    """A number from `minimum` to `maximum`, both included; no `maximum` means no upper limit.

    `kind` is int or float. `above_minimum` excludes the minimum itself, and `optional` admits
    None. `slider` is the part of the range that is worth offering to a mouse.
    """

    kind: type[int] | type[float]
    minimum: float
    maximum: float | None = None
    above_minimum: bool = False
    optional: bool = False
    slider: tuple[float, float] | None = None

    _types: ClassVar[Mapping[type, type]] = {int: Integral, float: Real}
    _nouns: ClassVar[Mapping[type, str]] = {int: "a whole number", float: "a number"}

    @property
    def allowed(self) -> str:
        """For example "a number above 0, at most 1"."""
        low = f"above {self.minimum}, at most" if self.above_minimum else f"from {self.minimum} to"
        limits = f"of {self.minimum} or more" if self.maximum is None else f"{low} {self.maximum}"
        return f"{self._nouns[self.kind]} {limits}{', or none' if self.optional else ''}"

    def check(self, value: Any) -> int | float | None:
        """Return `value` as `kind`; raise `OptionError` for another type, NaN or out of range."""
        if value is None and self.optional:
            return None
        if isinstance(value, bool) or not isinstance(value, self._types[self.kind]):
            raise self.refuse(value)
        if not self._within(value):
            raise self.refuse(value)
        kind: Callable[[Any], int | float] = self.kind
        return kind(value)

    def _within(self, value: Any) -> bool:
        # Written so that NaN, for which every comparison is false, falls outside.
        low = value > self.minimum if self.above_minimum else value >= self.minimum
        return bool(low) and (self.maximum is None or bool(value <= self.maximum))


@dataclass(frozen=True, kw_only=True)
class TokenBias(Option):
    """A mapping from token id to a bias of at most `limit` in either direction."""

    limit: float

    @property
    def allowed(self) -> str:
        """For example "token ids, each with a number from -100 to 100"."""
        return f"token ids, each with a number from -{self.limit} to {self.limit}"

    def check(self, value: Any) -> dict[int, float]:
        """Return a copy with plain numbers; raise `OptionError` for a bad token id or bias."""
        if not isinstance(value, Mapping):
            raise self.refuse(value)
        return {self._token(token): self._bias(token, bias) for token, bias in value.items()}

    def _token(self, token: Any) -> int:
        if not _is_token_id(token):
            raise OptionError(f"{self.cli} names {reprlib.repr(token)}, which is not a token id")
        return int(token)

    def _bias(self, token: int, bias: Any) -> float:
        is_number = isinstance(bias, Real) and not isinstance(bias, bool)
        if not is_number or not -self.limit <= bias <= self.limit:
            raise OptionError(
                f"{self.cli} gives token {token} a bias of {reprlib.repr(bias)}; "
                f"allowed: a number from -{self.limit} to {self.limit}"
            )
        return float(bias)


@dataclass(frozen=True, kw_only=True)
class TokenSequences(Option):
    """Any number of token sequences, each of one token or more."""

    @property
    def allowed(self) -> str:
        """The same words for every option of this kind."""
        return "sequences of one or more token ids"

    def check(self, value: Any) -> tuple[tuple[int, ...], ...]:
        """Return tuples of plain ints; raise `OptionError` for an empty or non-token sequence."""
        if not _is_sequence(value):
            raise self.refuse(value)
        return tuple(self._sequence(entry) for entry in value)

    def _sequence(self, entry: Any) -> tuple[int, ...]:
        if not _is_sequence(entry) or len(entry) == 0 or not all(map(_is_token_id, entry)):
            raise self.refuse(entry)
        return tuple(int(token) for token in entry)


def _is_token_id(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _option(default: object, option: Option) -> Any:
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; the defaults sample from the model's own distribution.

    Constructing one checks every field: `OptionError` names the option as the command line
    spells it, the value and the allowed values. The order in which the options act is that of
    `gpt2gl.sampling.SAMPLERS`, whose keys are the field names.
    """

    temperature: float = _option(
        1.0,
        Number(
            cli="--temperature",
            help="Lower is safer, higher is more varied; 0 always takes the most likely token.",
            kind=float,
            minimum=0,
            maximum=100,
            slider=(0, 2),
        ),
    )
    top_k: int = _option(
        0,
        Number(
            cli="--top-k",
            help="Choose among this many of the most likely tokens; 0 is off.",
            kind=int,
            minimum=0,
            slider=(0, 200),
        ),
    )
    top_p: float = _option(
        1.0,
        Number(
            cli="--top-p",
            help="Choose among the most likely tokens that together have this probability; "
            "1 is off.",
            kind=float,
            minimum=0,
            maximum=1,
            slider=(0, 1),
        ),
    )
    min_p: float = _option(
        0.0,
        Number(
            cli="--min-p",
            help="Drop tokens less likely than this share of the most likely token; 0 is off.",
            kind=float,
            minimum=0,
            maximum=1,
            slider=(0, 1),
        ),
    )
    typical_p: float = _option(
        1.0,
        Number(
            cli="--typical-p",
            help="Choose among the most typical tokens that together have this probability; "
            "1 is off.",
            kind=float,
            minimum=0,
            maximum=1,
            slider=(0.05, 1),
            above_minimum=True,
        ),
    )
    repetition_penalty: float = _option(
        1.0,
        Number(
            cli="--repetition-penalty",
            help="Weaken tokens that are already in the prompt or the answer; "
            "1 is off, below 1 favours them.",
            kind=float,
            minimum=0.01,
            maximum=100,
            slider=(1, 2),
        ),
    )
    presence_penalty: float = _option(
        0.0,
        Number(
            cli="--presence-penalty",
            help="Subtract this from the logit of every token that is already in the answer.",
            kind=float,
            minimum=-2,
            maximum=2,
            slider=(-2, 2),
        ),
    )
    frequency_penalty: float = _option(
        0.0,
        Number(
            cli="--frequency-penalty",
            help="Subtract this from a token's logit once for each time it is in the answer.",
            kind=float,
            minimum=-2,
            maximum=2,
            slider=(-2, 2),
        ),
    )
    no_repeat_ngram: int = _option(
        0,
        Number(
            cli="--no-repeat-ngram",
            help="Never repeat a run of this many tokens; 0 is off.",
            kind=int,
            minimum=0,
            slider=(0, 10),
        ),
    )
    logit_bias: Mapping[int, float] = field(
        default_factory=dict,
        hash=False,  # equal options still have equal hashes, and a dict has none
        metadata={
            "option": TokenBias(
                cli="--logit-bias",
                help="Add a number to the logit of chosen tokens; 100 all but forces a token, "
                "-100 all but forbids it.",
                limit=100,
            )
        },
    )
    banned: tuple[tuple[int, ...], ...] = _option(
        (),
        TokenSequences(cli="--banned", help="Never generate these sequences of tokens."),
    )
    min_new_tokens: int = _option(
        0,
        Number(
            cli="--min-new-tokens",
            help="Do not end the text before this many tokens are generated.",
            kind=int,
            minimum=0,
            slider=(0, 256),
        ),
    )
    seed: int | None = _option(
        None,
        Number(
            cli="--seed",
            help="The same seed gives the same text; without one every run differs.",
            kind=int,
            minimum=0,
            maximum=2**63 - 1,
            optional=True,
        ),
    )

    def __post_init__(self) -> None:
        for name, option in SAMPLING_OPTIONS.items():
            object.__setattr__(self, name, option.check(getattr(self, name)))

    def check_vocabulary(self, n_valid: int) -> None:
        """Raise `OptionError` if `logit_bias` or `banned` names a token id >= `n_valid`."""
        banned = (token for sequence in self.banned for token in sequence)
        _check_ids("logit_bias", self.logit_bias, n_valid)
        _check_ids("banned", banned, n_valid)


def _check_ids(name: str, ids: Iterable[int], n_valid: int) -> None:
    for token in ids:
        if token >= n_valid:
            raise OptionError(
                f"{SAMPLING_OPTIONS[name].cli} names token {token}; "
                f"allowed: the token ids of this model, 0 to {n_valid - 1}"
            )


SAMPLING_OPTIONS: dict[str, Option] = {
    entry.name: entry.metadata["option"] for entry in fields(Sampling)
}
"""Field name of `Sampling` -> its `Option`, in field order."""
