"""What differs between devices in how a pass is drawn, never in what it computes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpt2gl.gl.limits import Limits


@dataclass(frozen=True)
class Tuning:
    """Choices for one device; see docs/performance.md for the measurements behind the defaults.

    Attributes:
        x_blocks: whether the input row of a product is copied into a uniform block. A CPU reads
            a block much faster than a texture; a GPU spends more on the copy than it saves.
        split_fragments: how many fragments a one-row product should have: where a row has fewer
            columns, K is cut into slices that are summed by blending. A GPU needs thousands to
            keep its lanes busy while fetches are under way; a CPU does not.
        fetches_per_draw: texel fetches after which a draw is cut, so that it stays within a few
            milliseconds on a slow device of its kind.
    """

    x_blocks: bool
    split_fragments: int
    fetches_per_draw: int


SOFTWARE = Tuning(x_blocks=True, split_fragments=0, fetches_per_draw=1_000_000)
GPU = Tuning(x_blocks=False, split_fragments=3072, fetches_per_draw=4_000_000)


def default_tuning(limits: Limits) -> Tuning:
    """What is right for most devices of a kind."""
    if limits.is_software:
        return SOFTWARE
    return GPU if limits.blends_floats else replace(GPU, split_fragments=0)
