"""The table of passes, and the sizes and choices that their calls are made from."""

from __future__ import annotations

from dataclasses import dataclass

from gpt2gl.gl.call import Pass
from gpt2gl.gl.tensor import Tensor, ceil_div

PASSES = {
    p.name: p
    for p in (
        Pass("embed", "embed.frag", ("weights", "wpe", "scales")),
        Pass("row_stats", "row_stats.frag", ("x",)),
        Pass("part_stats", "part_stats.frag", ("x",)),
        Pass("layernorm", "layernorm.frag", ("x", "stats", "gain", "bias")),
        Pass("linear", "linear.frag", ("weights", "x", "bias", "scales", "stats", "residual")),
        Pass("attention_scores", "attention_scores.frag", ("q", "kv", "tail")),
        Pass("attention_mix", "attention_mix.frag", ("scores", "kv", "tail")),
        Pass("attention_combine", "attention_combine.frag", ("parts", "stats")),
        Pass("softmax_stats", "softmax_stats.frag", ("scores",)),
        Pass("softmax", "softmax.frag", ("scores", "stats")),
        Pass("attention_apply", "attention_apply.frag", ("probs", "kv")),
        Pass("activate", "activate.frag", ("x",)),
        Pass("add", "add.frag", ("x", "residual")),
        Pass("edit", "edit.frag", ("x", "slots", "gain", "offset")),
    )
}

# Texels of a row that one fragment of `part_stats` takes.
PART4 = 12
# Keys that one fragment of a split attention mix covers, and that an online softmax takes at once.
CHUNK = 64


@dataclass(frozen=True)
class Dims:
    """A model's sizes in texels. Heads are padded to whole texels, so that head h of q, k or v
    starts at texel h * head4."""

    n_embd: int
    n_head: int
    head_dim: int
    n_positions: int
    layer_norm_epsilon: float

    @property
    def e4(self) -> int:
        return ceil_div(self.n_embd, 4)

    @property
    def norm_parts(self) -> int:
        """Parts of a row whose statistics are drawn side by side."""
        return ceil_div(self.e4, PART4)

    @property
    def head4(self) -> int:
        return ceil_div(self.head_dim, 4)

    @property
    def ep4(self) -> int:
        """Texels of all heads of one of q, k, v."""
        return self.n_head * self.head4


@dataclass(frozen=True)
class Norm:
    """How a pass normalises its input.

    By `stats` of every row, drawn by `row_stats`; or in the vertex shader for the single row that
    the GLSL expression `row` names, all of it or from `parts` drawn by `part_stats`.
    """

    stats: Tensor | None = None
    parts: Tensor | None = None
    row: str = "0"
