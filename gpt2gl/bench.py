"""How fast a model runs on this machine, how much of the GPU it takes, and where the time goes.

Every time is taken on a cache that holds keys and values of seeded random tokens, put there by a
real prefill, and with a new last token each time. A token's time is what a text generator waits
for: from the token's id to its logits in host memory. Choosing the next token is not in it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np

from gpt2gl.config import ModelConfig
from gpt2gl.errors import OptionError
from gpt2gl.gl.context import headless
from gpt2gl.gl.layouts import PRECISIONS
from gpt2gl.session import Session

if TYPE_CHECKING:
    from gpt2gl.profiling import Profile

CONTEXTS = (16, 256, 1000)
PREFILLS = (32, 512)
REPEATS = 5
# A replay takes a millisecond or so, and anything else on the machine shows in it.
PYTHON_REPLAYS = 20
SEED = 0
# Fewer tokens are a decode, and without one before it a decode has an empty cache.
FEWEST_TOKENS = 2


@dataclass(frozen=True)
class Spread:
    """Median and extremes of repeated measurements."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of one value or more."""
        found = sorted(values)
        return cls(statistics.median(found), found[0], found[-1])


@dataclass(frozen=True)
class Decode:
    """One more token after `context` - 1 others.

    Attributes:
        ms: milliseconds a token.
        read_ms: of these, to read the logits back once the device is done.
        read_share: `read_ms` over `ms`, by their medians.
        python_us: microseconds a token that Python takes, by a replay that draws nothing.
        draws: draw calls a token.
    """

    context: int
    ms: Spread
    read_ms: Spread
    read_share: float
    python_us: Spread
    draws: int


@dataclass(frozen=True)
class Prefill:
    """A prompt of `tokens` tokens up to the logits of its last; `tokens_per_s` by the median."""

    tokens: int
    seconds: Spread
    tokens_per_s: float


@dataclass(frozen=True)
class Memory:
    """Bytes of textures on the GPU once both kinds of forward pass have been run.

    `other` is what is neither of the three, such as textures that wait to be used again; `ratio`
    is the total over weights and cache.
    """

    weights: int
    kv_cache: int
    scratch: int
    other: int
    total: int
    ratio: float


@dataclass(frozen=True)
class Result:
    """One precision.

    Attributes:
        renderer: the driver's name for what drew.
        load_s: seconds to read, convert and upload the weights; making them, for random ones.
        first_token_s: seconds of the first prompt, compiling of shaders included.
        first_prompt: how many tokens it had.
    """

    precision: str
    renderer: str
    load_s: float
    first_token_s: float
    first_prompt: int
    decode: tuple[Decode, ...]
    prefill: tuple[Prefill, ...]
    memory: Memory
    profile: Profile | None


@dataclass(frozen=True)
class Plan:
    """What to measure: sizes in tokens, and how often."""

    contexts: tuple[int, ...]
    prefills: tuple[int, ...]
    repeats: int = REPEATS
    profile: bool = False


def plan_for(
    config: ModelConfig,
    contexts: Sequence[int] = (),
    prefills: Sequence[int] = (),
    repeats: int = REPEATS,
    profile: bool = False,
) -> Plan:
    """A plan that fits a model. Without sizes: the usual ones that fit, or all its positions.

    Raises:
        OptionError: a size is below 2 or exceeds the model's positions, there are no repeats, or
            the model is too small to measure.
    """
    if repeats < 1:
        raise OptionError(f"--repeats is {repeats}; allowed: 1 or more")
    most = config.n_positions
    if min(most, config.vocab_size) < FEWEST_TOKENS:
        raise OptionError(
            f"a model of {config.vocab_size} tokens and {most} positions is too small to measure:"
            " choose one with two of each or more"
        )
    for name, sizes in (("context", contexts), ("prefill", prefills)):
        for size in sizes:
            if not FEWEST_TOKENS <= size <= most:
                raise OptionError(
                    f"--{name} is {size}; allowed: {FEWEST_TOKENS} to the model's {most}"
                )
    return Plan(
        _ordered(contexts or _fitting(CONTEXTS, most)),
        _ordered(prefills or _fitting(PREFILLS, most)),
        repeats,
        profile,
    )


def _ordered(sizes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(sizes)))


def _fitting(sizes: Sequence[int], most: int) -> tuple[int, ...]:
    return tuple(size for size in sizes if size <= most) or (most,)


def known_precisions(asked: Sequence[str]) -> tuple[str, ...]:
    """The precisions asked for, none twice; every one for "all".

    Raises:
        OptionError: there is no such precision.
    """
    for name in asked:
        if name != "all" and name not in PRECISIONS:
            allowed = " | ".join((*PRECISIONS, "all"))
            raise OptionError(f"--precision is {name}; allowed: {allowed}")
    return tuple(PRECISIONS) if "all" in asked else tuple(dict.fromkeys(asked))


