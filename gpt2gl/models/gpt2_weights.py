"""GPT-2's weights on the device: names, LayerNorm folding, head padding."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpt2gl.config import ModelConfig
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import Layout
from gpt2gl.gl.storage import Matrix, upload_matrix, upload_rows
from gpt2gl.gl.tensor import Tensor
from gpt2gl.passes import Dims
from gpt2gl.weights import Checkpoint

Floats = NDArray[np.float32]

# Elements of a matrix that are converted at a time: 16 MB of host memory.
PIECE_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class Affine:
    """LayerNorm's gain and bias, each [n_embd], on host and device."""

    gain: Floats
    bias: Floats
    tensors: tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Product:
    """A matrix [K, N] and its bias [1, N], where it has one."""

    matrix: Matrix
    bias: Tensor | None


@dataclass(frozen=True)
class LayerWeights:
    """One transformer block; under a folding layout `c_attn` and `c_fc` contain ln_1 and ln_2."""

    ln_1: Affine
    c_attn: Product
    attn_c_proj: Product
    ln_2: Affine
    c_fc: Product
    mlp_c_proj: Product


@dataclass
class GPT2Weights:
    """Everything of a checkpoint, uploaded; `head` is the projection to the vocabulary."""

    wte: Matrix
    wpe: Tensor
    layers: list[LayerWeights]
    ln_f: Affine
    head: Product


class Uploader:
    """Reads a checkpoint tensor by tensor and uploads each in its layout.

    `steps` is a generator, so that a window can draw frames between tensors; when it ends,
    `weights` is complete.
    """

    def __init__(self, device: Device, checkpoint: Checkpoint, layout: Layout, dims: Dims) -> None:
        self.device = device
        self.checkpoint = checkpoint
        self.config: ModelConfig = checkpoint.config
        self.layout = layout
        self.dims = dims
        self.weights: GPT2Weights | None = None
        self.bytes_read = 0

    @property
    def bytes_total(self) -> int:
        """Bytes of all tensors as float32, the measure of `bytes_read`."""
        return sum(4 * _size(t.shape) for t in self.checkpoint.tensors.values())

    def steps(self) -> Iterator[None]:
        """Upload in steps of one tensor."""
        wte = self._embedding("wte.weight")
        yield
        wpe = upload_rows(self.device, self._read("wpe.weight"), "weights")
        layers = []
        for i in range(self.config.n_layer):
            layers.append((yield from self._layer(f"h.{i}")))
        ln_f = self._affine("ln_f")
        tied = "lm_head.weight" not in self.checkpoint.tensors
        head = wte if tied else self._embedding("lm_head.weight")
        self.weights = GPT2Weights(wte, wpe, layers, ln_f, Product(head, None))

    def _layer(self, name: str) -> Generator[None, None, LayerWeights]:
        ln_1 = self._affine(f"{name}.ln_1")
        w, b = self._weight_and_bias(f"{name}.attn.c_attn")
        w, b = self._folded(w, b, ln_1)
        c_attn = self._product(self._pad_heads(w, 3), self._pad_heads(b, 3))
        yield
        w, b = self._weight_and_bias(f"{name}.attn.c_proj")
        attn_c_proj = self._product(self._pad_heads(w.T, 1).T, b)
        yield
        ln_2 = self._affine(f"{name}.ln_2")
        w, b = self._weight_and_bias(f"{name}.mlp.c_fc")
        c_fc = self._product(*self._folded(w, b, ln_2))
        yield
        mlp_c_proj = self._product(*self._weight_and_bias(f"{name}.mlp.c_proj"))
        yield
        return LayerWeights(ln_1, c_attn, attn_c_proj, ln_2, c_fc, mlp_c_proj)

    def _read(self, name: str) -> Floats:
        tensor = self.checkpoint.tensors[name]
        self.bytes_read += 4 * _size(tensor.shape)
        return tensor.read()

    def _weight_and_bias(self, name: str) -> tuple[Floats, Floats]:
        return self._read(f"{name}.weight"), self._read(f"{name}.bias")

    def _affine(self, name: str) -> Affine:
        gain, bias = self._weight_and_bias(name)
        tensors = (
            upload_rows(self.device, gain[None], "weights"),
            upload_rows(self.device, bias[None], "weights"),
        )
        return Affine(gain, bias, tensors)

    def _folded(self, w: Floats, b: Floats, ln: Affine) -> tuple[Floats, Floats]:
        """LN(x) W + b = n (g * W) + (beta W + b), with n the normalised x, g gain, beta bias."""
        if not self.layout.fold_ln:
            return w, b
        bias = ln.bias.astype(np.float64) @ w + b
        return w * ln.gain[:, None], bias.astype(np.float32)

    def _pad_heads(self, values: Floats, parts: int) -> Floats:
        """[..., parts * n_embd] -> [..., parts * heads padded to whole texels]."""
        d = self.dims
        pad = 4 * d.head4 - d.head_dim
        if pad == 0:
            return values
        heads = values.reshape(*values.shape[:-1], parts * d.n_head, d.head_dim)
        widths = [(0, 0)] * (heads.ndim - 1) + [(0, pad)]
        return np.pad(heads, widths).reshape(*values.shape[:-1], -1)

    def _product(self, w: Floats, b: Floats) -> Product:
        k, n = w.shape
        matrix = upload_matrix(self.device, self.layout, k, n, _columns(w))
        return Product(matrix, upload_rows(self.device, b[None], "weights"))

    def _embedding(self, name: str) -> Matrix:
        """[vocab, n_embd] uploaded as the matrix [n_embd, vocab], some rows at a time."""
        tensor = self.checkpoint.tensors[name]
        n, k = tensor.shape
        step = max(4, PIECE_ELEMENTS // k // 4 * 4)

        def pieces() -> Iterator[tuple[int, Floats]]:
            for first in range(0, n, step):
                yield first, tensor.read_rows(first, min(n, first + step)).T

        self.bytes_read += 4 * n * k
        return upload_matrix(self.device, self.layout, k, n, pieces())


def _columns(w: Floats) -> Iterator[tuple[int, Floats]]:
    step = max(4, PIECE_ELEMENTS // w.shape[0] // 4 * 4)
    for first in range(0, w.shape[1], step):
        yield first, w[:, first : first + step]


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
