"""GPT-2's forward pass as lists of calls, recorded once and replayed for every token.

Three plans over the same weights. *Decode* takes one row and has as few draws as possible: eight
a layer, LayerNorm, bias, activation and residual fused into the products. *Prefill* takes many
rows at once. *Plain* has a pass for every named tensor of the model and is what traces and
comparisons run. Radford et al. 2019; the reference is `transformers.models.gpt2`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpt2gl.config import ModelConfig
from gpt2gl.gl.call import Block, Call
from gpt2gl.gl.device import Device
from gpt2gl.gl.storage import allocate_rows
from gpt2gl.gl.tensor import TILE, Tensor, ceil_div, single_row_shape
from gpt2gl.kv_cache import KVCache
from gpt2gl.models.gpt2_weights import GPT2Weights, LayerWeights
from gpt2gl.passes import CHUNK, Dims, Norm, Passes


class Scratch:
    """The activations of one plan: [T, n] tensors that every layer reuses."""

    def __init__(self, device: Device, dims: Dims, n_inner: int, rows: int, max_rows: int) -> None:
        self.device = device
        self.dims = dims
        self.max_rows = max_rows
        self.rows = rows
        heads = 4 * dims.ep4
        self.x = (self.tensor(dims.n_embd), self.tensor(dims.n_embd))
        self.q = self.tensor(heads)
        self.z = self.tensor(heads)
        self.fc = self.tensor(n_inner)
        self.mid = self.tensor(n_inner)
        self.scores = self.score_tensor()
        self.normed = self.tensor(dims.n_embd)
        self.norm_parts = self.tensor(4 * dims.norm_parts)
        self.stats = self.tensor(4)

    def tensor(self, columns: int) -> Tensor:
        """A [T, columns] tensor in this plan's geometry."""
        return self._allocate(self.max_rows, columns)

    def parts(self) -> Tensor:
        """A [chunks of keys, heads] tensor for the split attention mix."""
        return self._allocate(ceil_div(self.dims.n_positions, CHUNK), 4 * self.dims.ep4)

    def score_tensor(self, columns: int | None = None) -> Tensor:
        """A [T * n_head, n_positions] tensor, its row groups ordered (row group, head)."""
        rows = self.max_rows * self.dims.n_head
        keys = ceil_div(self.dims.n_positions, self.rows) * self.rows
        # Heads are few lines and keys few columns at first: across a tile border for two threads.
        left = TILE - 16 if self.max_rows == self.rows else 0
        return allocate_rows(
            self.device, rows, columns or keys, "scratch", layers=self.rows, left=left
        )

    def _allocate(self, rows: int, columns: int) -> Tensor:
        # A single row group is drawn like a single row.
        single = self.max_rows == self.rows
        width, left = single_row_shape(columns) if single else (None, 0)
        return allocate_rows(
            self.device, rows, columns, "scratch", layers=self.rows, width=width, left=left
        )


