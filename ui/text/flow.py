"""One block's characters, measured once and broken into lines of a width.

Everything that depends on the width is found by bisection in running sums, so that another width
costs a few microseconds a line, and text that is appended costs only its own last line.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice

from gpt2gl_ui.text.breaks import find_breaks
from gpt2gl_ui.text.document import Block, Run
from gpt2gl_ui.text.style import TextStyle


@dataclass(frozen=True)
class Segment:
    """A piece of a line in one style; `x` from the line's start, `start:end` in the source."""

    x: float
    text: str
    run: Run
    start: int
    end: int


class Flow:
    """A block's text on lines. Positions here count its own characters from 0."""

    def __init__(self, block: Block, style: TextStyle) -> None:
        self.block, self.style = block, style
        self.text = ""
        self.width = -1.0
        self.line_height = style.line_height(block)
        self.lines_wrapped = 0
        self._sums = array("d", [0.0])
        # Where lines may begin, and the width up to the last dark character before that.
        self._breaks = array("q")
        self._dark_sums = array("d")
        self._hard = array("q")
        self._dark_end = 0
        self._starts = array("q", [0])
        self._run_starts: list[int] = []
        self._append(block.runs)

    @property
    def line_count(self) -> int:
        return len(self._starts)

    @property
    def height(self) -> float:
        return self.line_count * self.line_height

    def grow(self, block: Block) -> bool:
        """Take the same block with more text; False where it is another one."""
        old, new = self.block.runs, block.runs
        if block.frame() != self.block.frame() or len(old) != 1 or len(new) != 1:
            return False
        same = old[0].style == new[0].style and old[0].start == new[0].start
        if not (same and new[0].exact and new[0].text.startswith(self.text)):
            return False
        added = len(self.text)
        self.block = block
        if added == len(new[0].text):
            return True
        self._measure(new[0], new[0].text[added:])
        self.text = new[0].text
        self._find_breaks()
        if self.width >= 0:
            self._wrap()
        return True

    def wrap(self, width: float) -> None:
        """Break into lines of `width` pixels. A character wider than that gets its own line."""
        if width != self.width:
            self.width = width
            del self._starts[1:]
            self._wrap()

    def _append(self, runs: tuple[Run, ...]) -> None:
        position = 0
        for run in runs:
            self._run_starts.append(position)
            position += len(run.text)
            self._measure(run, run.text)
        self.text = "".join(run.text for run in runs)
        self._find_breaks()

    def _measure(self, run: Run, text: str) -> None:
        advances = self.style.face(self.block, run).advances(text)
        self._sums.extend(islice(accumulate(advances, initial=self._sums[-1]), 1, None))

    def _find_breaks(self) -> None:
        """Find the breaks behind the last known one: what is before it cannot change them."""
        begin = self._breaks[-1] if self._breaks else 0
        if begin == len(self.text):
            return
        found = find_breaks(self.text[begin:])
        self._dark_end = begin + found.dark_end
        self._dark_sums.extend([self._sums[begin + end] for end in found.ends])
        self._breaks.extend([begin + at for at in found.at])
        self._hard.extend([begin + at for at in found.hard])

    def _wrap(self) -> None:
        """Break from the start of the last line on; lines before it keep their ends."""
        start = self._starts.pop()
        count = len(self.text)
        while True:
            self._starts.append(start)
            self.lines_wrapped += 1
            start = self._line_end(start, count)
            if start >= count and self.text[-1:] != "\n":
                return
            if start >= count:
                self._starts.append(count)
                return

    def _line_end(self, start: int, count: int) -> int:
        limit = self._sums[start] + self.width
        following = bisect_right(self._hard, start)
        hard = self._hard[following] if following < len(self._hard) else count + 1
        fitting = bisect_right(self._dark_sums, limit) - 1
        best = self._breaks[fitting] if fitting >= 0 else 0
        if best >= hard:
            return hard
        if hard > count and self._sums[max(self._dark_end, start)] <= limit:
            return count
        if best > start:
            return best
        middle = bisect_right(self._sums, limit) - 1
        return min(max(middle, start + 1), hard, count)

    def line_range(self, line: int) -> tuple[int, int]:
        """A line's characters, the newline at its end left out."""
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        if end > start and self.text[end - 1] == "\n":
            end -= 1
        return start, end

    def line_of(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1

    def x_of(self, line: int, position: int) -> float:
        return self._sums[position] - self._sums[self._starts[line]]

    def position_at(self, line: int, x: float, nearest: bool = True) -> int:
        """The character boundary nearest to `x`; or the character under it."""
        start, end = self.line_range(line)
        wanted = self._sums[start] + max(x, 0.0)
        after = min(bisect_right(self._sums, wanted, start, end + 1), end)
        before = max(after - 1, start)
        if not nearest or wanted - self._sums[before] <= self._sums[after] - wanted:
            return before
        # Behind what has no width of its own: it belongs to the character before it.
        return bisect_right(self._sums, self._sums[after], after, end + 1) - 1

    def to_source(self, position: int) -> int:
        """The place in the source of a character boundary."""
        if not self.block.runs:
            return self.block.start
        index = max(bisect_right(self._run_starts, position) - 1, 0)
        run, inside = self.block.runs[index], position - self._run_starts[index]
        if inside >= len(run.text):
            return run.end
        return run.start + (inside if run.exact else 0)

    def from_source(self, index: int) -> int:
        """The boundary for a place in the source; what is not shown counts as what follows."""
        runs = self.block.runs
        number = bisect_right(runs, index, key=lambda run: run.start) - 1
        if number < 0:
            return 0
        run, start = runs[number], self._run_starts[number]
        if index >= run.end:
            return start + len(run.text)
        return start + (index - run.start if run.exact else 0)

    def segments(self, line: int) -> Iterator[Segment]:
        """What stands on a line, in order; together exactly its characters."""
        start, end = self.line_range(line)
        index = max(bisect_right(self._run_starts, start) - 1, 0)
        while start < end:
            run, first = self.block.runs[index], self._run_starts[index]
            stop = min(first + len(run.text), end)
            if stop > start:
                yield self._segment(line, run, start - first, stop - first, start)
            start, index = stop, index + 1

    def _segment(self, line: int, run: Run, begin: int, end: int, position: int) -> Segment:
        x, text = self.x_of(line, position), run.text[begin:end]
        if run.exact:
            return Segment(x, text, run, run.start + begin, run.start + end)
        return Segment(x, text, run, run.start, run.end)
