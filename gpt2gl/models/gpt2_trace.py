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
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpt2gl.config import ModelConfig
from gpt2gl.gl.call import Prepared, Step
from gpt2gl.gl.storage import read_rows
from gpt2gl.gl.tensor import Tensor, ceil_div
from gpt2gl.models.gpt2_weights import Affine

if TYPE_CHECKING:
    from gpt2gl.models.gpt2 import GPT2

Floats = NDArray[np.float32]
OnTensor = Callable[[str, Floats], None]
_NORM = re.compile(r"h\.(\d+)\.(ln_1|ln_2)")
# Host memory for tensors that are whole only after the last chunk of a text.
STREAM_BYTES = 256 << 20


def trace_steps(
    model: GPT2, tokens: Sequence[int], names: Sequence[str], on_tensor: OnTensor
) -> Iterator[None]:
    """Run the plain plan over `tokens`, handing over each tensor of `names` once it is whole.

    Yields between bounded draws. The text in the cache is replaced.
    """
    reader = TraceReader(model, len(tokens), frozenset(names), on_tensor)
    plan = model.plan("trace")
    end = 1 + max(i for i, prepared in enumerate(plan) if reader.wants(prepared.call.label))
    for first in range(0, len(tokens), model.chunk):
        chunk = tokens[first : first + model.chunk]
        step = Step(first, len(chunk))
        model.device.set_step(step, chunk)
        for prepared in plan[:end]:
            yield from model.device.draw((prepared,), step)
            reader.on_pass(prepared.call.label, prepared.call.output, step)
        model.device.check()


def pass_steps(
    model: GPT2, tokens: Sequence[int], on_pass: Callable[[Prepared, Step], None]
) -> Iterator[None]:
    """Run the plain plan over `tokens`; in their last chunk tell of each pass and wait after it.

    Until the next step the textures hold what the pass has read and drawn. Yields between
    bounded draws too. The text in the cache is replaced.
    """
    plan = model.plan("trace")
    for first in range(0, len(tokens), model.chunk):
        chunk = tokens[first : first + model.chunk]
        step = Step(first, len(chunk))
        model.device.set_step(step, chunk)
        if step.n_keys < len(tokens):
            yield from model.device.draw(plan, step)
            continue
        for prepared in plan:
            yield from model.device.draw((prepared,), step)
            on_pass(prepared, step)
            yield
        model.device.check()


def streamed_steps(
    model: GPT2, tokens: Sequence[int], names: Sequence[str], on_tensor: OnTensor
) -> Iterator[None]:
    """`trace_steps` with at most `STREAM_BYTES` of tensors waiting, or one that is larger.

    A text of several chunks is run again for every part of the names.
    """
    for part in _parts(model.config, names, len(tokens), len(tokens) <= model.chunk):
        yield from trace_steps(model, tokens, part, on_tensor)


def _parts(
    config: ModelConfig, names: Sequence[str], n_tokens: int, one: bool
) -> Iterator[list[str]]:
    """Names in their order, cut where their tensors exceed `STREAM_BYTES` unless it is `one`."""
    part: list[str] = []
    waiting = 0
    for name in names:
        size = nbytes(config, name, n_tokens)
        if part and not one and waiting + size > STREAM_BYTES:
            yield part
            part, waiting = [], 0
        part.append(name)
        waiting += size
    yield part


def nbytes(config: ModelConfig, name: str, n_tokens: int) -> int:
    """Host bytes of a traced tensor."""
    if name.endswith((".scores", ".probs")):
        return 4 * config.n_head * n_tokens**2
    if name.endswith((".mlp.fc", ".mlp.act")):
        return 4 * config.n_inner * n_tokens
    return 4 * n_tokens * (config.vocab_size if name == "logits" else config.n_embd)


class TraceReader:
    """Puts the wanted tensors of a pass together, chunk by chunk, and hands over whole ones."""

    def __init__(
        self, model: GPT2, n_tokens: int, names: frozenset[str], on_tensor: OnTensor
    ) -> None:
        self.model = model
        self.n_tokens = n_tokens
        self.names = names
        self.give = on_tensor
        self.tensors: dict[str, Floats] = {}

    def wants(self, label: str) -> bool:
        """Whether the pass of that label draws any wanted tensor."""
        if label.endswith(".attn.kv"):
            prefix = label.removesuffix("kv")
            return f"{prefix}k" in self.names or f"{prefix}v" in self.names
        return label in self.names

    def on_pass(self, label: str, tensor: Tensor, step: Step) -> None:
        """Called after every pass of the plan."""
        if not self.wants(label):
            return
        if label.endswith(".attn.kv"):
            self._keys_and_values(label.removesuffix(".kv"), tensor, step)
        elif label.endswith((".scores", ".probs")):
            self._per_head(label, tensor, step)
        elif label.endswith((".q", ".z")):
            values = read_rows(self.model.device, tensor, 0, step.n_rows)
            self._put(label, self._unpad(values), step)
        else:
            values = read_rows(self.model.device, tensor, 0, step.n_rows)
            self._put(label, self._with_affine(label, values), step)

    def _put(self, name: str, values: Floats, step: Step) -> None:
        if name not in self.names:
            return
        if name not in self.tensors:
            self.tensors[name] = np.zeros((self.n_tokens, values.shape[-1]), np.float32)
        self.tensors[name][step.n_past : step.n_keys] = values
        self._give_if_whole(name, step)

    def _give_if_whole(self, name: str, step: Step) -> None:
        if step.n_keys == self.n_tokens:
            self.give(name, self.tensors.pop(name))

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
        self._give_if_whole(name, step)

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
