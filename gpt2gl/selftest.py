"""Does this driver compute what GPT-2 should? A tiny model in every layout against NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpt2gl.config import ModelConfig
from gpt2gl.errors import DeviceError
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.tolerances import Difference, compare, visible_keys
from gpt2gl.weights import random_checkpoint
from gpt2gl_reference import gpt2_numpy

# Small, with sizes that are no multiple of anything, and more positions than one row group.
TINY = ModelConfig(vocab_size=67, n_positions=24, n_embd=20, n_layer=1, n_head=2)
TOKENS = (5, 66, 0, 31, 7, 7, 12, 40, 3, 21, 58)


@dataclass(frozen=True)
class LayoutResult:
    """What the self-test found for one layout; `reason` is empty where it passed."""

    layout: str
    reason: str

    @property
    def ok(self) -> bool:
        return not self.reason


def check_layouts(context: Context) -> list[LayoutResult]:
    """Run the tiny model in every layout through all three plans, against NumPy."""
    checkpoint = random_checkpoint(TINY, seed=1, std=0.2)
    weights = {name: tensor.read() for name, tensor in checkpoint.tensors.items()}
    expected = gpt2_numpy.forward(weights, TINY, TOKENS)
    return [LayoutResult(name, _check(context, name, expected)) for name in LAYOUTS]


def _check(context: Context, layout: str, expected: dict[str, np.ndarray]) -> str:
    checkpoint = random_checkpoint(TINY, seed=1, std=0.2)
    try:
        with Device(context) as device:
            model = GPT2.load(device, checkpoint, layout)
            found = model.trace(TOKENS)
            for name, values in expected.items():
                actual = visible_keys(name, found[name])
                _require(name, compare(layout, name, actual, visible_keys(name, values)))
            last = expected["logits"][-1]
            for plan, start in (("prefill", 0), ("decode", len(TOKENS) - 1)):
                for _ in model.encode(TOKENS, start):
                    pass
                _require(f"{plan} logits", compare(layout, "logits", model.logits(), last))
    except DeviceError as error:
        return str(error)
    return ""


def _require(name: str, difference: Difference) -> None:
    if not difference.ok:
        raise DeviceError(
            f"{name} is wrong: NMSE {difference.nmse:.1e}, limit {difference.limit.nmse:.0e}"
        )
