"""Interventions: what to change inside a model while it runs.

    with session.intervene(Scale("h.3.attn.z", 0.0, heads=(2,))):
        session.logits(tokens)

Each names hook points by pattern (`gpt2gl.tensor_names`) and changes those tensors where they
arise, so that everything computed from them changes too. Several at one hook point apply in the
order given. This module is NumPy only; `gpt2gl.models.gpt2_hooks` puts them between the passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpt2gl.errors import OptionError
from gpt2gl.tensor_names import matching, tensor_names

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]

SCORE_TENSORS = ("attn.scores", "attn.probs")
HEAD_TENSORS = ("attn.q", "attn.k", "attn.v", "attn.z", *SCORE_TENSORS)
INNER_TENSORS = ("mlp.fc", "mlp.act")


@dataclass(frozen=True, eq=False)
class Scale:
    """Multiply by `factor`: a number; one for each of `heads`; or without heads one a column.

    Attributes:
        at: name or pattern of the hook points.
        heads: only these heads, where the tensor has heads; all if None.
        positions: only at these positions of the text; all if None, those still to come too.
    """

    at: str
    factor: float | Sequence[float] | Array
    heads: Sequence[int] | None = None
    positions: Sequence[int] | None = None


@dataclass(frozen=True, eq=False)
class Patch:
    """Overwrite with `values`, such as those that another text's trace holds.

    `values` are [len(positions), columns], or one row [columns] for all of them; of scores and
    probabilities [n_head, len(positions), keys], without keys a query cannot see. Without
    positions the rows are those of positions 0, 1, ..., and one row is for every position.
    """

    at: str
    values: Array
    positions: Sequence[int] | None = None
    heads: Sequence[int] | None = None


@dataclass(frozen=True, eq=False)
class Add:
    """Add `values`, shaped as those of `Patch`: a steering vector, noise, a difference."""

    at: str
    values: Array
    positions: Sequence[int] | None = None
    heads: Sequence[int] | None = None


Intervention = Scale | Patch | Add


def patch_from(
    trace: Mapping[str, Array],
    at: str,
    positions: Sequence[int],
    heads: Sequence[int] | None = None,
) -> Patch:
    """Patch one tensor at `positions` with what `trace`, of another text, holds there."""
    if at not in trace:
        raise OptionError(f"the trace holds no {at!r}: give that name to trace() too")
    rows = trace[at]
    picked = rows[:, list(positions)] if rows.ndim == 3 else rows[list(positions)]
    return Patch(at, picked, positions, heads)


def ablate_heads(heads: Iterable[tuple[int, int]]) -> tuple[Scale, ...]:
    """Switch off attention heads, given as (layer, head): what they mix becomes 0."""
    return tuple(Scale(f"h.{layer}.attn.z", 0.0, heads=(head,)) for layer, head in heads)


def ablate_mlp(layer: int) -> tuple[Scale, ...]:
    """Switch off the MLP of a layer: it adds nothing to the residual stream."""
    return (Scale(f"h.{layer}.mlp.out", 0.0),)


def ablate_layer(layer: int) -> tuple[Scale, ...]:
    """Switch off a layer: the residual stream passes it unchanged."""
    return scale_layer(layer, 0.0)


def scale_layer(layer: int, factor: float) -> tuple[Scale, ...]:
    """Scale what a layer's attention and MLP add to the residual stream."""
    return scale_part(f"h.{layer}", factor)


_HEAD = re.compile(r"(h\.(?:\d+|\*))\.attn\.head\.(\d+)")
_LAYER = re.compile(r"h\.(?:\d+|\*)")


def scale_part(part: str, factor: float) -> tuple[Scale, ...]:
    """Scale a part of the model by its name: a head `h.3.attn.head.2`, all that attention or the
    MLP adds, `h.3.attn` or `h.5.mlp`, a layer `h.4`, or the name or pattern of a tensor."""
    name = part.removeprefix("transformer.")
    if match := _HEAD.fullmatch(name):
        return (Scale(f"{match[1]}.attn.z", factor, heads=(int(match[2]),)),)
    if _LAYER.fullmatch(name):
        return (Scale(f"{name}.attn.out", factor), Scale(f"{name}.mlp.out", factor))
    return (Scale(name, factor),)


