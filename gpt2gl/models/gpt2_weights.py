"""GPT-2's weights on the device: names, LayerNorm folding, head padding."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpt2gl.config import ModelConfig
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import LAYOUTS, Layout
from gpt2gl.gl.storage import Matrix, packed_pieces, upload_packed, upload_rows
from gpt2gl.gl.tensor import Tensor
from gpt2gl.passes import Dims
from gpt2gl.quantised_cache import open_cache
from gpt2gl.quantised_file import Piece
from gpt2gl.weights import Checkpoint
from gpt2gl.weights.arrays import LazyTensor

Floats = NDArray[np.float32]
ColumnPiece = tuple[int, Floats]  # first column, [K, columns]

# Elements of a matrix that are converted and uploaded in one step, so that a window stays smooth.
PIECE_ELEMENTS = 1 << 18

# Layout -> matrices that keep another one within it, by name in a layer. Of a 4-bit model's loss
# in perplexity c_attn has the largest share for its size, see docs/performance.md.
WIDER = {"int4": {"attn.c_attn": "int8"}}


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

    `steps` is a generator, so that a window can draw frames between pieces of tensors; when it
    ends, `weights` is complete.
    """

    def __init__(self, device: Device, checkpoint: Checkpoint, layout: Layout, dims: Dims) -> None:
        self.device = device
        self.checkpoint = checkpoint
        self.config: ModelConfig = checkpoint.config
        self.layout = layout
        self.dims = dims
        self.cache = open_cache(checkpoint, layout.name)
        self.weights: GPT2Weights | None = None
        self.bytes_read = 0

    @property
    def fraction(self) -> float:
        """How much of the checkpoint is uploaded; heads padded to whole texels count more."""
        total = sum(4 * _size(t.shape) for t in self.checkpoint.tensors.values())
        return min(1.0, self.bytes_read / total)

    def steps(self) -> Iterator[None]:
        """Upload in steps of `PIECE_ELEMENTS` at most."""
        with self.cache:
            yield from self._steps()
            yield from self.cache.store()

    def _steps(self) -> Generator[None, None, None]:
        wte = yield from self._embedding("wte.weight")
        wpe = upload_rows(self.device, self._read("wpe.weight"), "weights")
        layers = []
        for i in range(self.config.n_layer):
            layers.append((yield from self._layer(f"h.{i}")))
        ln_f = self._affine("ln_f")
        tied = "lm_head.weight" not in self.checkpoint.tensors
        head = wte if tied else (yield from self._embedding("lm_head.weight"))
        self.weights = GPT2Weights(wte, wpe, layers, ln_f, Product(head, None))

    def _layer(self, name: str) -> Generator[None, None, LayerWeights]:
        ln_1 = self._affine(f"{name}.ln_1")
        c_attn = yield from self._product(f"{name}.attn.c_attn", ln=ln_1, heads_out=3)
        attn_c_proj = yield from self._product(f"{name}.attn.c_proj", heads_in=1)
        ln_2 = self._affine(f"{name}.ln_2")
        c_fc = yield from self._product(f"{name}.mlp.c_fc", ln=ln_2)
        mlp_c_proj = yield from self._product(f"{name}.mlp.c_proj")
        return LayerWeights(ln_1, c_attn, attn_c_proj, ln_2, c_fc, mlp_c_proj)

    def _read(self, name: str) -> Floats:
        tensor = self.checkpoint.tensors[name]
        self.bytes_read += 4 * _size(tensor.shape)
        return tensor.read()

    def _affine(self, name: str) -> Affine:
        gain, bias = self._read(f"{name}.weight"), self._read(f"{name}.bias")
        tensors = (
            upload_rows(self.device, gain[None], "weights"),
            upload_rows(self.device, bias[None], "weights"),
        )
        return Affine(gain, bias, tensors)

    def _product(
        self, name: str, *, ln: Affine | None = None, heads_in: int = 0, heads_out: int = 0
    ) -> Generator[None, None, Product]:
        """The matrix and bias `name`; K or N are that many times all heads, if not 0."""
        weight, offset = (self.checkpoint.tensors[f"{name}.{part}"] for part in ("weight", "bias"))
        heads = HeadPadding(self.dims, heads_in, heads_out)
        source = ProductSource(weight, offset, heads, ln if self.layout.fold_ln else None)
        layout = self._layout_of(name)
        k, n = heads.shape(weight.shape)
        matrix = yield from self._matrix(name, layout, k, n, source.pieces)
        bias = self.cache.pieces(f"{name}.bias", lambda: [Piece(0, source.bias(), None)])
        rows = [upload_rows(self.device, piece.texels, "weights") for piece in bias]
        self.bytes_read += 4 * _size(offset.shape)
        return Product(matrix, rows[-1])

    def _embedding(self, name: str) -> Generator[None, None, Matrix]:
        """[vocab, n_embd] uploaded as the matrix [n_embd, vocab], some rows at a time."""
        tensor = self.checkpoint.tensors[name]
        n, k = tensor.shape
        step = _step(k)

        def pieces() -> Iterator[ColumnPiece]:
            for first in range(0, n, step):
                yield first, tensor.read_rows(first, min(n, first + step)).T

        return (yield from self._matrix(name, self._layout_of(name), k, n, pieces))

    def _layout_of(self, name: str) -> Layout:
        wider = WIDER.get(self.layout.name, {})
        kind = name.split(".", 2)[-1]  # h.0.attn.c_attn -> attn.c_attn
        return LAYOUTS[wider.get(kind, self.layout.name)]

    def _matrix(
        self, name: str, layout: Layout, k: int, n: int, pieces: Callable[[], Iterator[ColumnPiece]]
    ) -> Generator[None, None, Matrix]:
        def make() -> Iterator[Piece]:
            return (Piece(*packed) for packed in packed_pieces(layout, pieces()))

        steps = upload_packed(self.device, layout, k, n, self.cache.pieces(name, make))
        before, columns = self.bytes_read, 0
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self.bytes_read = before + 4 * k * n
                matrix: Matrix = end.value
                return matrix
            columns = min(n, columns + _step(k))
            self.bytes_read = before + 4 * k * columns
            yield


