"""One typed function for each pass that fills in tensors and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpt2gl.gl.call import Block, Call, Region, Step
from gpt2gl.gl.device import Device
from gpt2gl.gl.framebuffers import Attachments
from gpt2gl.gl.storage import Matrix, row_attachments
from gpt2gl.gl.tensor import RowsGrid, Tensor, ceil_div
from gpt2gl.passes.table import CHUNK, PART4, PASSES, Dims, Norm


class Passes:
    """Typed calls for a model of given dims with `rows` rows a fragment (1 to decode).

    In a `batch` the rows are texts of their own, see `Step`.
    """

    def __init__(self, device: Device, dims: Dims, rows: int, *, batch: bool = False) -> None:
        self.device = device
        self.dims = dims
        self.rows = rows
        self.batch = batch

    def embed(self, wte: Matrix, wpe: Tensor, out: Tensor, **extra: Any) -> Call:
        """Token plus position embeddings of the step's tokens -> out [T, n_embd]."""
        d = self.dims
        defines = {
            "E4": d.e4,
            "N_POSITIONS": d.n_positions,
            **wte.layout.defines(wte.k),
        }
        inputs = {"weights": wte.weights, "wpe": wpe, **_scales(wte)}
        return self._call("embed", inputs, out, defines, fetches=2 + 4, **extra)

    def row_stats(self, x: Tensor, out: Tensor, x_block: Block | None = None) -> Call:
        """Mean and 1 / deviation of each row of x [T, n_embd] -> out [T, 4]."""
        inputs = {} if x_block else {"x": x}
        fetches = 2 * self.dims.e4
        return self._call("row_stats", inputs, out, self._norm_defines(), fetches, x_block=x_block)

    def part_stats(self, x: Tensor, out: Tensor, row: str = "0") -> Call:
        """Mean and squares of each part of one row of x -> out [1, 4 * parts]."""
        defines = {**self._norm_defines(), "PART4": PART4, "NORM_ROW": row}
        return self._call("part_stats", {"x": x}, out, defines, 2 * PART4)

    def layernorm(
        self, x: Tensor, out: Tensor, norm: Norm, affine: tuple[Tensor, Tensor] | None, **extra: Any
    ) -> Call:
        """LayerNorm of x [T, n_embd], with gain and bias where given -> out [T, n_embd]."""
        inputs = {"x": x, **_stats(norm)}
        defines = self._normalised(norm)
        if affine is not None:
            inputs |= {"gain": affine[0], "bias": affine[1]}
            defines["AFFINE"] = 1
        return self._call("layernorm", inputs, out, defines, fetches=4, **extra)

    def linear(
        self,
        x: Tensor,
        w: Matrix,
        bias: Tensor | None,
        out: Tensor,
        *,
        first: int = 0,
        columns: int | None = None,
        norm: Norm | None = None,
        activation: str | None = None,
        residual: Tensor | None = None,
        cache: bool = False,
        x_block: Block | None = None,
        **extra: Any,
    ) -> Call:
        """activation(norm(x) W + bias) + residual: x [T, K], W [K, N] -> out [T, columns].

        Columns `first` to `first + columns` of W are computed. With `cache`, `out` is a cache
        and the rows land at their positions.
        """
        # Blending adds slices of a sum; an activation of a sum is no sum of activations.
        splits = 1 if activation else self._splits(w, ceil_div(columns or w.n, 4))
        optional = {"bias": bias, "residual": residual, "x": None if x_block else x}
        present = {name: tensor for name, tensor in optional.items() if tensor is not None}
        inputs = {"weights": w.weights, **present, **_scales(w), **_stats(norm)}
        defines: dict[str, object] = {
            "K4": ceil_div(w.k, 4),
            "N4": ceil_div(w.n if columns is None else columns, 4),
            "FIRST_N4": first // 4,
            "FIRST_GROUP": "cache_group(OUT_GRID.z)" if cache else "0",
            **w.layout.defines(w.k, splits, self.rows),
            **{name.upper(): 1 for name in present if name != "x"},
            **self._normalised(norm),
            **_activation(activation),
        }
        fetches = ceil_div(w.k, 4) * (w.layout.fetches + (0 if x_block else self.rows))
        return self._call(
            "linear",
            inputs,
            out,
            defines,
            fetches,
            cache=cache,
            x_block=x_block,
            splits=splits,
            **extra,
        )

    def attention_scores(
        self,
        q: Tensor,
        kv: Tensor,
        out: Tensor,
        scale: float,
        *,
        tail: Tensor | None = None,
        **extra: Any,
    ) -> Call:
        """q [T, heads] and the keys in kv [S, 2 heads] -> scores [T * n_head, S], masked."""
        defines = {**self._attention_defines(), "SCALE": f"{scale:.9e}"}
        fetches = self.dims.head4 * (4 + self.rows)
        inputs = {"q": q, "kv": kv, **_tail(tail)}
        return self._score_call("attention_scores", inputs, out, defines, fetches, extra)

    def attention_mix(
        self, scores: Tensor, kv: Tensor, out: Tensor, tail: Tensor | None = None, **extra: Any
    ) -> Call:
        """softmax(scores) v -> out [T, heads], in one pass."""
        rows = self.rows

        def fetches(step: Step) -> int:
            return ceil_div(step.n_keys, 4) * (4 + 2 * rows)

        inputs = {"scores": scores, "kv": kv, **_tail(tail)}
        defines = self._attention_defines()
        return self._call("attention_mix", inputs, out, defines, fetches, **extra)

    def attention_mix_split(self, scores: Tensor, kv: Tensor, parts: Tensor, stats: Tensor) -> Call:
        """The same for one query row, by chunks of keys -> parts and stats [chunks, heads]."""
        grid = parts.rows
        targets: Attachments = ((parts.texture, 0), (stats.texture, 0))

        def region(step: Step) -> Region:
            return Region(grid.left, 0, grid.width, grid.fold * ceil_div(step.n_keys, CHUNK))

        defines = {**self._attention_defines(), "SPLIT": 1}
        return self._call(
            "attention_mix",
            {"scores": scores, "kv": kv},
            parts,
            defines,
            CHUNK // 4 * 6,
            region=region,
            targets=(targets,),
        )

    def attention_combine(self, parts: Tensor, stats: Tensor, out: Tensor, **extra: Any) -> Call:
        """Chunks of `attention_mix_split` -> out [1, heads]."""
        defines = {"EP4": self.dims.ep4, "CHUNK4": CHUNK // 4}
        inputs = {"parts": parts, "stats": stats}
        fetches = 2 * ceil_div(self.dims.n_positions, CHUNK)
        return self._call("attention_combine", inputs, out, defines, fetches, **extra)

    def softmax_stats(self, scores: Tensor, out: Tensor) -> Call:
        """Maximum and 1 / sum of each score row -> out [T * n_head, 4]."""

        def fetches(step: Step) -> int:
            return ceil_div(step.n_keys, 4) * 2 * self.rows

        return self._score_call(
            "softmax_stats", {"scores": scores}, out, self._attention_defines(), fetches, {}
        )

    def softmax(self, scores: Tensor, stats: Tensor, out: Tensor, **extra: Any) -> Call:
        """Scores [T * n_head, S] -> probabilities of the same shape."""
        inputs = {"scores": scores, "stats": stats}
        return self._score_call(
            "softmax", inputs, out, self._attention_defines(), 2 * self.rows, extra
        )

    def attention_apply(self, probs: Tensor, kv: Tensor, out: Tensor, **extra: Any) -> Call:
        """probs v -> out [T, heads]."""

        def fetches(step: Step) -> int:
            return ceil_div(step.n_keys, 4) * (4 + self.rows)

        inputs = {"probs": probs, "kv": kv}
        return self._call(
            "attention_apply", inputs, out, self._attention_defines(), fetches, **extra
        )

    def activate(self, x: Tensor, out: Tensor, activation: str, **extra: Any) -> Call:
        """activation(x), element by element."""
        return self._call("activate", {"x": x}, out, _activation(activation), self.rows, **extra)

    def add(self, x: Tensor, residual: Tensor, out: Tensor, **extra: Any) -> Call:
        """x + residual, element by element."""
        inputs = {"x": x, "residual": residual}
        return self._call("add", inputs, out, {}, 2 * self.rows, **extra)

    # What the calls share ----------------------------------------------------------------------

    def _norm_defines(self) -> dict[str, object]:
        return {
            "E4": self.dims.e4,
            "N_EMBD": self.dims.n_embd,
            "LAYER_NORM_EPSILON": f"{self.dims.layer_norm_epsilon:.9e}",
        }

    def _splits(self, w: Matrix, columns4: int) -> int:
        """Slices of K that give a one-row product about as many fragments as the device wants."""
        wanted = self.device.tuning.split_fragments // columns4 if self.rows == 1 else 1
        return w.layout.splits(w.k, max(1, wanted))

    def _normalised(self, norm: Norm | None) -> dict[str, object]:
        if norm is None:
            return {}
        if norm.stats is not None:
            return {**self._norm_defines(), "NORM_IN_TEXTURE": 1}
        defines = {**self._norm_defines(), "NORM_IN_VERTEX": 1, "NORM_ROW": norm.row}
        if norm.parts is not None:
            defines |= {"PARTS": norm.parts.rows.columns4, "PART4": PART4}
        return defines

    def _attention_defines(self) -> dict[str, object]:
        d = self.dims
        return {
            "HEADS": d.n_head,
            "HEAD4": d.head4,
            "EP4": d.ep4,
            "V_FIRST4": d.ep4,
            "CHUNK4": CHUNK // 4,
        }

    def _score_call(
        self,
        name: str,
        inputs: Mapping[str, Tensor],
        out: Tensor,
        defines: Mapping[str, object],
        fetches: int | Callable[[Step], int],
        extra: Mapping[str, Any],
    ) -> Call:
        """A call whose rows are (row group, head) and whose columns are keys."""
        grid, rows, heads = out.rows, self.rows, self.dims.n_head

        def region(step: Step) -> Region:
            groups = ceil_div(step.n_rows, rows)
            # The rows that fill up the last group see keys of their own, which must be drawn too.
            width = min(grid.width, ceil_div(step.n_past + groups * rows, 4))
            return Region(grid.left, 0, width, groups * heads * grid.fold)

        return self._call(name, inputs, out, defines, fetches, region=region, **extra)

    def _call(
        self,
        name: str,
        inputs: Mapping[str, Tensor],
        out: Tensor,
        defines: Mapping[str, object],
        fetches: int | Callable[[Step], int],
        *,
        region: Region | Callable[[Step], Region] | None = None,
        targets: tuple[Attachments, ...] | None = None,
        cache: bool = False,
        splits: int = 1,
        x_block: Block | None = None,
        capture: Block | None = None,
        label: str = "",
    ) -> Call:
        grids = {f"{key.upper()}_GRID": tensor.grid.glsl() for key, tensor in inputs.items()}
        if x_block is not None:
            grids["X_BLOCK"] = str(x_block.nbytes // 16)
            grids["X_ROW"] = str(x_block.nbytes // 16 // x_block.rows)
        if targets is None:
            targets = _cache_targets(out, self.rows) if cache else (row_attachments(out),)
        return Call(
            operation=PASSES[name],
            inputs=inputs,
            targets=targets,
            defines={
                "ROWS": self.rows,
                "SPLITS": splits,
                "OUT_GRID": out.grid.glsl(),
                **({"BATCH": 1} if self.batch else {}),
                **grids,
                **defines,
            },
            region=region or _row_region(out.rows, self.rows, cache),
            fetches=fetches,
            output=out,
            splits=splits,
            x_block=x_block,
            capture=capture,
            label=label,
        )


def _row_region(grid: RowsGrid, rows: int, cache: bool) -> Region | Callable[[Step], Region]:
    """The texels of the step's rows: from the top, or at their positions in a cache."""
    if grid.groups == 1 and not cache:
        # Also the head's, which takes the last row alone however many rows the step has.
        return Region(grid.left, 0, grid.width, grid.fold)

    def region(step: Step) -> Region:
        height = ceil_div(step.n_rows, rows) * grid.fold
        if not cache:
            return Region(grid.left, 0, grid.width, height)
        if step.prefix:  # a row group for each position of a batch
            return Region(grid.left, (step.n_past - step.prefix) * grid.fold, grid.width, height)
        group, layer = divmod(step.n_past, grid.layers)
        return Region(grid.left, group * grid.fold, grid.width, height, layer if rows == 1 else 0)

    return region


def _cache_targets(cache: Tensor, rows: int) -> tuple[Attachments, ...]:
    """One row at a time goes to the layer of its position; a row group to all layers at once."""
    attachments = row_attachments(cache)
    return tuple((one,) for one in attachments) if rows == 1 else (attachments,)


def _tail(tail: Tensor | None) -> dict[str, Tensor]:
    return {} if tail is None else {"tail": tail}


def _scales(w: Matrix) -> dict[str, Tensor]:
    return {} if w.scales is None else {"scales": w.scales}


def _stats(norm: Norm | None) -> dict[str, Tensor]:
    stats = norm and (norm.stats or norm.parts)
    return {"stats": stats} if stats else {}


def _activation(name: str | None) -> dict[str, object]:
    return {} if name is None else {"ACTIVATION": f"ACTIVATION_{name}"}
