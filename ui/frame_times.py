"""What frames cost and how far they are apart, over the last few seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

KEPT = 600


@dataclass(frozen=True)
class Spread:
    """Seconds; all zero when nothing was recorded."""

    p50: float = 0.0
    p95: float = 0.0
    max: float = 0.0
    count: int = 0


class FrameTimes:
    """The last frames' intervals while busy, and the costs of drawing."""

    def __init__(self) -> None:
        self._intervals: deque[float] = deque(maxlen=KEPT)
        self._costs: deque[float] = deque(maxlen=KEPT)

    @property
    def interval(self) -> Spread:
        """Between the beginnings of frames that followed each other without a rest."""
        return _spread(self._intervals)

    @property
    def cost(self) -> Spread:
        """Of building a frame, and of drawing it where the processor does that."""
        return _spread(self._costs)

    def add_interval(self, seconds: float) -> None:
        self._intervals.append(seconds)

    def add_cost(self, seconds: float) -> None:
        self._costs.append(seconds)

    def recent_cost(self) -> float:
        """The higher of the last few costs, to leave room for the next frame."""
        return max(list(self._costs)[-4:], default=0.0)

    def clear(self) -> None:
        """Forget everything, e.g. before a measurement."""
        self._intervals.clear()
        self._costs.clear()


def _spread(values: deque[float]) -> Spread:
    if not values:
        return Spread()
    ordered = sorted(values)
    last = len(ordered) - 1
    return Spread(ordered[last // 2], ordered[round(last * 0.95)], ordered[-1], len(ordered))
