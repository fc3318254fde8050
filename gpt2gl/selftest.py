"""Does this driver compute what GPT-2 should? A tiny model against NumPy, pass by pass.

Before a model is loaded its layout and tuning are tried with a model of a few thousand weights,
through the three plans that the real one is drawn by: plain, prefill and decode. Weights are such
that the layout holds them exactly, so that quantising hides no mistake, and the text is longer
than one chunk of keys. What this does not cover: programs are compiled for a model's sizes, so the
real model's have other constants, and its textures may fold into more layers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpt2gl.config import ModelConfig
from gpt2gl.errors import DeviceError
from gpt2gl.gl.call import Step
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import LAYOUTS, PRECISIONS
from gpt2gl.gl.probe import probe_float_targets
from gpt2gl.gl.tuning import Tuning
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_trace import TraceReader
from gpt2gl.models.gpt2_weights import WIDER
from gpt2gl.tolerances import visible_keys
from gpt2gl.weights import Checkpoint, random_checkpoint
from gpt2gl.weights.arrays import Index, LazyTensor
from gpt2gl_reference import gpt2_numpy

Floats = NDArray[np.float32]

# Small, with sizes that are no multiple of anything, and more positions than a chunk of 64 keys.
TINY = ModelConfig(vocab_size=67, n_positions=72, n_embd=20, n_layer=1, n_head=2)
TOKENS = tuple(np.random.default_rng(0).integers(0, TINY.vocab_size, 68).tolist())
# The plain plan is tried with a row group and a part of one, decoding with two tokens, of which
# the second reads what the first has written.
N_PLAIN, N_DECODED = 11, 2
STD = 0.2
# Float32 sums in another order come near 1e-13, values cut to half precision to 1e-8.
MAX_NMSE = 1e-9

# From the most packed to the plainest; what fails is replaced by one further on.
SAFER = ("int4", "int8", "f16", "rgba32f", "r32f")
_NAMES = {layout: precision for precision, layout in PRECISIONS.items()}


class Choice(NamedTuple):
    """The layout and tuning to load with, and a line on each that was taken out."""

    layout: str
    tuning: Tuning
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class LayoutResult:
    """What the self-test found for one layout; `reason` is empty where it passed."""

    layout: str
    reason: str

    @property
    def ok(self) -> bool:
        return not self.reason


def choose_layout(
    context: Context, layout: str, tuning: Tuning
) -> Generator[Choice | None, None, None]:
    """Try a layout and tuning on this driver; where they fail, simpler tuning, then safer layouts.

    Yields None between bounded steps, and last the choice.

    Raises:
        DeviceError: all fail; names renderer, pass and error of the layout that was asked for.
    """
    failures: list[str] = []
    for name in SAFER[SAFER.index(layout) :]:
        for each in dict.fromkeys((tuning, plain(tuning))):
            try:
                yield from load_check_steps(context, name, each)
            except DeviceError as error:
                failures.append(str(error))
            else:
                yield Choice(name, each, _taken_out(failures, layout, name))
                return
    raise DeviceError(
        f"{failures[0]}; all other layouts fail as well: update the graphics driver, or set"
        " LIBGL_ALWAYS_SOFTWARE=1 GALLIUM_DRIVER=llvmpipe"
    )


def plain(tuning: Tuning) -> Tuning:
    """The tuning that asks least of a driver: no uniform blocks filled by it, no blending."""
    return replace(tuning, x_blocks=False, split_fragments=0)


def check_layouts(context: Context, tuning: Tuning | None = None) -> list[LayoutResult]:
    """Try every layout."""
    return [LayoutResult(name, _failure(context, name, tuning)) for name in LAYOUTS]


def load_check_steps(
    context: Context, layout: str, tuning: Tuning | None = None
) -> Iterator[None]:
    """Run the tiny model in a layout through all three plans, yielding between bounded steps.

    Raises:
        DeviceError: a pass does not compile or its result is wrong; names renderer, pass, error.
    """
    with Device(context, tuning=tuning) as device:
        renderer = device.limits.renderer
        try:
            probe_float_targets(device)
            yield
            device.take()
            for _ in _check(device, layout):
                yield
                device.take()
        except DeviceError as error:
            text = str(error)
            named = text if text.startswith(renderer) else f"{renderer}: {text}"
            raise DeviceError(f"{named} (precision {_NAMES[layout]})") from error


def _failure(context: Context, layout: str, tuning: Tuning | None) -> str:
    try:
        for _ in load_check_steps(context, layout, tuning):
            pass
    except DeviceError as error:
        return str(error)
    return ""


def _taken_out(failures: Sequence[str], wanted: str, used: str) -> tuple[str, ...]:
    if not failures:
        return ()
    instead = "drawn in a plainer way" if wanted == used else f"{_NAMES[used]} is used instead"
    return (f"{failures[0]}; {instead}",)


# The three plans --------------------------------------------------------------------------------


def _check(device: Device, layout: str) -> Iterator[None]:
    checkpoint = exact_checkpoint(layout)
    weights = {name: tensor.read() for name, tensor in checkpoint.tensors.items()}
    expected = gpt2_numpy.forward(weights, TINY, TOKENS)
    model = GPT2.load(device, checkpoint, layout)
    yield
    n_prompt = len(TOKENS) - N_DECODED
    steps = [("trace", step) for step in _chunks(N_PLAIN, model.chunk)]
    steps += [("prefill", step) for step in _chunks(n_prompt, model.chunk)]
    steps.append(("prefill_head", steps[-1][1]))
    steps += [("decode", Step(n_past, 1)) for n_past in range(n_prompt, len(TOKENS))]
    for plan in dict(steps):
        # One by one, where the plan would compile all its passes in one step.
        for call in model._calls(plan):
            device.prepare(call)
            yield
    for plan, step in steps:
        yield from _check_plan(model, plan, step, expected)


def _chunks(n_tokens: int, size: int) -> list[Step]:
    """As `GPT2.encode` cuts a text."""
    return [Step(first, min(size, n_tokens - first)) for first in range(0, n_tokens, size)]


def _check_plan(
    model: GPT2, plan: str, step: Step, expected: dict[str, Floats]
) -> Iterator[None]:
    """Draw a plan's passes one by one, and compare every tensor that has a name."""
    device = model.device
    device.set_step(step, TOKENS[step.n_past : step.n_keys])
    drawn: list[str] = []  # since the last tensor that was right
    for prepared in model.plan(plan):
        call = prepared.call
        drawn.append(call.operation.name)
        yield from device.draw((prepared,), step)
        found: dict[str, Floats] = {}
        reader = TraceReader(model, step.n_keys, frozenset(expected), found.__setitem__)
        reader.on_pass(call.label, call.output, step)
        for name, values in found.items():
            _require(plan, name, drawn, values, expected[name], step)
        drawn = [] if found else drawn
    device.check()
    if plan in ("decode", "prefill_head"):
        wanted = expected["logits"][step.n_keys - 1 : step.n_keys]
        _compare(plan, "logits", drawn, model.logits()[None], wanted)


