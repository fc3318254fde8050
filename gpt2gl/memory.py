"""What a model needs on the GPU, from its config alone; and a refusal before any of it is sent."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpt2gl.config import ModelConfig
from gpt2gl.errors import DeviceError
from gpt2gl.gl.layouts import LAYOUTS, PRECISIONS, Layout
from gpt2gl.gl.tensor import ceil_div, weight_grid
from gpt2gl.weights.names import expected_shapes

# Rows that a prompt is encoded by at a time.
PREFILL_ROWS = 128
FLOAT = 4


def needed_bytes(config: ModelConfig, layout: Layout, untied: bool = False) -> int:
    """Bytes of the textures of a model: weights, cache of keys and values, activations.

    Args:
        untied: whether the output matrix is another than the embedding.
    """
    weights = sum(_matrix_bytes(layout, k, n) for k, n in _matrices(config, untied))
    vectors = sum(math.prod(s) for s in expected_shapes(config).values() if len(s) == 1)
    positions = config.n_positions * config.n_embd
    heads = 4 * ceil_div(config.head_dim, 4) * config.n_head
    cache = 2 * config.n_layer * config.n_positions * heads
    return weights + FLOAT * (vectors + positions + cache + _activations(config, heads))


def require_room(
    config: ModelConfig,
    layout: Layout,
    *,
    untied: bool,
    max_side: int,
    max_layers: int,
    capacity: int | None,
) -> None:
    """Refuse a model that cannot fit on the device.

    Args:
        max_side, max_layers: the device's limits of textures.
        capacity: bytes of memory that textures can have; None where the driver does not say.

    Raises:
        DeviceError: gives both numbers, and the precisions that would fit.
    """
    for k, n in _matrices(config, untied):
        weight_grid(*_texels(layout, k, n), max_side, max_layers)
    needed = needed_bytes(config, layout, untied)
    if capacity is None or needed <= capacity:
        return
    sizes = {name: needed_bytes(config, LAYOUTS[row], untied) for name, row in PRECISIONS.items()}
    fitting = [name for name, size in sizes.items() if size <= capacity]
    advice = f"choose --precision {' or '.join(fitting)}" if fitting else "choose a smaller model"
    raise DeviceError(
        f"the model needs {needed / 1e6:.0f} MB of GPU memory in this precision and the driver"
        f" has {capacity / 1e6:.0f} MB in all: {advice}"
    )


def _matrices(config: ModelConfig, untied: bool) -> Iterator[tuple[int, int]]:
    """[K, N] of every weight matrix that is stored in a layout."""
    for name, shape in expected_shapes(config).items():
        if len(shape) == 2 and not name.endswith(("wte.weight", "wpe.weight")):
            yield shape[0], shape[1]
    for _ in range(2 if untied else 1):
        yield config.n_embd, config.vocab_size


def _texels(layout: Layout, k: int, n: int) -> tuple[int, int]:
    texels_n = ceil_div(n, 4) * (4 // layout.n_per_texel)
    return texels_n, ceil_div(k, layout.k_multiple) * layout.k_multiple // layout.k_per_texel


def _matrix_bytes(layout: Layout, k: int, n: int) -> int:
    components = 1 if layout.format == "r32f" else 4  # of 32 bits in every format
    return 4 * components * math.prod(_texels(layout, k, n)) + FLOAT * layout.groups(k) * n


def _activations(config: ModelConfig, heads: int) -> int:
    """Values in the largest plan's scratch tensors: a few rows of each width, and the scores."""
    widths = 3 * config.n_embd + 2 * heads + config.n_inner
    scores = config.n_head * config.n_positions
    return PREFILL_ROWS * (widths + scores) + config.vocab_size