def bench(load: Callable[[], Session], precision: str, plan: Plan) -> Result:
    """Load a model, measure it by `plan`, close it.

    Raises:
        Gpt2glError: as `load`, and as `Session.logits`.
    """
    headless()  # opening the driver is not loading the model
    start = time.perf_counter()
    with load() as session:
        device = session.model.device
        device.finish()
        load_s = time.perf_counter() - start
        prompts = _Prompts(session.model.config)
        first = plan.prefills[0]
        first_token_s = _seconds(session, prompts.text(first))
        text = prompts.text(plan.contexts[-1])
        decode = tuple(
            measure_decode(session, text[: n - 1], prompts.tokens(plan.repeats))
            for n in plan.contexts
        )
        memory = measure_memory(session)
        profile = _profile(session, text, plan.repeats) if plan.profile else None
        prefill = tuple(measure_prefill(session, prompts, n, plan.repeats) for n in plan.prefills)
    return Result(
        precision=precision,
        renderer=device.limits.renderer,
        load_s=load_s,
        first_token_s=first_token_s,
        first_prompt=first,
        decode=decode,
        prefill=prefill,
        memory=memory,
        profile=profile,
    )


class _Prompts:
    """Seeded random texts. No two that follow each other begin with the same token, so that
    nothing of the cache can be reused."""

    def __init__(self, config: ModelConfig) -> None:
        self.vocab_size = config.vocab_size
        self.random = np.random.default_rng(SEED)
        self.first = 0

    def text(self, length: int) -> list[int]:
        self.first = (self.first + 1) % self.vocab_size
        return [self.first, *self.tokens(length - 1)]

    def tokens(self, length: int) -> list[int]:
        found: list[int] = self.random.integers(0, self.vocab_size, length).tolist()
        return found


def _seconds(session: Session, tokens: Sequence[int]) -> float:
    start = time.perf_counter()
    session.logits(tokens)
    return time.perf_counter() - start


def _encode(session: Session, tokens: Sequence[int]) -> None:
    for _ in session.encode_steps(tokens):
        pass


def measure_decode(session: Session, past: Sequence[int], tokens: Sequence[int]) -> Decode:
    """Fill the cache with `past`, then time each of `tokens` in the place after it."""
    _encode(session, past)
    texts = [[*past, token] for token in tokens]
    session.logits(texts[-1])  # compiles and allocates
    device = session.model.device
    draws = device.draws
    session.logits(texts[-1])
    draws = device.draws - draws
    ms = Spread.of(1e3 * _seconds(session, text) for text in texts)
    read = Spread.of(_read_ms(session, text) for text in texts)
    python = Spread.of(_python_us(session, texts))
    return Decode(len(past) + 1, ms, read, read.median / ms.median, python, draws)


def _read_ms(session: Session, tokens: Sequence[int]) -> float:
    """Milliseconds to read the logits once they are drawn."""
    _encode(session, tokens)
    session.model.device.finish()
    start = time.perf_counter()
    session.model.logits()
    return 1e3 * (time.perf_counter() - start)


def _python_us(session: Session, texts: Sequence[Sequence[int]]) -> list[float]:
    """Microseconds of the last token of texts, all but what the driver does."""
    from gpt2gl.gl.timing import silenced

    with silenced(session.model.device):
        replays = list(islice(cycle(texts), PYTHON_REPLAYS + 1))
        _, *found = [1e6 * _seconds(session, text) for text in replays]
    session.logits(texts[-1])  # the session believes that its cache holds this
    return found


def measure_prefill(session: Session, prompts: _Prompts, length: int, repeats: int) -> Prefill:
    """Time prompts of `length` tokens, none of which the cache holds."""
    seconds = Spread.of(_seconds(session, prompts.text(length)) for _ in range(repeats))
    return Prefill(length, seconds, length / seconds.median)


def measure_memory(session: Session) -> Memory:
    """Bytes on the GPU now, by use."""
    from gpt2gl.gl.timing import texture_bytes

    pool = session.model.device.pool
    weights, kv_cache, scratch = (
        pool.bytes_by_use[use] for use in ("weights", "kv_cache", "scratch")
    )
    total = texture_bytes(session.model.device)
    other = total - weights - kv_cache - scratch
    return Memory(weights, kv_cache, scratch, other, total, total / (weights + kv_cache))


def _profile(session: Session, text: Sequence[int], repeats: int) -> Profile:
    """A profile of the last token of a text."""
    from gpt2gl.profiling import profile_decode

    session.logits(text)
    return profile_decode(session.model, len(text) - 1, text[-1], repeats)