def _require(
    plan: str, name: str, drawn: Sequence[str], found: Floats, expected: Floats, step: Step
) -> None:
    """Compare the step's rows [..., T, n] of a tensor; of scores only the step's keys [H, T, S]."""
    rows = slice(step.n_past, step.n_keys)
    if found.ndim == 3:
        keys = slice(0, step.n_keys)
        found, expected = found[:, :, keys], expected[:, : step.n_keys, keys]
        found, expected = visible_keys(name, found), visible_keys(name, expected)
    _compare(plan, name, drawn, found[..., rows, :], expected[..., rows, :])


def _compare(
    plan: str, name: str, drawn: Sequence[str], found: Floats, expected: Floats
) -> None:
    error = np.square(found.astype(np.float64) - expected).sum() / np.square(expected).sum()
    if error <= MAX_NMSE:  # false for NaN, as it must be
        return
    passes = " or ".join(dict.fromkeys(drawn))
    what = f"has an error of {error:.1e}" if np.isfinite(error) else "is not a number"
    raise DeviceError(f"pass {passes} draws wrong results: {name} of the {plan} plan {what}")


# Weights that a layout holds exactly ------------------------------------------------------------


@dataclass(frozen=True)
class _Array:
    """An array in memory, as a checkpoint wants it."""

    values: Floats
    dtype: str = "F32"
    convertible: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def floats(self, index: Index) -> Floats:
        return self.values[index]


def exact_checkpoint(layout: str) -> Checkpoint:
    """The tiny model with random weights on the layout's own grid."""
    random = random_checkpoint(TINY, seed=1, std=STD)
    fold = LAYOUTS[layout].fold_ln
    tensors = {}
    for name, tensor in random.tensors.items():
        values = tensor.read()
        if fold and name.endswith(("ln_1.weight", "ln_2.weight")):
            values = np.ones_like(values)  # a gain that is folded in would leave the grid
        elif values.ndim == 2 and name != "wpe.weight":
            along_n = name == "wte.weight"  # stored [N, K], all others [K, N]
            grid = _GRIDS[_layout_of(layout, name)]
            values = grid(values.T if along_n else values)
            values = values.T if along_n else values
        tensors[name] = LazyTensor(name, _Array(np.ascontiguousarray(values)))
    return replace(random, tensors=MappingProxyType(tensors))


def _layout_of(layout: str, name: str) -> str:
    """The layout of a matrix, which can be a wider one than the model's."""
    kind = name.split(".", 2)[-1].removesuffix(".weight")
    return WIDER.get(layout, {}).get(kind, layout)


def _on_grid(largest: int, step: float) -> Callable[[Floats], Floats]:
    """Whole numbers of `step`; every eighth row of K at the end of the range, a negative one, from
    which the layouts take their scales."""

    def rounded(w: Floats) -> Floats:
        q: Floats = np.clip(np.rint(w / np.float32(step)), -largest, largest - 1)
        k, n = np.indices(w.shape)
        q[(k + n) % 8 == 0] = -largest
        values: Floats = q * np.float32(step)
        return values

    return rounded


def _same(w: Floats) -> Floats:
    return w


_GRIDS: dict[str, Callable[[Floats], Floats]] = {
    "r32f": _same,
    "rgba32f": _same,
    "f16": _on_grid(128, 2**-9),
    "int8": _on_grid(127, 2**-9),
    "int4": _on_grid(8, 2**-5),
}
