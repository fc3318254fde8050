"""A pass with its tensors and sizes filled in, ready to be prepared once and drawn many times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gpt2gl.gl.framebuffers import Attachments
from gpt2gl.gl.tensor import Tensor


@dataclass(frozen=True)
class Pass:
    """One operation: its shader file and the samplers that it reads, in texture unit order."""

    name: str
    shader: str
    inputs: tuple[str, ...]


class Step(NamedTuple):
    """What changes between forward passes: rows already cached, and the rows of this pass.

    In a batch the rows are texts of their own that share the first `prefix` positions.
    """

    n_past: int
    n_rows: int
    prefix: int = 0

    @property
    def n_keys(self) -> int:
        return self.n_past + self.n_rows


class Region(NamedTuple):
    """The texels a pass draws; `variant` chooses among the call's sets of attachments."""

    x: int
    y: int
    width: int
    height: int
    variant: int = 0


@dataclass(frozen=True)
class Block:
    """A uniform buffer with the row of activations, or some rows one after the other, that the
    pass which computes them leaves there."""

    buffer: int
    binding: int
    nbytes: int
    rows: int = 1


@dataclass(frozen=True)
class Call:
    """A pass over given tensors.

    Attributes:
        targets: alternatives of what to draw to; most calls have one.
        region: which texels; a function of the step where that changes.
        x_block: the uniform block that holds the input row, where it is not a texture.
        capture: the uniform block that the result is copied to after the draw.
        fetches: texel fetches of one fragment, from which draws are cut into bands; likewise.
        splits: slices of the sum that are drawn one over the other and added by blending.
        output: the tensor drawn to, and `label` its name in a trace.
    """

    operation: Pass
    inputs: Mapping[str, Tensor]
    targets: tuple[Attachments, ...]
    defines: Mapping[str, object]
    region: Region | Callable[[Step], Region]
    fetches: int | Callable[[Step], int]
    output: Tensor
    splits: int = 1
    x_block: Block | None = None
    capture: Block | None = None
    label: str = ""


class Band(NamedTuple):
    """One draw: a viewport and the texel fetches it makes."""

    x: int
    y: int
    width: int
    height: int
    fetches: int


class Bands(NamedTuple):
    """A call's draws for one step, none of them over `budget` fetches if that can be helped."""

    budget: int
    variant: int
    bands: tuple[Band, ...]


GLCalls = tuple[tuple[Callable[..., None], tuple[int | None, ...]], ...]


class Script(NamedTuple):
    """The GL calls of a pass for one step, in the order in which they are made."""

    of: Bands
    gl: object  # whose entry points they are
    fetches: int
    draws: int
    bind: GLCalls
    bands: tuple[tuple[int, GLCalls], ...]  # (fetches, calls)
    after: GLCalls
    whole: GLCalls  # all of the above


@dataclass
class Prepared:
    """A call whose program, framebuffers and texture bindings exist.

    `slices` are the draws over a band, as (first vertex, vertices): a triangle for the first
    slice of the sum, then all triangles of the slices that blend onto it.
    """

    call: Call
    program: int
    framebuffers: tuple[int, ...]
    textures: tuple[tuple[int, int], ...]  # (GL texture unit, texture)
    changes: tuple[tuple[int, int], ...]  # those that the pass before leaves otherwise
    slices: tuple[tuple[int, int], ...]
    script: Script | None = None
    binds: dict[int, GLCalls] = field(default_factory=dict)  # by variant
    _bands: Bands | None = None
    _cut_from: tuple[Region, int, int] | None = None

    def __post_init__(self) -> None:
        # Whether every step draws the same.
        self.is_fixed = not callable(self.call.region) and not callable(self.call.fetches)

    def bands(self, step: Step, budget: int) -> Bands:
        """The draws of this step; the same object as the last time where nothing has changed."""
        call = self.call
        region = call.region(step) if callable(call.region) else call.region
        fetches = call.fetches(step) if callable(call.fetches) else call.fetches
        wanted = (region, fetches, budget)
        if self._bands is None or wanted != self._cut_from:
            self._cut_from = wanted
            self._bands = Bands(budget, region.variant, _cut(region, fetches, budget))
        return self._bands


def _cut(region: Region, fetches: int, budget: int) -> tuple[Band, ...]:
    if region.width <= 0 or region.height <= 0:
        return ()
    line = max(1, region.width * fetches)
    # Rasterisers shade blocks of 4 x 4; a band that cuts them wastes what it cuts.
    lines = max(4, budget // line // 4 * 4)
    if region.height <= lines:
        return (Band(*region[:4], line * region.height),)
    end = region.y + region.height
    return tuple(
        Band(region.x, y, region.width, min(lines, end - y), line * min(lines, end - y))
        for y in range(region.y, end, lines)
    )
