"""The time of a token: its passes, each timed on its own, in steps that a frame has room for."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from statistics import median

from gpt2gl.gl.call import Prepared, Step
from gpt2gl.gl.device import Device
from gpt2gl.profiling import shape_of
from gpt2gl.session import Session

REPEATS = 3
_END = object()
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class PassTime:
    """All calls of one pass with one shape in a token, as in `gpt2gl.profiling`."""

    name: str
    shape: str
    calls: int
    ms: float


@dataclass(frozen=True)
class TokenTime:
    """The passes of a token after `context` - 1 others, slowest first."""

    context: int
    passes: tuple[PassTime, ...]

    @property
    def ms(self) -> float:
        return sum(each.ms for each in self.passes)


def token_time_steps(session: Session, tokens: Tokens) -> Generator[None, None, TokenTime]:
    """Draw the last token again, one bounded draw a step; medians of `REPEATS`.

    The device is idle before and after each draw, so that the sum is more than a token takes.
    """
    yield from session.encode_steps(tokens)
    still, device, plan = session.hold(), session.model.device, session.model.plan("decode")
    step, budget = Step(len(tokens) - 1, 1), device.fetches_per_draw
    runs: list[list[float]] = []
    try:
        for _ in range(REPEATS + 1):
            runs.append([])
            device.set_step(step, tokens[-1:])
            for prepared in plan:
                runs[-1].append((yield from _seconds(device, prepared, step)))
                still()
    finally:
        # Steps were cut by how long single passes take, which a text's are not.
        device.fetches_per_draw = budget
    seconds = [median(times) for times in zip(*runs[1:], strict=True)]  # the first one warmed up
    return TokenTime(len(tokens), _grouped(device, plan, seconds, step))


def _seconds(device: Device, prepared: Prepared, step: Step) -> Generator[None, None, float]:
    """Of one pass; a step for each of its bounded draws."""
    draws, total, ended = device.draw((prepared,), step), 0.0, False
    while not ended:
        device.take()
        device.finish()
        start = time.perf_counter()
        ended = next(draws, _END) is _END
        device.finish()
        total += time.perf_counter() - start
        yield
    return total


def _grouped(
    device: Device, plan: Sequence[Prepared], seconds: Sequence[float], step: Step
) -> tuple[PassTime, ...]:
    groups: dict[tuple[str, str], list[float]] = {}
    for prepared, each in zip(plan, seconds, strict=True):
        shape = shape_of(prepared, step, device.fetches_per_draw)
        groups.setdefault((prepared.call.operation.name, shape), []).append(1e3 * each)
    found = [PassTime(*key, len(times), sum(times)) for key, times in groups.items()]
    return tuple(sorted(found, key=lambda each: -each.ms))
