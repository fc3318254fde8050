"""How far a tensor may be from its reference: the one table, with the reason for each limit.

NMSE is sum((a - b)^2) / sum(b^2), the measure of llama.cpp's `test-backend-ops`. NaN never passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tolerance:
    """Limits for the tensors whose name matches `pattern`; None where a metric has no limit."""

    pattern: str
    nmse: float
    max_abs: float | None
    reason: str


@dataclass(frozen=True)
class Difference:
    """What a comparison found."""

    nmse: float
    max_abs: float
    limit: Tolerance

    @property
    def ok(self) -> bool:
        within = self.nmse <= self.limit.nmse  # false for NaN, as it must be
        return within and (self.limit.max_abs is None or self.max_abs <= self.limit.max_abs)


_FP32 = (
    Tolerance("logits", 1e-7, 1e-3, "a thousand float32 roundings, in another order of summation"),
    Tolerance("*", 1e-7, None, "float32 sums in another order; measured near 1e-12"),
)
TOLERANCES: dict[str, tuple[Tolerance, ...]] = {
    "r32f": _FP32,
    "rgba32f": _FP32,
    "f16": (Tolerance("*", 1e-4, None, "weights rounded to 11 bits; measured near 1e-6"),),
    "int8": (
        Tolerance("*.scores", 0.05, None, "differences of large products, 8-bit q and k weights"),
        Tolerance("*", 0.02, None, "weights rounded to 8 bits with one scale per column"),
    ),
    "int4": (
        Tolerance("*", 0.5, None, "4-bit weights: a check of the mapping, not of the quality"),
    ),
}


def tolerance(layout: str, name: str) -> Tolerance:
    """The first row of a layout's table that matches a tensor's name."""
    return next(row for row in TOLERANCES[layout] if fnmatchcase(name, row.pattern))


def compare(layout: str, name: str, actual: NDArray[Any], expected: NDArray[Any]) -> Difference:
    """Compare a tensor with its reference, both of the same shape.

    Raises:
        ValueError: the shapes differ.
    """
    if actual.shape != expected.shape:
        raise ValueError(f"{name}: shape {actual.shape} against {expected.shape}")
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    error = a - b
    norm = float(np.square(b).sum())
    nmse = float(np.square(error).sum()) / (norm if norm > 0 else 1.0)
    return Difference(nmse, float(np.abs(error).max(initial=0.0)), tolerance(layout, name))


def visible_keys(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Scores with the places above the diagonal set to 0: what a query cannot see has no meaning
    there, and references fill it differently."""
    return np.tril(values) if name.endswith(".attn.scores") else values
