"""Stop texts in a stream: they may span tokens, and nothing of them may be shown."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Passes text on except what might still become a stop text.

    What is shown does not depend on how the text is cut into pieces: the stop text that is complete
    first ends it, of several the longest.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.hit = False

    def push(self, text: str) -> str:
        """The part of everything pushed that can be shown now; empty for ever after a hit."""
        if self.hit:
            return ""
        self._held += text
        start = self._first_stop()
        if start is not None:
            self.hit = True
            shown, self._held = self._held[:start], ""
            return shown
        keep = max((_overlap(self._held, stop) for stop in self._stops), default=0)
        cut = len(self._held) - keep
        shown, self._held = self._held[:cut], self._held[cut:]
        return shown

    def flush(self) -> str:
        """What was held back and turned out to be plain text."""
        shown, self._held = self._held, ""
        return shown

    def _first_stop(self) -> int | None:
        """Where the stop text that is complete first begins."""
        found = [(at + len(s), at) for s in self._stops if (at := self._held.find(s)) >= 0]
        return min(found)[1] if found else None


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that a stop text begins with."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
