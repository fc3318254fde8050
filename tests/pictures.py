"""Pictures as NumPy would draw them, and views that are checked for what they leave behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.models.gpt2_history import USE
from gpt2gl.views import Views
from tests.conftest import MakeDevice, pending_errors
from tests.engine import Floats
from tests.models import checkpoint, config, encoded

Pixels = NDArray[np.uint8]
# 1/255 for rounding, and one for a driver's pow, exp and log.
CLOSE = 2

# Colours -------------------------------------------------------------------------------------

VIRIDIS = np.array(
    [
        *([0.27446, 0.00577, 0.33266], [0.10771, 1.39647, 1.38677], [-0.32724, 0.21481, 0.09198]),
        *([-4.59993, -5.75824, -19.29181], [6.20374, 14.15396, 56.6563]),
        *([4.75179, -13.74944, -65.32097], [-5.43208, 4.64157, 26.27211]),
    ]
)


def sequential(values: Floats) -> Floats:
    powers = np.clip(values, 0, 1)[..., None] ** np.arange(7)
    return np.clip(powers @ VIRIDIS, 0, 1)


def diverging(values: Floats) -> Floats:
    low, high = [(0.16, 0.47, 0.80), (0.75, 0.90, 1.00)], [(0.80, 0.33, 0.12), (1.00, 0.90, 0.70)]
    sides = [[*low[::-1], (0.08, 0.08, 0.10), *high]]
    stops = np.array(sides[0])
    t = np.clip(values, -1, 1)
    at = [np.interp(t, np.linspace(-1, 1, 5), stops[:, i]) for i in range(3)]
    return np.stack(at, axis=-1)


def opaque(colours: Floats, shown: NDArray[np.bool_]) -> Pixels:
    pixels = np.concatenate([colours, np.ones((*shown.shape, 1))], axis=-1)
    return np.rint(255 * np.where(shown[..., None], pixels, 0)).astype(np.uint8)


def assert_pixels(found: Pixels, wanted: Pixels) -> None:
    assert found.shape == wanted.shape
    worst = np.abs(found.astype(int) - wanted.astype(int)).max()
    assert worst <= CLOSE, worst


# Pooling -------------------------------------------------------------------------------------


def pooled(values: Floats, pool: int, side: int) -> Floats:
    """[T, T] with -inf where nothing is seen -> [side, side], the largest of pool x pool."""
    padded = np.full((side * pool, side * pool), -np.inf)
    padded[: len(values), : len(values)] = values
    grown: Floats = padded.reshape(side, pool, side, pool).max(axis=(1, 3))
    return grown


def visible(values: Floats) -> Floats:
    return np.where(np.tri(len(values), dtype=bool), values, -np.inf)


def weights_picture(probs: Floats, pool: int, side: int) -> Pixels:
    top = pooled(visible(probs), pool, side)
    return opaque(sequential(np.sqrt(np.maximum(top, 0))), np.isfinite(top))


# The model -----------------------------------------------------------------------------------

Open = Callable[..., tuple[Capture, Views]]


def loaded(make_device: MakeDevice) -> GPT2:
    """A small model that has made all textures of its plans."""
    model = GPT2.load(make_device(), checkpoint(config(n_positions=300)), "rgba32f")
    encoded(model, [1])
    encoded(model, [1, 2])
    model.trace([1])
    return model


def opening(model: GPT2) -> Iterator[Open]:
    """Starts a capture with views of it; afterwards checks that nothing of them is left."""
    made: list[tuple[Capture, Views]] = []
    model.device.trim()
    textures = model.device.pool.total

    def make(*kinds: str, limit: int = 1 << 30) -> tuple[Capture, Views]:
        model.capture = Capture(model, kinds, memory_limit=limit)
        made.append((model.capture, Views(model)))
        return made[-1]

    yield make
    for capture, views in made:
        pictures = [view.picture.texture for view in views._views]
        views.close()
        views.close()
        capture.close()
        assert not any(GL.glIsTexture(name) for name in pictures)
    model.capture = None
    model.device.trim()
    assert model.device.pool.total == textures
    assert model.device.pool.bytes_by_use[USE] == 0
    assert pending_errors() == []


def traced(model: GPT2, tokens: list[int]) -> Any:
    capture, model.capture = model.capture, None
    found = model.trace(tokens)
    model.capture = capture
    return found


# Heat-maps -----------------------------------------------------------------------------------


def scaled(values: Floats, scale: str, limit: float | None, knee: float = 1.0) -> Floats:
    size = np.abs(values)
    top = size.max(axis=1, keepdims=True) if scale == "row" else limit or size.max()
    part = size / top
    if scale == "symlog":
        part = np.log1p(size / knee) / np.log1p(top / knee)
    result: Floats = np.sign(values) * np.minimum(part, 1)
    return result


def lines(values: Floats, height: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Padded below to a picture's height, and which pixels are of the text."""
    shown = np.arange(height)[:, None] < np.full(values.shape[1], len(values))
    return np.pad(values, ((0, height - len(values)), (0, 0))), shown
