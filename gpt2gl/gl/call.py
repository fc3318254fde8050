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
    """What changes between forward passes: rows already cached, and the rows of this pass."""

    n_past: int
    n_rows: int

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
    """A uniform buffer with one row of activations, filled by the pass that computes the row."""

    buffer: int
    binding: int
    nbytes: int


@dataclass(frozen=True)
class Call:
    """A pass over given tensors.

    Attributes:
        targets: alternatives of what to draw to; most calls have one.
        region: which texels, as a function of the step; constant for most calls.
        x_block: the uniform block that holds the input row, where it is not a texture.
        capture: the uniform block that the result is copied to after the draw.
        fetches: texel fetches of one fragment, from which draws are cut into bands.
        output: the tensor drawn to, and `label` its name in a trace.
    """

    operation: Pass
    inputs: Mapping[str, Tensor]
    targets: tuple[Attachments, ...]
    defines: Mapping[str, object]
    region: Callable[[Step], Region]
    fetches: Callable[[Step], int]
    output: Tensor
    x_block: Block | None = None
    capture: Block | None = None
    label: str = ""


@dataclass
class Prepared:
    """A call whose program, framebuffers and texture bindings exist."""

    call: Call
    program: int
    framebuffers: tuple[int, ...]
    textures: tuple[tuple[int, int], ...] = field(default=())  # (GL texture unit, texture)