@dataclass(frozen=True)
class HeadPadding:
    """Heads of a matrix padded to whole texels: its K is `into` times all heads, or its N is
    `out` times all heads, where not 0."""

    dims: Dims
    into: int = 0
    out: int = 0

    def shape(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """[K, N] after padding."""
        heads = 4 * self.dims.ep4
        return self.into * heads or shape[0], self.out * heads or shape[1]

    def matrix(self, w: Floats) -> Floats:
        """[K, N] padded."""
        return self._padded(self._padded(w.T, self.into).T, self.out)

    def vector(self, b: Floats) -> Floats:
        """[N] padded."""
        return self._padded(b, self.out)

    def _padded(self, values: Floats, parts: int) -> Floats:
        """[..., parts * n_embd] -> [..., parts * heads padded to whole texels]."""
        d = self.dims
        pad = 4 * d.head4 - d.head_dim
        if pad == 0 or parts == 0:
            return values
        heads = values.reshape(*values.shape[:-1], parts * d.n_head, d.head_dim)
        widths = [(0, 0)] * (heads.ndim - 1) + [(0, pad)]
        return np.pad(heads, widths).reshape(*values.shape[:-1], -1)


@dataclass(frozen=True)
class ProductSource:
    """A product as the engine computes it, read from the checkpoint when first asked for.

    With `ln`, LN(x) W + b = n (g * W) + (beta W + b), n the normalised x, g gain, beta bias.
    """

    weight: LazyTensor
    offset: LazyTensor
    heads: HeadPadding
    ln: Affine | None

    @cached_property
    def w(self) -> Floats:
        """[K, N], of a float32 file a view."""
        return self.heads.matrix(self.weight.read())

    def pieces(self) -> Iterator[ColumnPiece]:
        """The matrix some columns at a time."""
        for first, w in _columns(self.w):
            yield first, w if self.ln is None else w * self.ln.gain[:, None]

    def bias(self) -> Floats:
        """[1, N]."""
        b = self.heads.vector(self.offset.read())
        if self.ln is None:
            return b[None]
        beta = self.ln.bias.astype(np.float64)
        folded = np.concatenate([beta @ w for _, w in _columns(self.w)])
        return (folded + b).astype(np.float32)[None]


def _columns(w: Floats) -> Iterator[ColumnPiece]:
    step = _step(w.shape[0])
    for first in range(0, w.shape[1], step):
        yield first, w[:, first : first + step]


def _step(k: int) -> int:
    """Columns of K rows that are handled at a time."""
    return max(4, PIECE_ELEMENTS // k // 4 * 4)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
