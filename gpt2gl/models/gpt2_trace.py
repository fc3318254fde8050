"""Named tensors of a traced pass, read back and put into their logical shapes.

With T tokens, E = n_embd, H heads and I = n_inner:

    embed [T, E]                       wte + wpe
    h.{i}.ln_1, h.{i}.ln_2 [T, E]      LayerNorm with gain and bias
    h.{i}.attn.q, .k, .v [T, E]        heads joined
    h.{i}.attn.scores [H, T, T]        scaled; meaningful where key <= query
    h.{i}.attn.probs [H, T, T]         0 where key > query
    h.{i}.attn.z, .out [T, E]          mixed values; after c_proj
    h.{i}.resid_mid, .resid_post [T, E]
    h.{i}.mlp.fc, .act [T, I]          before and after the activation
    h.{i}.mlp.out [T, E]
    ln_f [T, E], logits [T, vocab]
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpt2gl.gl.call import Step
from gpt2gl.gl.storage import read_rows
from gpt2gl.gl.tensor import Tensor, ceil_div
from gpt2gl.models.gpt2_weights import Affine

if TYPE_CHECKING:
    from gpt2gl.models.gpt2 import GPT2

Floats = NDArray[np.float32]
_NORM = re.compile(r"h\.(\d+)\.(ln_1|ln_2)")


class TraceReader:
    """Collects the tensors of a pass, chunk by chunk, under their names."""

    def __init__(self, model: GPT2, n_tokens: int) -> None:
        self.model = model
        self.n_tokens = n_tokens
        self.tensors: dict[str, Floats] = {}

    def on_tensor(self, name: str, tensor: Tensor, step: Step) -> None:
        """Called after the pass that draws `name`."""
        if name.endswith(".attn.kv"):
            self._keys_and_values(name.removesuffix(".kv"), tensor, step)
        elif name.endswith((".scores", ".probs")):
            self._per_head(name, tensor, step)
        elif name.endswith((".q", ".z")):
            self._put(name, self._unpad(read_rows(self.model.device, tensor, 0, step.n_rows)), step)
        else:
            values = read_rows(self.model.device, tensor, 0, step.n_rows)
            self._put(name, self._with_affine(name, values), step)

    def _put(self, name: str, values: Floats, step: Step) -> None:
        if name not in self.tensors:
            self.tensors[name] = np.zeros((self.n_tokens, values.shape[-1]), np.float32)
        self.tensors[name][step.n_past : step.n_keys] = values

    def _keys_and_values(self, name: str, cache: Tensor, step: Step) -> None:
        rows = read_rows(self.model.device, cache, step.n_past, step.n_rows)
        k, v = np.split(rows, 2, axis=1)
        self._put(f"{name}.k", self._unpad(k), step)
        self._put(f"{name}.v", self._unpad(v), step)

    def _per_head(self, name: str, tensor: Tensor, step: Step) -> None:
        """Rows ordered (row group, head, row of group) -> [H, T, S]."""
        rows, heads = tensor.rows.layers, self.model.config.n_head
        groups = ceil_div(step.n_rows, rows)
        flat = read_rows(self.model.device, tensor, 0, groups * heads * rows)
        by_head = flat.reshape(groups, heads, rows, -1).transpose(1, 0, 2, 3)
        values = by_head.reshape(heads, groups * rows, -1)[:, : step.n_rows, : step.n_keys]
        if name not in self.tensors:
            shape = (heads, self.n_tokens, self.n_tokens)
            self.tensors[name] = np.zeros(shape, np.float32)
        self.tensors[name][:, step.n_past : step.n_keys, : step.n_keys] = values

    def _unpad(self, values: Floats) -> Floats:
        """[T, padded heads] -> [T, n_embd]."""
        d = self.model.dims
        heads = values.reshape(len(values), d.n_head, -1)[:, :, : d.head_dim]
        return heads.reshape(len(values), -1)

    def _with_affine(self, name: str, values: Floats) -> Floats:
        """Gain and bias of a LayerNorm that the layout has folded into the next matrix."""
        match = _NORM.fullmatch(name)
        if match is None:
            return values
        layer = self.model.weights.layers[int(match.group(1))]
        if not layer.c_fc.matrix.layout.fold_ln:
            return values
        affine: Affine = getattr(layer, match.group(2))
        return values * affine.gain + affine.bias