# Resolved ---------------------------------------------------------------------------------------


class Config(Protocol):
    """The sizes that interventions are checked against."""

    @property
    def n_layer(self) -> int: ...
    @property
    def n_head(self) -> int: ...
    @property
    def n_embd(self) -> int: ...
    @property
    def n_inner(self) -> int: ...
    @property
    def n_positions(self) -> int: ...


@dataclass(frozen=True)
class Edit:
    """All that happens at one hook point: x becomes gain * x + offset.

    Row 0 of the tables is for every position that `positions` does not name, row i + 1 for
    `positions[i]`. `gain` and `offset` are [rows, 1, columns]; of scores and probabilities
    [rows, n_head, 1] and [rows, n_head, n_positions].
    """

    positions: tuple[int, ...]
    gain: Floats
    offset: Floats

    def at(self, positions: Sequence[int]) -> Edit:
        """The same with tables for `positions`, of which its own are part."""
        own = {position: i + 1 for i, position in enumerate(self.positions)}
        rows = [0, *(own.get(position, 0) for position in positions)]
        return Edit(tuple(positions), self.gain[rows], self.offset[rows])


def hook_points(config: Config) -> tuple[str, ...]:
    """The tensors that interventions can change: all but the last norm and the logits."""
    return tensor_names(config.n_layer)[:-2]


def resolve(interventions: Iterable[Intervention], config: Config) -> dict[str, Edit]:
    """Interventions by the names of the tensors they change.

    Raises:
        OptionError: a pattern without a tensor, a head, position or shape that does not exist.
    """
    names = hook_points(config)
    by_name: dict[str, list[Intervention]] = {}
    for each in interventions:
        if not isinstance(each, Scale | Patch | Add):
            raise OptionError(f"{each!r} is no intervention; allowed: Scale, Patch, Add")
        for name in matching((each.at,), names):
            by_name.setdefault(name, []).append(each)
    return {name: _composed(_Point(name, config), found) for name, found in by_name.items()}


