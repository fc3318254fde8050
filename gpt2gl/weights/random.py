"""Models with seeded random weights: any shape, no download, for tests and benchmarks."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from gpt2gl.config import ModelConfig
from gpt2gl.errors import OptionError
from gpt2gl.weights.arrays import Floats, Index, LazyTensor
from gpt2gl.weights.checkpoint import Checkpoint
from gpt2gl.weights.names import EMBEDDING, HEAD, Shape, expected_shapes

# Values are made in blocks of about this many, each with its own seed, so that any rows can be
# made alone and come out the same.
BLOCK_VALUES = 1 << 20

OUTLIER_FEATURES = 3
OUTLIER_FIRST_POSITION = 3000.0  # of wpe at position 0
OUTLIER_POSITIONS = 300.0  # of wpe elsewhere
OUTLIER_MLP = 2000.0  # what the biases of all mlp.c_proj add up to, in the first outlier
OUTLIER_GAIN = 0.05  # layer norm gain at outliers
OUTLIER_SPREAD = 50.0  # of the embeddings' other features, in units of std


@dataclass(frozen=True)
class Columns:
    """Columns that are set to `value` (row 0: to `first`) on top of the random values."""

    features: tuple[int, ...]
    value: float
    first: float


@dataclass(frozen=True)
class RandomArray:
    """Normal values with mean `mean`, made when read; the same for the same seed and name."""

    shape: Shape
    seed: tuple[int, ...]
    mean: float
    std: float
    outliers: tuple[Columns, ...] = ()
    dtype: str = field(default="F32", init=False)
    convertible: bool = field(default=True, init=False)

    def floats(self, index: Index) -> Floats:
        start, stop, _ = index[0].indices(self.shape[0])
        width = int(np.prod(self.shape[1:], dtype=np.int64))
        size = max(1, BLOCK_VALUES // width)
        first = start // size * size
        result = np.empty((stop - start, *self.shape[1:]), np.float32)
        for begin in range(first, stop, size):
            block = self._block(begin, min(begin + size, self.shape[0]))
            low, high = max(begin, start), min(begin + size, stop)
            result[low - start : high - start] = block[low - begin : high - begin]
        columns = (slice(None), *index[1:])
        return result[columns]

    def _block(self, start: int, stop: int) -> Floats:
        random = np.random.default_rng((*self.seed, start))
        block = random.standard_normal((stop - start, *self.shape[1:]), np.float32)
        block *= np.float32(self.std)
        block += np.float32(self.mean)
        for columns in self.outliers:
            _set_columns(block, columns, start)
        return block


def random_checkpoint(
    config: ModelConfig, seed: int, std: float = 0.02, outliers: bool = False
) -> Checkpoint:
    """A model with random weights of standard deviation `std` (GPT-2's own initial value).

    Biases are random as well and layer norm gains vary around 1, so that a mistake with any of
    them shows. Each tensor depends on `seed` and its own name alone and is made when it is
    read, in blocks. With `outliers`, three features of the residual stream reach several
    thousand at position 0 and at least one does at every position, as in trained GPT-2
    ("massive activations", Sun et al. 2024), with small layer norm gains there.

    Raises:
        OptionError: `seed` is negative, or `std` is negative or not finite.
    """
    if seed < 0:
        raise OptionError(f"seed is {seed}: it must not be negative")
    if not 0 <= std < np.inf:
        raise OptionError(f"std is {std}: it must be finite and not negative")
    shapes = expected_shapes(config)
    if not config.tie_word_embeddings:
        shapes[HEAD] = shapes[EMBEDDING]
    features = outlier_features(config, seed) if outliers else ()
    tensors = {
        name: LazyTensor(name, _array(name, shape, seed, std, features, config))
        for name, shape in shapes.items()
    }
    return Checkpoint(config, MappingProxyType(tensors), Path("random"))


def outlier_features(config: ModelConfig, seed: int) -> tuple[int, ...]:
    """Indices of the residual features that `random_checkpoint(outliers=True)` makes large."""
    random = np.random.default_rng((seed, zlib.crc32(b"outliers")))
    count = min(OUTLIER_FEATURES, config.n_embd)
    return tuple(int(i) for i in random.choice(config.n_embd, count, replace=False))


def _array(
    name: str, shape: Shape, seed: int, std: float, features: tuple[int, ...], config: ModelConfig
) -> RandomArray:
    is_gain = name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight"))
    key = (seed, zlib.crc32(name.encode()))
    if not features:
        return RandomArray(shape, key, float(is_gain), std)
    spread = OUTLIER_SPREAD * std if name in _EMBEDDINGS else std
    columns = _outlier_columns(name, is_gain, features, config)
    return RandomArray(shape, key, float(is_gain), spread, columns)


_EMBEDDINGS = (EMBEDDING, HEAD, "wpe.weight")


def _outlier_columns(
    name: str, is_gain: bool, features: tuple[int, ...], config: ModelConfig
) -> tuple[Columns, ...]:
    if is_gain:
        return (Columns(features, OUTLIER_GAIN, OUTLIER_GAIN),)
    if name == "wpe.weight":
        return (Columns(features, OUTLIER_POSITIONS, OUTLIER_FIRST_POSITION),)
    if name.endswith("mlp.c_proj.bias"):
        share = OUTLIER_MLP / config.n_layer
        return (Columns(features[:1], share, share),)
    return ()


def _set_columns(block: Floats, columns: Columns, start: int) -> None:
    features = list(columns.features)
    block[..., features] = columns.value  # vectors are one block: SIZE_LIMITS < BLOCK_VALUES
    if start == 0 and block.ndim == 2:
        block[0, features] = columns.first
