"""Activations and weights as heat-maps: rows down, columns to the right."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator

from gpt2gl.errors import OptionError
from gpt2gl.gl.pictures import Pictures
from gpt2gl.gl.storage import Matrix, allocate_rows, release
from gpt2gl.gl.tensor import Tensor, ceil_div
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.models.gpt2_history import USE, History
from gpt2gl.passes.inspector import (
    PEAKS_ACROSS,
    SOURCE_OF_NORMS,
    Source,
    all_peaks,
    heatmap,
    source_of_history,
    source_of_matrix,
    source_of_rows,
    tensor_peaks,
)
from gpt2gl.views.view import STEP, Follower, View

LINEAR, SYMLOG, PER_ROW = "linear", "symlog", "row"
# In the order of the constants in glsl/heatmap.frag.
SCALES = (LINEAR, SYMLOG, PER_ROW)
# Pixels of a picture's sides at most; more numbers share pixels.
MAX_WIDTH = 1024
MAX_HEIGHT = 1024
# Magnitude up to which `symlog` is about linear.
KNEE = 1.0


def check_scale(scale: str) -> int:
    """The shader's number of a scale.

    Raises:
        OptionError: no such scale.
    """
    if scale not in SCALES:
        raise OptionError(f"no scale {scale!r}: choose from {', '.join(SCALES)}")
    return SCALES.index(scale)


class _Heatmap(View):
    """A picture of numbers, and the textures from which its scale comes."""

    def __init__(self, pictures: Pictures, points: int, across: int) -> None:
        super().__init__(pictures)
        self.pool = (1, 1)
        self._points, self._across = points, across
        device = pictures.device
        self._limits: Tensor | None = allocate_rows(device, 1, 4 * points, USE)

    def close(self) -> None:
        """Delete the picture and what belongs to it; safe to call twice."""
        release(self.pictures.device, self._limits)
        self._limits = None
        super().close()

    def _show(
        self,
        source: Source,
        peaks: Tensor,
        size: tuple[int, int],
        *,
        point: int = 0,
        scale: str = LINEAR,
        limit: float | None = None,
        knee: float = KNEE,
        norms: bool = False,
        lines: int = 0,
    ) -> Generator[None, None, bool]:
        """Draw `size` = (columns, rows) numbers, and leave room for `lines` rows in all.

        Returns whether it came to an end, see `_steps`.
        """
        assert self._limits is not None
        columns, rows = size
        room = max(rows, lines)
        self.pool = (ceil_div(columns, MAX_WIDTH), ceil_div(room, MAX_HEIGHT))
        self._resize(ceil_div(columns, self.pool[0]), ceil_div(room, self.pool[1]))
        values = [
            *(rows, *self.pool, 0),
            *(point, 0, check_scale(scale), limit or 0.0),
            *(knee, columns, 0, 0),
        ]
        block = self.pictures.block
        across, points = self._across, self._points
        if not limit:
            call = all_peaks(peaks, self._limits, points, across, room, block)
            if not (yield from self._steps(self._prepared("peaks", call), values)):
                return False
        call = heatmap(
            source,
            peaks,
            self._limits,
            self.picture,
            block,
            points=points,
            across=across,
            pool=self.pool[0] * self.pool[1],
            norms=norms,
        )
        return (yield from self._steps(self._prepared("map", call), values))


class _Captured(_Heatmap):
    """A picture of a captured kind other than attention, drawn as a whole after each change."""

    def __init__(self, pictures: Pictures, capture: Capture, kind: str) -> None:
        history = capture.history(kind)
        if history.n_head:
            raise OptionError("attention is drawn by an AttentionView")
        super().__init__(pictures, len(history.points), 1)
        self.capture, self.kind = capture, kind
        self._text = Follower(capture)
        self._shown: object = None

    @property
    def n_rows(self) -> int:
        """Positions of the text that are in the picture."""
        return self._text.drawn

    def uv(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of the part that the text fills, as fractions of the picture."""
        return 0.0, 0.0, 1.0, min(1.0, self.n_rows / (self.picture.height * self.pool[1]))

    def _follow(self, how: object) -> Iterator[None]:
        """Draw if the text, its textures or how it is shown are others than the last time."""
        text = self._text
        if not self.capture.histories:
            return
        n_rows, n_rewinds = self.capture.n_rows, len(self.capture.rewinds)
        if text.has_moved():
            self._calls.clear()
            text.is_complete = False
        first, end = text.changed()
        if first == end and how == self._shown and text.is_complete:
            return
        text.is_complete = False
        if (yield from self._draw_history(self.capture.history(self.kind), n_rows)):
            text.done(n_rows, n_rewinds)
            self._shown = how

    def _textures(self) -> object:
        return self.capture.epoch

    @abstractmethod
    def _draw_history(self, history: History, n_rows: int) -> Generator[None, None, bool]:
        """Draw the first rows; see `_show`."""


