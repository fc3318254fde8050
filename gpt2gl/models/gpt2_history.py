"""Textures that keep one kind of tensor for every position of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpt2gl.config import ModelConfig
from gpt2gl.errors import DeviceError
from gpt2gl.gl.call import Call, Step
from gpt2gl.gl.storage import allocate_blocks, allocate_rows, release
from gpt2gl.gl.tensor import BlockGrid, block_grid, ceil_div, single_row_shape
from gpt2gl.passes.inspector import history_grow, history_rows, history_softmax, step_peaks

if TYPE_CHECKING:
    from gpt2gl.models.gpt2 import GPT2

Floats = NDArray[np.float32]
USE = "inspector"


@dataclass(frozen=True)
class Kind:
    """Something that can be captured.

    Attributes:
        points: the names of its tensors in a trace, in order.
        columns: of a row; of scores, which have a row for each head and a column for each key, 0.
    """

    name: str
    points: Callable[[ModelConfig], list[str]]
    columns: Callable[[ModelConfig], int]


def _each_layer(label: str, first: Sequence[str] = ()) -> Callable[[ModelConfig], list[str]]:
    return lambda c: [*first, *(f"h.{i}.{label}" for i in range(c.n_layer))]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("attention", _each_layer("attn.scores"), lambda c: 0),
        Kind("residual", _each_layer("resid_post", ("embed",)), lambda c: c.n_embd),
        Kind("resid_mid", _each_layer("resid_mid"), lambda c: c.n_embd),
        Kind("mlp", _each_layer("mlp.act"), lambda c: c.n_inner),
    )
}


class History:
    """One kind for every position of the text: `kept`, and `stats` of each position's rows.

    `stats` has a line for each position. Of scores: a column for each layer and head, with the
    maximum and 1 / sum of the softmax. Of all else: a column for each point, with the largest
    magnitude and the norm of its row.
    """

    def __init__(self, model: GPT2, kind: Kind, capacity: int, format_name: str) -> None:
        self.model, self.kind, self.capacity = model, kind, capacity
        config = model.config
        self.points = kind.points(config)
        self.columns = kind.columns(config)
        self.n_head = 0 if self.columns else config.n_head
        limits = model.device.limits
        grid = _grid(self, limits.max_side, limits.max_layers)
        self.kept = allocate_blocks(model.device, grid, format_name, USE)
        width = len(self.points) * max(1, self.n_head)
        try:
            self.stats = allocate_rows(model.device, capacity, 4 * width, USE)
        except BaseException:
            release(model.device, self.kept)
            raise
        if self.stats.rows.fold > 1:
            self.close()
            raise DeviceError(
                f"the inspector cannot keep {width} columns of {kind.name} in textures of side"
                f" {limits.max_side}: look at other kinds of values"
            )

    @property
    def nbytes(self) -> int:
        return self.kept.nbytes + self.stats.nbytes

    def copies(self, call: Call) -> Iterator[Call]:
        """What keeps the result of a labelled call, if it is one of this kind's points."""
        if call.label not in self.points:
            return
        point = self.points.index(call.label)
        for part in range(self.kept.blocks.parts):
            yield history_rows(call.output, self.kept, point, self.n_head, part, self.columns)

    def summary(self) -> Call:
        """The statistics of the step's rows, at all points at once."""
        if self.n_head:
            return history_softmax(self.kept, self.stats, self.n_head)
        return step_peaks(self.kept, self.stats, self.columns)

    def take_over(self, old: History, positions: int) -> Iterator[None]:
        """Copy what a smaller history holds for the first `positions`, on the device, yielding
        after each layer."""
        if not positions:
            return
        device = self.model.device
        for layer in range(self.kept.blocks.layers):
            step = Step(0, positions, layer)
            device.set_step(step, ())
            device.run(history_grow(old.kept, self.kept, layer, positions), step)
            yield
        device.set_step(Step(0, positions), ())
        device.run(self.summary(), Step(0, positions))

    def read(self, point: int, first: int, count: int, y: int, lines: int) -> Floats:
        """Lines [count, lines, width * 4] from line `y` of each position's block on."""
        grid = self.kept.blocks
        found = np.empty((count, lines, grid.width * 4), np.float32)
        first_group, end_group = first // grid.across, ceil_div(first + count, grid.across)
        for line in range(lines):
            part, inside = divmod(y + line, grid.lines)
            for group in range(first_group, end_group):
                texels = self.model.device.read_texels(
                    self.kept.texture,
                    point * grid.parts + part,
                    *(0, group * grid.lines + inside, grid.texture_width, 1),
                ).reshape(grid.across, -1)
                start = group * grid.across - first
                low, high = max(0, start), min(count, start + grid.across)
                found[low:high, line] = texels[low - start : high - start]
        return found

    def close(self) -> None:
        release(self.model.device, self.kept, self.stats)


def _grid(history: History, max_side: int, max_layers: int) -> BlockGrid:
    if history.n_head:
        width, lines = ceil_div(history.capacity, 4), history.n_head
    else:
        width, _ = single_row_shape(history.columns)
        lines = ceil_div(ceil_div(history.columns, 4), width)
    return block_grid(width, lines, history.capacity, len(history.points), max_side, max_layers)


def texels(kind: Kind, config: ModelConfig, capacity: int) -> int:
    """Texels of a history, but for padding."""
    columns = kind.columns(config) or config.n_head * capacity
    return len(kind.points(config)) * capacity * ceil_div(columns, 4)