class Planner:
    """Builds the call lists of a model."""

    def __init__(
        self, device: Device, config: ModelConfig, dims: Dims, weights: GPT2Weights, cache: KVCache
    ) -> None:
        self.device = device
        self.config = config
        self.dims = dims
        self.weights = weights
        self.cache = cache
        self._blocks_of: dict[int, dict[str, Block | None]] = {}

    def scale(self, layer: int) -> float:
        """What scores are multiplied by."""
        scale = self.dims.head_dim**-0.5 if self.config.scale_attn_weights else 1.0
        return scale / (layer + 1) if self.config.scale_attn_by_inverse_layer_idx else scale

    # Decode ------------------------------------------------------------------------------------

    def decode(self, s: Scratch) -> list[Call]:
        """One token: embedding and all layers; the last residual ends in s.x[0]."""
        p = Passes(self.device, self.dims, 1)
        blocks = self._group_blocks(s)
        parts, stats = s.parts(), s.parts()
        x = blocks["x"]
        calls = [p.embed(self.weights.wte, self.weights.wpe, s.x[0], capture=x, label="embed")]
        for i, (layer, kv) in enumerate(zip(self.weights.layers, self.cache.layers, strict=True)):
            calls += self._decode_attention(p, s, i, layer, kv, blocks, (parts, stats))
            calls += self._decode_mlp(p, s, i, layer, blocks)
        return calls

    def _decode_attention(
        self,
        p: Passes,
        s: Scratch,
        i: int,
        layer: LayerWeights,
        kv: Tensor,
        blocks: dict[str, Block | None],
        parts: tuple[Tensor, Tensor],
    ) -> list[Call]:
        heads = 4 * self.dims.ep4
        w, bias = layer.c_attn.matrix, layer.c_attn.bias
        proj = layer.attn_c_proj
        norm, stats = self._single_norm(p, s.x[0], s.norm_parts)
        x_block = blocks["x"]
        return [
            *stats,
            p.linear(s.x[0], w, bias, s.q, columns=heads, norm=norm, x_block=x_block),
            p.linear(
                s.x[0],
                w,
                bias,
                kv,
                first=heads,
                columns=2 * heads,
                norm=norm,
                cache=True,
                x_block=x_block,
            ),
            p.attention_scores(s.q, kv, s.scores, self.scale(i), label=f"h.{i}.attn.scores"),
            p.attention_mix_split(s.scores, kv, *parts),
            p.attention_combine(*parts, s.z, capture=blocks["z"]),
            p.linear(
                s.z,
                proj.matrix,
                proj.bias,
                s.x[1],
                residual=s.x[0],
                x_block=blocks["z"],
                capture=x_block,
                label=f"h.{i}.resid_mid",
            ),
        ]

    def _decode_mlp(
        self, p: Passes, s: Scratch, i: int, layer: LayerWeights, blocks: dict[str, Block | None]
    ) -> list[Call]:
        fc, proj = layer.c_fc, layer.mlp_c_proj
        norm, stats = self._single_norm(p, s.x[1], s.norm_parts)
        function = self.config.activation_function
        fused = self.device.tuning.x_blocks
        # An activation of a sum cannot be split like the sum, so where sums are, it is a pass.
        hidden = s.mid if fused else s.fc
        act = f"h.{i}.mlp.act"
        return [
            *stats,
            p.linear(
                s.x[1],
                fc.matrix,
                fc.bias,
                hidden,
                norm=norm,
                activation=function if fused else None,
                x_block=blocks["x"],
                capture=blocks["mid"],
                label=act if fused else "",
            ),
            *(() if fused else (p.activate(hidden, s.mid, function, label=act),)),
            p.linear(
                s.mid,
                proj.matrix,
                proj.bias,
                s.x[0],
                residual=s.x[1],
                x_block=blocks["mid"],
                capture=blocks["x"],
                label=f"h.{i}.resid_post",
            ),
        ]

    # Prefill -----------------------------------------------------------------------------------

    def prefill(self, s: Scratch) -> list[Call]:
        """Many tokens of a text: embedding and all layers; the last residual ends in s.x[0]."""
        p = Passes(self.device, self.dims, s.rows)
        return self._many(p, s, self.cache, self._group_blocks(s), tails=False)

    def batch(self, s: Scratch, tails: KVCache, logits: Tensor) -> list[Call]:
        """One token of each of several texts, up to the logits -> logits [T, vocab]."""
        p = Passes(self.device, self.dims, s.rows, batch=True)
        blocks = self._group_blocks(s)
        stats = s.stats
        x, normed, head = blocks["x"], blocks["normed"], self.weights.head.matrix
        ln_f = self.weights.ln_f.tensors
        return [
            *self._many(p, s, tails, blocks, tails=True),
            p.row_stats(s.x[0], stats, x_block=x),
            p.layernorm(s.x[0], s.normed, Norm(stats), ln_f, capture=normed),
            p.linear(s.normed, head, None, logits, x_block=normed),
        ]

    def _group_blocks(self, s: Scratch) -> dict[str, Block | None]:
        """Uniform blocks for a row group, made once: their bindings are part of programs."""
        tensors = {"x": s.x[0], "z": s.z, "mid": s.mid, "normed": s.normed}
        if s.max_rows > s.rows:
            return dict.fromkeys(tensors)
        if s.rows not in self._blocks_of:
            self._blocks_of[s.rows] = {n: self._block_for(t, s.rows) for n, t in tensors.items()}
        return self._blocks_of[s.rows]

    def _many(
        self,
        p: Passes,
        s: Scratch,
        written: KVCache,
        blocks: dict[str, Block | None],
        *,
        tails: bool,
    ) -> list[Call]:
        """Embedding and all layers of several rows; keys and values are added to `written`."""
        stats = s.stats
        heads = 4 * self.dims.ep4
        norm = Norm(stats)
        x, z, mid = blocks["x"], blocks["z"], blocks["mid"]
        calls = [p.embed(self.weights.wte, self.weights.wpe, s.x[0], capture=x, label="embed")]
        caches = zip(self.weights.layers, self.cache.layers, written.layers, strict=True)
        for i, (layer, kv, new) in enumerate(caches):
            name = f"h.{i}"
            w, bias = layer.c_attn.matrix, layer.c_attn.bias
            proj, fc, out = layer.attn_c_proj, layer.c_fc, layer.mlp_c_proj
            tail = new if tails else None
            from_x: dict[str, Any] = {"norm": norm, "x_block": x}
            to_mid: dict[str, Any] = {"activation": self.config.activation_function, "capture": mid}
            from_z: dict[str, Any] = {"residual": s.x[0], "x_block": z, "capture": x}
            from_mid: dict[str, Any] = {"residual": s.x[1], "x_block": mid, "capture": x}
            scores = f"{name}.attn.scores"
            calls += [
                p.row_stats(s.x[0], stats, x_block=x),
                p.linear(s.x[0], w, bias, s.q, columns=heads, **from_x),
                p.linear(
                    s.x[0], w, bias, new, first=heads, columns=2 * heads, cache=True, **from_x
                ),
                p.attention_scores(s.q, kv, s.scores, self.scale(i), tail=tail, label=scores),
                p.attention_mix(s.scores, kv, s.z, tail=tail, capture=z),
                p.linear(
                    s.z, proj.matrix, proj.bias, s.x[1], label=f"{name}.resid_mid", **from_z
                ),
                p.row_stats(s.x[1], stats, x_block=x),
                p.linear(
                    s.x[1], fc.matrix, fc.bias, s.mid, label=f"{name}.mlp.act", **to_mid, **from_x
                ),
                p.linear(
                    s.mid, out.matrix, out.bias, s.x[0], label=f"{name}.resid_post", **from_mid
                ),
            ]
        return calls

    # Plain -------------------------------------------------------------------------------------

    def plain(self, s: Scratch) -> list[Call]:
        """A pass for each named tensor; calls without a label draw what a later one needs."""
        p = Passes(self.device, self.dims, s.rows)
        t = _PlainTensors(s)
        calls = [p.embed(self.weights.wte, self.weights.wpe, s.x[0], label="embed")]
        for i, (layer, kv) in enumerate(zip(self.weights.layers, self.cache.layers, strict=True)):
            calls += self._plain_attention(p, s, t, i, layer, kv)
            calls += self._plain_mlp(p, s, t, i, layer)
        return calls

    def plain_head(self, s: Scratch) -> list[Call]:
        """ln_f and the logits of every row, labelled."""
        p = Passes(self.device, self.dims, s.rows)
        stats, normed = s.stats, s.normed
        logits = s.tensor(self.config.vocab_size)
        return [
            p.row_stats(s.x[0], stats),
            p.layernorm(s.x[0], normed, Norm(stats), self.weights.ln_f.tensors, label="ln_f"),
            p.linear(normed, self.weights.head.matrix, None, logits, label="logits"),
        ]

    def _plain_attention(
        self, p: Passes, s: Scratch, t: _PlainTensors, i: int, layer: LayerWeights, kv: Tensor
    ) -> Iterator[Call]:
        heads = 4 * self.dims.ep4
        w, bias = layer.c_attn.matrix, layer.c_attn.bias
        proj = layer.attn_c_proj
        name = f"h.{i}"
        affine = None if w.layout.fold_ln else layer.ln_1.tensors
        yield p.row_stats(s.x[0], s.stats)
        yield p.layernorm(s.x[0], s.normed, Norm(s.stats), affine, label=f"{name}.ln_1")
        yield p.linear(s.normed, w, bias, s.q, columns=heads, label=f"{name}.attn.q")
        yield p.linear(
            s.normed,
            w,
            bias,
            kv,
            first=heads,
            columns=2 * heads,
            cache=True,
            label=f"{name}.attn.kv",
        )
        yield p.attention_scores(s.q, kv, s.scores, self.scale(i), label=f"{name}.attn.scores")
        yield p.softmax_stats(s.scores, t.score_stats)
        yield p.softmax(s.scores, t.score_stats, t.probs, label=f"{name}.attn.probs")
        yield p.attention_apply(t.probs, kv, s.z, label=f"{name}.attn.z")
        yield p.linear(s.z, proj.matrix, proj.bias, t.out, label=f"{name}.attn.out")
        yield p.add(t.out, s.x[0], s.x[1], label=f"{name}.resid_mid")

    def _plain_mlp(
        self, p: Passes, s: Scratch, t: _PlainTensors, i: int, layer: LayerWeights
    ) -> Iterator[Call]:
        fc, proj = layer.c_fc, layer.mlp_c_proj
        name = f"h.{i}"
        affine = None if fc.matrix.layout.fold_ln else layer.ln_2.tensors
        yield p.row_stats(s.x[1], s.stats)
        yield p.layernorm(s.x[1], s.normed, Norm(s.stats), affine, label=f"{name}.ln_2")
        yield p.linear(s.normed, fc.matrix, fc.bias, s.fc, label=f"{name}.mlp.fc")
        yield p.activate(s.fc, s.mid, self.config.activation_function, label=f"{name}.mlp.act")
        yield p.linear(s.mid, proj.matrix, proj.bias, t.out, label=f"{name}.mlp.out")
        yield p.add(t.out, s.x[1], s.x[0], label=f"{name}.resid_post")

    # Head --------------------------------------------------------------------------------------

    def head(self, x: Tensor, s: Scratch, logits: Tensor) -> list[Call]:
        """ln_f of the last row of x, then the vocabulary projection -> logits [1, vocab]."""
        p = Passes(self.device, self.dims, 1)
        norm, stats = self._single_norm(p, x, s.norm_parts, row="step_counts.z")
        normed_block = self._group_blocks(s)["normed"]
        return [
            *stats,
            p.layernorm(x, s.normed, norm, self.weights.ln_f.tensors, capture=normed_block),
            p.linear(s.normed, self.weights.head.matrix, None, logits, x_block=normed_block),
        ]

    def _single_norm(
        self, p: Passes, x: Tensor, parts: Tensor, row: str = "0"
    ) -> tuple[Norm, list[Call]]:
        """How to normalise one row, and the passes that must be drawn before.

        A vertex shader that reads a uniform block does it alone; textures are too slow for one
        invocation to read a whole row, so there a pass takes the statistics of parts first.
        """
        if self.device.tuning.x_blocks:
            return Norm(row=row), []
        return Norm(parts=parts, row=row), [p.part_stats(x, parts, row)]

    def _block_for(self, tensor: Tensor, rows: int) -> Block | None:
        """A uniform block for the row group of a tensor, if the driver's are large enough."""
        nbytes = rows * tensor.rows.width * tensor.rows.fold * 16
        if nbytes > self.device.limits.max_uniform_block or not self.device.tuning.x_blocks:
            return None
        return self.device.block(nbytes, rows)


class _PlainTensors:
    """What only the plain plan needs beyond the scratch tensors."""

    def __init__(self, s: Scratch) -> None:
        self.out = s.tensor(s.dims.n_embd)
        self.probs = s.score_tensor()
        self.score_stats = s.score_tensor(4)
