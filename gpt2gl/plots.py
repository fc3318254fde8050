"""Pictures of what `gpt2gl inspect` finds, as PNG. matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

Array = npt.NDArray[Any]

# More tokens than these on an axis are numbered instead.
MOST_LABELS = 40
DPI = 110
# Inches.
GRID_CELL, GRID_MARGIN = 3.2, 1.0
WEIGHTS, PROBABILITIES = "viridis", "YlGnBu"


def attention_grid(probs: Array, labels: Sequence[str], title: str) -> bytes:
    """Attention [H, T, T] of a layer's heads side by side; tokens at the outer ones."""
    across = math.ceil(math.sqrt(len(probs)))
    down = math.ceil(len(probs) / across)
    # Laid out by hand: to measure some hundred labels takes seconds.
    width, height = GRID_CELL * across + 2 * GRID_MARGIN, GRID_CELL * down + 2 * GRID_MARGIN
    figure = _figure(width, height, layout=None)
    figure.suptitle(title)
    x, y = GRID_MARGIN / width, GRID_MARGIN / height
    figure.subplots_adjust(x, y, 1 - x, 1 - 0.7 * y, 0.08, 0.14)
    grid = figure.subplots(down, across, squeeze=False)
    for head, axes in enumerate(grid.ravel().tolist()):
        if head >= len(probs):
            axes.remove()
            continue
        axes.set_title(f"head {head}", fontsize=9)
        first, last = head % across == 0, head + across >= len(probs)
        image = _square(axes, probs[head], labels, across=last, down=first)
    figure.colorbar(image, cax=figure.add_axes((1 - 0.7 * x, y, 0.2 * x, 1 - 2 * y)))
    return _png(figure)


def square(weights: Array, labels: Sequence[str], title: str) -> bytes:
    """One picture of weights [T, T], queries down and keys across."""
    figure = _figure(8, 7.4)
    axes = figure.add_subplot()
    axes.set_title(title)
    figure.colorbar(_square(axes, weights, labels), ax=axes, fraction=0.045)
    axes.set_ylabel("query")
    axes.set_xlabel("key")
    return _png(figure)


def _square(
    axes: Axes, weights: Array, labels: Sequence[str], *, across: bool = True, down: bool = True
) -> AxesImage:
    """Weights [T, T], those a query cannot see left out, and small ones told apart by a square
    root: in a long text most are."""
    from matplotlib.colors import PowerNorm

    hidden = np.triu(np.ones(weights.shape, bool), 1)
    shown = np.ma.masked_array(weights, hidden)
    norm = PowerNorm(0.5, 0, 1)
    image = axes.imshow(shown, cmap=WEIGHTS, norm=norm, interpolation="nearest")
    for axis, wanted in (("x", across), ("y", down)):
        if wanted:
            _label(axes, axis, labels)
        else:
            getattr(axes, f"set_{axis}ticks")([])
    return image


def lens_table(
    names: Sequence[str], labels: Sequence[str], guesses: Sequence[Sequence[str]], p: Array
) -> bytes:
    """The first guess of every layer (last on top) at every position, coloured by its
    probability [N, P]."""
    figure = _figure(1.0 * len(labels) + 2.4, 0.42 * len(names) + 1.6)
    axes = figure.add_subplot()
    axes.set_title("Logit lens: what each layer would say next")
    image = axes.imshow(p, cmap=PROBABILITIES, vmin=0, vmax=1, aspect="auto", origin="lower")
    for layer, row in enumerate(guesses):
        for column, text in enumerate(row):
            ink = "white" if p[layer, column] > 0.55 else "black"
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": ink}
            axes.text(column, layer, text[:12], parse_math=False, **style)
    axes.set_yticks(range(len(names)), [name.removesuffix(".resid_post") for name in names])
    axes.set_xticks(range(len(labels)))
    axes.set_xticklabels(labels, rotation=60, ha="right", fontsize=8, parse_math=False)
    figure.colorbar(image, ax=axes, fraction=0.03, label="probability")
    return _png(figure)


def norms(values: Array, names: Sequence[str], labels: Sequence[str]) -> bytes:
    """Lengths of the residual stream [N, T] on a logarithmic scale."""
    from matplotlib.colors import LogNorm

    figure = _figure(0.3 * min(len(labels), MOST_LABELS) + 4, 0.3 * len(names) + 2)
    axes = figure.add_subplot()
    axes.set_title("Length of the residual stream")
    low = max(float(values.min()), 1e-6)
    scale = LogNorm(low, max(float(values.max()), 1.01 * low))
    image = axes.imshow(values, cmap=WEIGHTS, norm=scale, aspect="auto", origin="lower")
    axes.set_yticks(range(len(names)), [name.removesuffix(".resid_post") for name in names])
    _label(axes, "x", labels)
    figure.colorbar(image, ax=axes, fraction=0.04)
    return _png(figure)


def token_probabilities(labels: Sequence[str], p: Array, entropies: Array) -> bytes:
    """Probability [T] of each token after those before it (NaN for the first), and the entropy
    [T] of what the model expected there."""
    figure = _figure(0.28 * min(len(labels), MOST_LABELS) + 4, 5)
    upper, lower = figure.subplots(2, 1, sharex=True)
    places = np.arange(len(labels))
    upper.bar(places, np.nan_to_num(p), color="#2e62d6")
    upper.set_ylim(0, 1)
    upper.set_ylabel("probability")
    upper.set_title("Each token, given those before it")
    lower.bar(places, np.nan_to_num(entropies), color="#8a94a8")
    lower.set_ylabel("entropy, bits")
    _label(lower, "x", labels)
    return _png(figure)


def _label(axes: Axes, axis: str, labels: Sequence[str]) -> None:
    """Token texts along an axis, where there is room for them."""
    if len(labels) > MOST_LABELS:
        return
    turned = {"rotation": 90} if axis == "x" else {}
    size = 8 if len(labels) <= MOST_LABELS // 2 else 6
    getattr(axes, f"set_{axis}ticks")(range(len(labels)))
    getattr(axes, f"set_{axis}ticklabels")(labels, fontsize=size, parse_math=False, **turned)


def _figure(
    width: float, height: float, layout: Literal["constrained"] | None = "constrained"
) -> Figure:
    """A figure in inches that no window ever shows."""
    from matplotlib.figure import Figure

    return Figure((min(width, 30), min(height, 30)), dpi=DPI, layout=layout)


def _png(figure: Figure) -> bytes:
    page = io.BytesIO()
    with warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(page, format="png", metadata={"Software": "gpt2gl"})
    return page.getvalue()