class _Point:
    """A hook point: the shape of its tensor, and checks of what is given for it."""

    def __init__(self, name: str, config: Config) -> None:
        self.name = name
        self.config = config
        _, _, inner = name.removeprefix("h.").partition(".")
        self.is_scores = inner in SCORE_TENSORS
        self.n_head = config.n_head if inner in HEAD_TENSORS else 0
        wide = config.n_inner if inner in INNER_TENSORS else config.n_embd
        # [heads or 1, columns] of one row's gain.
        self.gain_shape = (self.n_head, 1) if self.is_scores else (1, wide)
        self.columns = config.n_positions if self.is_scores else wide

    def check_positions(self, positions: Sequence[int]) -> tuple[int, ...]:
        most = self.config.n_positions
        for position in positions:
            if not 0 <= position < most:
                raise OptionError(
                    f"{self.name}: position {position} does not exist; allowed: 0 to {most - 1}"
                )
        if len(set(positions)) < len(positions):
            raise OptionError(f"{self.name}: a position is given twice: give each once")
        return tuple(int(position) for position in positions)

    def mask(self, heads: Sequence[int] | None) -> npt.NDArray[np.bool_]:
        """Which elements of `gain_shape` belong to the heads; all where None is given."""
        if heads is None:
            return np.ones(self.gain_shape, bool)
        wanted = self.check_heads(heads)
        return np.isin(self._head_of_each(), wanted)

    def check_heads(self, heads: Sequence[int]) -> list[int]:
        if not self.n_head:
            raise OptionError(f"{self.name} has no heads: leave out heads=, or use h.N.attn.z")
        for head in heads:
            if not 0 <= head < self.n_head:
                raise OptionError(
                    f"{self.name}: head {head} does not exist; allowed: 0 to {self.n_head - 1}"
                )
        return [int(head) for head in heads]

    def _head_of_each(self) -> npt.NDArray[np.int64]:
        """The head that each element of `gain_shape` belongs to."""
        count = self.gain_shape[0] * self.gain_shape[1]
        return (np.arange(count) // (count // self.n_head)).reshape(self.gain_shape)

    def factors(self, scale: Scale) -> Floats:
        """A scale's factor for each element of `gain_shape`, before the mask."""
        factor = self._finite(scale.factor)
        if factor.ndim == 0:
            return np.full(self.gain_shape, factor, np.float32)
        if scale.heads is not None:
            heads = self.check_heads(scale.heads)
            if factor.shape == (len(heads),):
                by_head = np.ones(self.n_head, np.float32)
                by_head[heads] = factor
                return by_head[self._head_of_each()]
        elif factor.shape == (self.columns,) and not self.is_scores:
            return factor[None]
        expected = "one number" if scale.heads is None else "a number, or one for each of heads"
        columns = "" if self.is_scores or scale.heads else f", or one for each of {self.columns}"
        raise OptionError(
            f"{self.name}: a factor of shape {factor.shape} does not fit;"
            f" allowed: {expected}{columns}"
        )

    def values(self, given: Patch | Add) -> Floats:
        """Values as rows [positions or 1, heads or 1, columns]."""
        values = self._finite(given.values)
        count = None if given.positions is None else len(given.positions)
        if self.is_scores:
            return self._score_values(values, count)
        if values.ndim == 1:
            values = values[None]
        fits = values.ndim == 2 and values.shape[1] == self.columns
        rows = "T" if count is None else str(count)
        if not fits or (count is not None and len(values) not in (1, count)):
            raise OptionError(
                f"{self.name}: values of shape {np.shape(given.values)} do not fit;"
                f" allowed: ({rows}, {self.columns}) or ({self.columns},)"
            )
        return values[:, None]

    def _score_values(self, values: Floats, count: int | None) -> Floats:
        most = self.columns
        fits = values.ndim == 3 and len(values) == self.n_head and values.shape[2] <= most
        if not fits or count not in (None, values.shape[1]):
            rows = "T" if count is None else str(count)
            raise OptionError(
                f"{self.name}: values of shape {values.shape} do not fit;"
                f" allowed: ({self.n_head}, {rows}, keys) with {most} keys at most"
            )
        wide = np.zeros((values.shape[1], self.n_head, most), np.float32)
        wide[:, :, : values.shape[2]] = values.transpose(1, 0, 2)  # [H, P, K] -> [P, H, K]
        return wide

    def _finite(self, values: Any) -> Floats:
        try:
            array = np.asarray(values, np.float32)
        except (TypeError, ValueError):
            raise OptionError(f"{self.name}: {values!r} is no number or array of them") from None
        if not np.isfinite(array).all():
            raise OptionError(f"{self.name}: values must be finite, and one is {array.max()}")
        return array


def _composed(point: _Point, interventions: Sequence[Intervention]) -> Edit:
    """One edit for all interventions at a hook point."""
    named = [_positions_of(point, each) for each in interventions]
    positions = tuple(sorted({p for each in named for p in each or ()}))
    row_of = {position: i + 1 for i, position in enumerate(positions)}
    rows = len(positions) + 1
    gain = np.ones((rows, *point.gain_shape), np.float32)
    offset = np.zeros((rows, point.gain_shape[0], point.columns), np.float32)
    for each, own in zip(interventions, named, strict=True):
        at = slice(None) if own is None else [row_of[position] for position in own]
        by, plus = _affine(point, each)
        gain[at] *= by
        offset[at] = offset[at] * by + plus
    return Edit(positions, gain, offset)


def _positions_of(point: _Point, given: Intervention) -> tuple[int, ...] | None:
    """The positions that an intervention holds at; None for all."""
    if given.positions is not None:
        return point.check_positions(given.positions)
    if isinstance(given, Scale) or np.ndim(given.values) < 2:
        return None
    rows = point.values(given)
    return point.check_positions(range(len(rows)))


def _affine(point: _Point, given: Intervention) -> tuple[Floats, Floats]:
    """Gain and offset of one intervention, with an axis for the positions."""
    mask = point.mask(given.heads)
    if isinstance(given, Scale):
        by = np.where(mask, point.factors(given), np.float32(1))
        return by[None], np.zeros((1, 1, 1), np.float32)
    keep = np.where(mask, np.float32(isinstance(given, Add)), np.float32(1))
    return keep[None], np.where(mask, point.values(given), np.float32(0))
