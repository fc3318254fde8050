"""How fast an answer comes, measured where its tokens arrive."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW = 2.0  # seconds that the live figure looks back


class Speed:
    """Of one answer.

    Attributes:
        first_token_seconds: from the beginning to the first token, None before it.
        n_tokens: tokens so far.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.first_token_seconds: float | None = None
        self.n_tokens = 0
        self._clock = clock
        self._began = self._last = clock()
        self._times: deque[float] = deque()

    def token(self) -> None:
        """One more token has come."""
        self._last = self._clock()
        self.n_tokens += 1
        if self.first_token_seconds is None:
            self.first_token_seconds = self._last - self._began
        self._times.append(self._last)
        while self._times[0] < self._last - WINDOW:
            self._times.popleft()

    @property
    def live(self) -> float:
        """Tokens per second over the last seconds; 0 while that cannot be told."""
        return _rate(len(self._times), self._last - self._times[0]) if self._times else 0.0

    @property
    def average(self) -> float:
        """Tokens per second after the first token, so that reading the prompt does not count."""
        if self.first_token_seconds is None:
            return 0.0
        return _rate(self.n_tokens, self._last - self._began - self.first_token_seconds)


def _rate(n_tokens: int, seconds: float) -> float:
    """The first token is where the time begins."""
    return (n_tokens - 1) / seconds if n_tokens > 1 and seconds > 0 else 0.0