class HeatmapView(_Captured):
    """Tokens x features of one point of a captured kind, in colours of a signed scale.

    `scale` is linear or symlog up to `limit`, by default the largest magnitude in the picture;
    or row: up to each row's own largest, so that one outlier token does not hide the others.
    A pixel shows the number of largest magnitude of `pool` = (features, tokens). The picture has
    lines for `capacity` positions; those after the text are transparent. `point`, `scale`,
    `limit` and `knee` may be set at any time.
    """

    def __init__(
        self,
        pictures: Pictures,
        capture: Capture,
        kind: str,
        point: int,
        *,
        scale: str = SYMLOG,
        limit: float | None = None,
        knee: float = KNEE,
    ) -> None:
        """Raises:
        OptionError: no such point or scale, or the kind is not captured or is attention.
        """
        check_scale(scale)
        points = len(capture.history(kind).points)
        if not 0 <= point < points:
            raise OptionError(f"no point {point} of {kind}: there are {points}, counted from 0")
        super().__init__(pictures, capture, kind)
        self.point, self.scale, self.limit, self.knee = point, scale, limit, knee

    def update(self) -> Iterator[None]:
        """See `View`. The scale follows the text, so all of the picture is drawn after a token."""
        yield from self._follow((self.point, self.scale, self.limit, self.knee))

    def _draw_history(self, history: History, n_rows: int) -> Generator[None, None, bool]:
        return self._show(
            source_of_history(history.kept),
            history.stats,
            (history.columns, n_rows),
            point=self.point,
            scale=self.scale,
            limit=self.limit,
            knee=self.knee,
            lines=history.capacity,
        )


class NormsView(_Captured):
    """Tokens x points: the norm of each row of a captured kind, in colours from 0 up."""

    def __init__(
        self, pictures: Pictures, capture: Capture, kind: str, *, scale: str = SYMLOG
    ) -> None:
        """Raises:
        OptionError: the kind is not captured or is attention, or there is no such scale.
        """
        if check_scale(scale) == SCALES.index(PER_ROW):
            raise OptionError("norms have a linear or symlog scale, none for each row")
        super().__init__(pictures, capture, kind)
        self.scale = scale

    def update(self) -> Iterator[None]:
        """See `View`."""
        yield from self._follow(self.scale)

    def _draw_history(self, history: History, n_rows: int) -> Generator[None, None, bool]:
        size = (len(history.points), n_rows)
        lines = history.capacity
        return self._show(
            SOURCE_OF_NORMS, history.stats, size, scale=self.scale, norms=True, lines=lines
        )


class TensorView(_Heatmap):
    """Any rows tensor or weight matrix as it is now: `update` always draws it anew."""

    def __init__(
        self,
        pictures: Pictures,
        tensor: Tensor | Matrix,
        *,
        rows: int | None = None,
        scale: str = SYMLOG,
        limit: float | None = None,
        knee: float = KNEE,
    ) -> None:
        """`rows` is how many rows to show, by default all.

        Raises:
            OptionError: no such scale.
        """
        check_scale(scale)
        super().__init__(pictures, 1, PEAKS_ACROSS)
        if isinstance(tensor, Matrix):
            self._source, shape = source_of_matrix(tensor), (tensor.k, tensor.n)
        else:
            self._source, shape = source_of_rows(tensor), (tensor.rows.rows, tensor.rows.columns)
        self.scale, self.limit, self.knee = scale, limit, knee
        self.n_rows, self.n_columns = min(rows or shape[0], shape[0]), shape[1]
        lines = ceil_div(self.n_rows, PEAKS_ACROSS)
        self._peaks: Tensor | None = allocate_rows(
            pictures.device, lines, 4 * PEAKS_ACROSS, USE
        )

    def update(self) -> Iterator[None]:
        """See `View`."""
        assert self._peaks is not None
        device = self.pictures.device
        peaks = tensor_peaks(self._source, self.n_rows, self.n_columns, self._peaks)
        yield from device.draw((self._prepared("rows", peaks),), STEP)
        yield from self._show(
            self._source,
            self._peaks,
            (self.n_columns, self.n_rows),
            scale=self.scale,
            limit=self.limit,
            knee=self.knee,
        )

    def close(self) -> None:
        """Delete the picture and what belongs to it; safe to call twice."""
        release(self.pictures.device, self._peaks)
        self._peaks = None
        super().close()
