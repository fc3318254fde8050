"""Attention of all heads as thumbnails, or of one head or the mean of a layer in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpt2gl.errors import OptionError
from gpt2gl.gl.call import Prepared
from gpt2gl.gl.pictures import Pictures
from gpt2gl.gl.tensor import ceil_div
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.models.gpt2_history import History
from gpt2gl.passes.inspector import attention_picture
from gpt2gl.views.view import Follower, View

WEIGHTS, SCORES = "weights", "scores"
MODES = (WEIGHTS, SCORES)
# A band of more lines than this is drawn as a whole picture, which is cut into bounded steps.
BAND_LINES = 4
# Weights are brightened by this power, since most are small.
EXPONENT = 0.5
# The raw score that gets the end of the scale.
SCORE_LIMIT = 8.0


@dataclass(frozen=True)
class Cells:
    """Layers x heads from `layer` and `head` on; head -1 is the mean of a layer's heads."""

    layer: int
    head: int
    rows: int
    columns: int


class AttentionView(View):
    """Cells of `cell` x `cell` pixels, one for each layer (down) and head (across).

    In a cell queries go down and keys to the right, and a pixel shows the largest value of `pool`
    x `pool` positions, so that a cell shows `span` = cell * pool positions, of which the text
    fills the first `n_rows`; `uv` is that part of a cell. `pool` is 1, 2, 4, ...; where it
    changes, everything is drawn anew, else only what is new. Hidden keys and positions after the
    text are transparent. `mode`, `exponent` and `limit` may be set at any time.
    """

    def __init__(
        self,
        pictures: Pictures,
        capture: Capture,
        cells: Cells,
        *,
        cell: int,
        grows: bool = False,
        mode: str = WEIGHTS,
        exponent: float = EXPONENT,
        limit: float = SCORE_LIMIT,
    ) -> None:
        """`cell` is the side of a cell in pixels; if it `grows`, the largest, of a cell that has
        a pixel for each position as long as there are no more of them.

        Args:
            mode: weights, in viridis and brightened by the power `exponent`; or scores, in a
                signed scale up to `limit`.

        Raises:
            OptionError: no such layer, head or mode; attention is not captured.
        """
        super().__init__(pictures)
        self.capture = capture
        if mode not in MODES:
            raise OptionError(f"no mode {mode!r} of attention: choose from {', '.join(MODES)}")
        _check(capture.history("attention"), cells)
        self.cells, self.mode, self.exponent, self.limit = cells, mode, exponent, limit
        self.pool = 0
        self._shown: tuple[object, ...] = ()
        self._most, self._grows = cell, grows
        self._text = Follower(capture)

    @property
    def cell(self) -> int:
        """Pixels of a cell's side now."""
        return min(self._most, self.capture.capacity) if self._grows else self._most

    @property
    def span(self) -> int:
        """Positions that a cell shows, whether there are as many or not."""
        return self.cell * max(1, self.pool)

    @property
    def n_rows(self) -> int:
        """Positions of the text that are in the picture."""
        return self._text.drawn

    def uv(self, row: int = 0, column: int = 0) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of the part of a cell that the text fills, as fractions of the
        picture."""
        part = self.n_rows / self.span
        across, down = self.cells.columns, self.cells.rows
        return column / across, row / down, (column + part) / across, (row + part) / down

    def update(self) -> Iterator[None]:
        """See `View`. After a token it is one small draw, whatever the number of cells."""
        text = self._text
        if not self.capture.histories:
            return
        n_rows, n_rewinds = self.capture.n_rows, len(self.capture.rewinds)
        if text.has_moved():
            self._calls.clear()
        pool = self._pool(n_rows)
        resized = self._resize(self.cells.columns * self.cell, self.cells.rows * self.cell)
        how = (self.mode, self.exponent, self.limit, pool)
        if resized or how != self._shown:
            text.is_complete = False
        self.pool, self._shown = pool, how
        first, end = text.changed()
        if first == end and text.is_complete:
            return
        line = first // pool
        lines = min(ceil_div(end, pool), self.cell) - line
        if lines > BAND_LINES:
            text.is_complete = False
        call = self._call(not text.is_complete, pool)
        if (yield from self._steps(call, self._values(n_rows, line, lines))):
            text.done(n_rows, n_rewinds)

    def _textures(self) -> object:
        return self.capture.epoch

    def _pool(self, n_rows: int) -> int:
        positions = self.capture.capacity if self._grows else n_rows
        pool = 1
        while self.cell * pool < positions:
            pool *= 2
        return pool

    def _values(self, n_rows: int, line: int, lines: int) -> list[float]:
        cells, mode = self.cells, MODES.index(self.mode)
        return [
            *(n_rows, self.pool, self.pool, self.cell),
            *(cells.layer, max(0, cells.head), mode, self.limit),
            *(self.exponent, 0, line, lines),
            *(cells.rows, self.cell),
        ]

    def _call(self, whole: bool, pool: int) -> Prepared:
        history = self.capture.history("attention")
        mean = self.cells.head < 0
        fetches = pool * (1 + ceil_div(pool, 4)) * (history.n_head if mean else 1)
        call = attention_picture(
            history.kept,
            history.stats,
            history.n_head,
            self.picture,
            self.pictures.block,
            weights=self.mode == WEIGHTS,
            mean=mean,
            fetches=fetches if whole else 0,
            bands=not whole,
        )
        prepared = self._prepared((whole, pool, self.mode), call)
        if not whole:
            prepared.slices = ((0, 6 * self.cells.rows),)
        return prepared


def _check(history: History, cells: Cells) -> None:
    last = (cells.layer + cells.rows, max(0, cells.head) + cells.columns)
    there = (len(history.points), history.n_head)
    if cells.layer < 0 or cells.head < -1 or last[0] > there[0] or last[1] > there[1]:
        raise OptionError(
            f"no layer {cells.layer}, head {cells.head}: there are {there[0]} layers of {there[1]}"
            " heads, counted from 0"
        )
