"""Which pass of a token takes how long, and how far each is from what the device could do.

A pass cannot be faster than its texel fetches at the rate the device fetches at from a cache, nor
than the bytes of weights, cached keys and values and result that it must move at the rate of the
memory. The larger of the two is its floor. Both rates are measured, by draws that only fetch.
Where a pass finds its bytes in a cache of the device it can beat the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from gpt2gl.gl.call import Call, Prepared, Step
from gpt2gl.gl.formats import FORMATS
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.tensor import Tensor, WeightGrid
from gpt2gl.gl.timing import METHODS, Rates, measure_rates, timing_method
from gpt2gl.models.gpt2 import GPT2

RESULT_TEXEL_BYTES = 16


@dataclass(frozen=True)
class PassTime:
    """All calls of one pass with one shape in a token.

    Attributes:
        name, shape: the pass, and K -> N of a product or width x height in texels of a result.
        calls: how many there are in a token.
        ms: milliseconds of them all.
        share: of the token.
        fetches, bytes: texel fetches, and bytes that have to move.
        floor_ms: what these take at the measured rates, whichever takes longer.
        floor_share: `floor_ms` over `ms`; 1 is as fast as the device can.
    """

    name: str
    shape: str
    calls: int
    ms: float
    share: float
    fetches: int
    bytes: int
    floor_ms: float
    floor_share: float


@dataclass(frozen=True)
class Profile:
    """One decode step at `context`, pass by pass.

    `method` is "timer queries", or "glFinish" where the driver has none that are sound: then each
    pass includes Python's time and the wait for an idle device, and the total exceeds a token.
    """

    context: int
    method: str
    ms: float
    rates: Rates
    passes: tuple[PassTime, ...]


@dataclass
class _Group:
    calls: int = 0
    seconds: float = 0.0
    fetches: int = 0
    bytes: int = 0


def profile_decode(model: GPT2, n_past: int, token: int, repeats: int) -> Profile:
    """Time the decode plan pass by pass on the cache as it is; slowest groups first.

    Raises:
        DeviceError: the GPU has no room for the 128 MB that the rates are measured on.
    """
    device, plan, step = model.device, model.plan("decode"), Step(n_past, 1)
    method = timing_method(device)
    rates = measure_rates(device)
    device.set_step(step, (token,))
    METHODS[method](device, plan, step, 1)  # not counted
    runs = METHODS[method](device, plan, step, repeats)
    device.check()
    seconds = [median(times) for times in zip(*runs, strict=True)]
    groups = _grouped(plan, seconds, step, device.fetches_per_draw)
    total = sum(seconds)
    rows = (_pass_time(*key, group, total, rates) for key, group in groups.items())
    passes = tuple(sorted(rows, key=lambda row: -row.ms))
    return Profile(n_past + 1, method, 1e3 * total, rates, passes)


def _grouped(
    plan: Iterable[Prepared], seconds: Iterable[float], step: Step, budget: int
) -> dict[tuple[str, str], _Group]:
    groups: dict[tuple[str, str], _Group] = {}
    for prepared, each in zip(plan, seconds, strict=True):
        _, variant, bands = prepared.bands(step, budget)
        texels = sum(band.width * band.height for band in bands)
        call = prepared.call
        group = groups.setdefault((call.operation.name, shape_of(prepared, step, budget)), _Group())
        group.calls += 1
        group.seconds += each
        group.fetches += sum(band.fetches for band in bands)
        written = RESULT_TEXEL_BYTES * len(call.targets[variant]) * texels
        group.bytes += written + bytes_read(call, step)
    return groups


def _pass_time(name: str, shape: str, group: _Group, total: float, rates: Rates) -> PassTime:
    floor = max(group.fetches / rates.fetches_per_s, group.bytes / rates.bytes_per_s)
    return PassTime(
        name=name,
        shape=shape,
        calls=group.calls,
        ms=1e3 * group.seconds,
        share=group.seconds / total,
        fetches=group.fetches,
        bytes=group.bytes,
        floor_ms=1e3 * floor,
        floor_share=floor / group.seconds,
    )


def shape_of(prepared: Prepared, step: Step, budget: int) -> str:
    """K -> N of a product, and of others the texels that they draw."""
    defines = prepared.call.defines
    if "K4" in defines:
        return f"{_number(defines['K4']) * 4} -> {_number(defines['N4']) * 4}"
    bands = prepared.bands(step, budget).bands
    return f"{max((b.width for b in bands), default=0)} x {sum(b.height for b in bands)}"


# Bytes ------------------------------------------------------------------------------------------


def bytes_read(call: Call, step: Step) -> int:
    """Bytes of weights, or of cached keys or values, that a call cannot do without.

    Activations are left out: they are few, and were drawn just before.
    """
    count = BYTES_READ.get(call.operation.name)
    return count(call, step) if count else 0


def _of_columns(call: Call, step: Step) -> int:
    """The columns of the matrix that a product reads, all of K, and their scales."""
    weights = call.inputs["weights"]
    assert isinstance(weights.grid, WeightGrid)
    columns4 = _number(call.defines["N4"])
    lines = columns4 * 4 // LAYOUTS[str(call.defines["LAYOUT"])].n_per_texel
    scales = call.inputs.get("scales")
    scale_bytes = 0 if scales is None else columns4 * scales.rows.rows * _texel_bytes(scales)
    return lines * weights.grid.texels_k * _texel_bytes(weights) + scale_bytes


def _of_half_the_cache(call: Call, step: Step) -> int:
    """The keys, or the values, of all positions so far."""
    kv = call.inputs["kv"]
    return step.n_keys * kv.rows.columns4 * _texel_bytes(kv) // 2


BYTES_READ: dict[str, Callable[[Call, Step], int]] = {
    "linear": _of_columns,
    "attention_scores": _of_half_the_cache,
    "attention_mix": _of_half_the_cache,
}


def _texel_bytes(tensor: Tensor) -> int:
    return FORMATS[tensor.format].texel_bytes


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
