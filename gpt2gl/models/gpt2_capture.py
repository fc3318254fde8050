"""What a window looks at while a text is made: histories of scores and activations on the GPU.

The tensors of a pass lie in textures that every layer reuses, so each is copied, right after it
was drawn, to its position in a texture that keeps the whole text. Causal attention means that a
row once drawn stays true. Nothing here is read back unless somebody asks for numbers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import DeviceError, OptionError
from gpt2gl.gl.call import Call, Prepared, Step
from gpt2gl.gl.formats import FORMATS
from gpt2gl.gl.tensor import ceil_div
from gpt2gl.models.gpt2_history import KINDS, History, texels

if TYPE_CHECKING:
    from gpt2gl.models.gpt2 import GPT2

Floats = NDArray[np.float32]
FIRST_CAPACITY = 128
# Histories that would exceed this in float32 keep halves; what exceeds it in halves is refused.
MEMORY_LIMIT = 1 << 30
# The plans that encode a text, and so have something to copy.
PLANS = ("decode", "prefill")


class Capture:
    """Keeps what `kinds` name of every text that the model encodes, from its first token on.

    `n_rows` positions are kept; where that is less than the text, the model encodes the rest
    again. Histories start small and double with the text. When there is no room for more, `full`
    says why in one line, and the positions kept stay while the text goes on.
    `rewinds` lists the positions from which the text was encoded anew, oldest first, and `epoch`
    counts the times that the textures became others: by both a picture knows what to draw again.
    """

    def __init__(
        self,
        model: GPT2,
        kinds: Sequence[str],
        *,
        positions: int = FIRST_CAPACITY,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        """Make room for at least that many positions, if the model has them.

        Raises:
            OptionError: no such kind, or none.
            DeviceError: the GPU has no room for the histories.
        """
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown or not kinds:
            raise OptionError(
                f"cannot capture {unknown[0] if unknown else 'nothing'!r}: choose from"
                f" {', '.join(KINDS)}"
            )
        self.model = model
        self.kinds = tuple(dict.fromkeys(kinds))
        self.memory_limit = memory_limit
        self.n_rows = 0
        self.epoch = 0
        self.full = ""
        self.rewinds: list[int] = []
        self.histories: dict[str, History] = {}
        self._plans: dict[str, tuple[list[Prepared], list[Prepared]]] = {}
        for _ in self._grow(self._capacity_for(min(positions, model.config.n_positions))):
            pass

    def _capacity_for(self, positions: int) -> int:
        """The size in the row of doubles that holds so many positions."""
        most = 8 * ceil_div(self.model.config.n_positions, 8)
        capacity = FIRST_CAPACITY
        while capacity < positions:
            capacity *= 2
        return min(capacity, most)

    @property
    def capacity(self) -> int:
        """Positions there is room for now; 0 once closed."""
        return next((history.capacity for history in self.histories.values()), 0)

    @property
    def nbytes(self) -> int:
        return sum(history.nbytes for history in self.histories.values())

    # While the model encodes -------------------------------------------------------------------

    def first_row(self, start: int) -> int:
        """Where encoding has to start, if only the rows from `start` on are not in the cache."""
        return start if self.full and self.n_rows == self.capacity else min(start, self.n_rows)

    def plan(self, name: str, step: Step) -> Generator[None, None, list[Prepared]]:
        """The model's plan with the copies in between.

        Where the step has no room the histories grow first, in bounded steps.
        """
        base = self.model.plan(name)
        if name not in PLANS:
            return base
        if step.n_keys > self.capacity and not self.full:
            yield from self._try_to_grow(step)
        if step.n_past < self.n_rows:
            self.rewinds.append(step.n_past)
            self.n_rows = step.n_past
        if name not in self._plans or self._plans[name][0] is not base:
            calls = self._with_copies(prepared.call for prepared in base)
            self._plans[name] = (base, self.model.device.record(list(calls)))
        return self._plans[name][1]

    def drawn(self, name: str, step: Step) -> None:
        """Called when a plan has been drawn to its end."""
        if name in PLANS and step.n_past <= self.n_rows:
            self.n_rows = min(step.n_keys, self.capacity)

    def _with_copies(self, calls: Iterable[Call]) -> Iterator[Call]:
        last = self.model.config.n_layer - 1
        for call in calls:
            yield call
            for history in self.histories.values():
                yield from history.copies(call)
            if call.label == f"h.{last}.resid_post":
                yield from (history.summary() for history in self.histories.values())

    def _try_to_grow(self, step: Step) -> Iterator[None]:
        try:
            for _ in self._grow(self._capacity_for(step.n_keys)):
                yield
                self.model.device.take()
        except DeviceError as error:
            self.full = str(error)
        self.model.device.set_step(step, ())  # copying has set another; its tokens are kept

    def _grow(self, capacity: int) -> Iterator[None]:
        """Histories of another size, with what there is; all of them or none."""
        formats = self._format(capacity)
        new: dict[str, History] = {}
        self.model.device.take()
        try:
            for name in self.kinds:
                new[name] = History(self.model, KINDS[name], capacity, formats)
                yield
                if name in self.histories:
                    yield from new[name].take_over(self.histories[name], self.n_rows)
        except BaseException:
            _close(self.model, new)
            raise
        _close(self.model, self.histories)
        self.histories = new
        self._plans.clear()
        self.model.device.trim()
        self.epoch += 1

    def _format(self, capacity: int) -> str:
        """float32, or halves where that would take too much memory."""
        total = sum(texels(KINDS[name], self.model.config, capacity) for name in self.kinds)
        for name in ("rgba32f", "rgba16f"):
            if total * FORMATS[name].texel_bytes <= self.memory_limit:
                return name
        needed = total * FORMATS["rgba16f"].texel_bytes / 1e6
        raise DeviceError(
            f"the inspector would need {needed:.0f} MB of GPU memory for {capacity} tokens, above"
            f" its limit of {self.memory_limit / 1e6:.0f} MB: look at fewer kinds of values"
        )

    # Numbers on demand -------------------------------------------------------------------------

    def history(self, kind: str) -> History:
        """The history of a kind.

        Raises:
            OptionError: it is not captured.
        """
        if kind not in self.histories:
            raise OptionError(f"{kind} is not captured: capture it first")
        return self.histories[kind]

    def read_scores(self, layer: int, head: int) -> Floats:
        """[T, T] scores of every position; -inf where the key comes after the query. Waits.

        Raises:
            OptionError: attention is not captured, or there is no such layer or head.
        """
        history = self.history("attention")
        self._check("layer", layer, len(history.points))
        self._check("head", head, history.n_head)
        rows = history.read(layer, 0, self.n_rows, head, 1)[:, 0, : self.n_rows]
        rows[np.triu_indices(self.n_rows, 1, self.n_rows)] = -np.inf
        return rows

    def read_attention(self, layer: int, head: int | None = None) -> Floats:
        """[T, T] attention weights of a head, by default the mean of all. Waits; errors as
        `read_scores`."""
        if head is not None:
            return _softmax(self.read_scores(layer, head))
        heads = range(self.model.config.n_head)
        mean: Floats = np.mean([self.read_attention(layer, h) for h in heads], axis=0)
        return mean

    def read_attention_row(self, layer: int, head: int | None, query: int) -> Floats:
        """[query + 1] attention weights of one position, of a head or the mean of all. Waits.

        Raises:
            OptionError: as `read_scores`, or there is no such position.
        """
        history = self.history("attention")
        self._check("layer", layer, len(history.points))
        self._check("position", query, self.n_rows)
        if head is not None:
            self._check("head", head, history.n_head)
        first, count = (0, history.n_head) if head is None else (head, 1)
        scores = history.read(layer, query, 1, first, count)[0, :, : query + 1]
        row: Floats = _softmax(scores).mean(axis=0)
        return row

    def read_rows(self, kind: str, point: int, first: int = 0, count: int | None = None) -> Floats:
        """[count, columns] rows of a kind other than attention from position `first` on. Waits.

        Raises:
            OptionError: it is not captured, or there is no such point or position.
        """
        history = self.history(kind)
        if history.n_head:
            raise OptionError("attention has scores for each head: use read_scores")
        self._check("point", point, len(history.points))
        count = self.n_rows - first if count is None else count
        if count < 1 or first < 0 or first + count > self.n_rows:
            raise OptionError(f"no positions {first} to {first + count}: {self.n_rows} are kept")
        lines = history.kept.blocks.lines * history.kept.blocks.parts
        found = history.read(point, first, count, 0, lines)
        return found.reshape(count, -1)[:, : history.columns]

    def read_row(self, kind: str, point: int, position: int) -> Floats:
        """[columns] of one position; as `read_rows`."""
        row: Floats = self.read_rows(kind, point, position, 1)[0]
        return row

    def value_at(self, kind: str, point: int, position: int, column: int) -> float:
        """One number; as `read_rows`."""
        self._check("column", column, self.history(kind).columns)
        return float(self.read_row(kind, point, position)[column])

    def norms(self, kind: str = "residual") -> Floats:
        """[points, T] Euclidean norms of the rows of a kind other than attention. Waits."""
        history = self.history(kind)
        width = history.stats.rows.columns4
        texels = self.model.device.read_texels(
            history.stats.texture, 0, 0, 0, width, max(1, self.n_rows)
        )
        return np.ascontiguousarray(texels[: self.n_rows, :, 1].T)

    @staticmethod
    def _check(what: str, value: int, count: int) -> None:
        if not 0 <= value < count:
            raise OptionError(f"no {what} {value}: there are {count}, counted from 0")

    def close(self) -> None:
        """Release the histories; safe to call twice."""
        self._plans.clear()
        self.epoch += 1
        _close(self.model, self.histories)
        self.model.device.take()
        self.model.device.trim()


def _close(model: GPT2, histories: dict[str, History]) -> None:
    for history in histories.values():
        history.close()
    histories.clear()


def _softmax(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    normalised: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normalised
