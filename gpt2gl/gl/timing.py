"""Time of passes on the device, its fetch and memory rates, and Python's share of a token.

For `gpt2gl bench`; nothing of the engine depends on this module.
"""

from __future__ import annotations

import copy
import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from OpenGL import GL

from gpt2gl.gl.call import Call, Pass, Prepared, Region, Step
from gpt2gl.gl.calls import _entry_point
from gpt2gl.gl.device import Device
from gpt2gl.gl.pool import nbytes
from gpt2gl.gl.storage import allocate_rows, release, row_attachments, upload_rows
from gpt2gl.gl.tensor import Tensor

_QUERY_CALLS: dict[str, tuple[Any, ...]] = {
    "glQueryCounter": (ctypes.c_uint, ctypes.c_uint),
    "glGetQueryiv": (ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p),
    # PyOpenGL's own wrapper of this one is wrong for arrays of 64-bit numbers.
    "glGetQueryObjectui64v": (ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p),
}
# Shorter than this a measurement by glFinish is mostly of glFinish.
LONG_ENOUGH = 0.02
# How long the device is kept busy while Python hands over the passes that are timed.
HEAD_START = 0.05
# Timer queries are believed if they are within this factor of glFinish on a long draw.
AGREEMENT = 1.5


@contextmanager
def silenced(device: Device) -> Iterator[None]:
    """Within this block the device draws nothing, so that only Python takes time.

    The entry points of the per-token path are replaced by a function of the interpreter that does
    nothing, called in the same way: the conversion of arguments is Python's time too.
    """
    calls = device._gl
    nothing = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value
    silent = copy.copy(calls)
    for name, function in vars(calls).items():
        setattr(silent, name, type(function)(nothing))
    device._gl = silent
    try:
        yield
    finally:
        device._gl = calls


# Rates ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rates:
    """What fragment shaders of this device reach: RGBA float texels a second where a cache holds
    them, and bytes a second from memory."""

    fetches_per_s: float
    bytes_per_s: float


_PROBE = Pass("fetch_rate", "fetch_rate.frag", ("x",))
FETCHES = 32  # of one fragment
SMALL = (32, 32)  # rows and texels a row: 16 KB, held by any cache
LARGE = (4096, 2048)  # 128 MB, held by none
_FRAGMENTS = LARGE[1] // FETCHES
# Which columns a fragment takes: neighbours of its own, or every so many. Devices differ in what
# they like, and a floor is what the better of the two reaches.
PATTERNS = ((f"at.x * {FETCHES}", 1), ("at.x", _FRAGMENTS))


def measure_rates(device: Device) -> Rates:
    """Measure by draws that only fetch; takes about a second and, for that time, 128 MB.

    Raises:
        DeviceError: the GPU has no room for the texture.
    """
    small, large = _fastest(device, SMALL), _fastest(device, LARGE)
    fetches = LARGE[0] * LARGE[1]
    return Rates(fetches / small, 16 * fetches / large)


def _fastest(device: Device, shape: tuple[int, int]) -> float:
    """Seconds of the probe over a texture, by the better pattern."""
    seconds = []
    for pattern in PATTERNS:
        with _probe(device, shape, pattern) as prepared:
            seconds.append(_seconds_a_draw(device, prepared))
    return min(seconds)


@contextmanager
def _probe(
    device: Device, shape: tuple[int, int], pattern: tuple[str, int] = PATTERNS[0]
) -> Iterator[Prepared]:
    """The probe over random texels; its textures are deleted afterwards."""
    rows, texels = shape
    block = np.random.default_rng(0).standard_normal((32, 4 * texels), np.float32)
    x = upload_rows(device, np.tile(block, (rows // 32, 1)), "probe")
    out = allocate_rows(device, LARGE[0], 4 * _FRAGMENTS, "probe")
    try:
        yield device.prepare(_probe_call(x, out, pattern))
    finally:
        release(device, x, out)
        device.framebuffers.forget(set(device.pool.trim()))


def _probe_call(x: Tensor, out: Tensor, pattern: tuple[str, int]) -> Call:
    first, stride = pattern
    defines = {
        "COUNT": FETCHES,
        "UNROLL": 8,
        "FIRST": f"({first})",
        "STRIDE": stride,
        "X_GRID": x.grid.glsl(),
        "X_ROWS": x.rows.rows,
        "SPLITS": 1,
    }
    region = Region(0, 0, out.rows.width, out.rows.height)
    return Call(_PROBE, {"x": x}, (row_attachments(out),), defines, region, FETCHES, out)


def _seconds_a_draw(device: Device, prepared: Prepared) -> float:
    """Best of three, each of as many draws as take long enough."""
    draws, best = 1, 0.0
    while best < LONG_ENOUGH:
        draws *= 2
        best = min(_wall(device, [prepared] * draws, Step(0, 1)) for _ in range(3))
    return best / draws


def _wall(device: Device, plan: Sequence[Prepared], step: Step) -> float:
    """Seconds from an idle device to an idle device."""
    device.finish()
    start = time.perf_counter()
    _draw(device, plan, step)
    device.finish()
    return time.perf_counter() - start


def _draw(device: Device, plan: Sequence[Prepared], step: Step) -> None:
    for _ in device.draw(plan, step):
        pass


# Passes -----------------------------------------------------------------------------------------

# For each repeat, the seconds of each pass.
Runs = list[list[float]]


def by_finish(device: Device, plan: Sequence[Prepared], step: Step, repeats: int) -> Runs:
    """Seconds of each pass with the device idle before and after; includes Python's own time."""
    return [[_wall(device, (prepared,), step) for prepared in plan] for _ in range(repeats)]


def by_timer_queries(device: Device, plan: Sequence[Prepared], step: Step, repeats: int) -> Runs:
    """Seconds of each pass by the device's own clock.

    The passes queue up behind long draws, since a device that waits for the next draw would
    count the waiting.
    """
    runs = []
    with _probe(device, LARGE) as probe:
        head_start = [probe] * (1 + int(HEAD_START / _seconds_a_draw(device, probe)))
        for _ in range(repeats):
            _draw(device, head_start, step)
            runs.append(_queried(device, plan, step))
    return runs


def _queried(device: Device, plan: Sequence[Prepared], step: Step) -> list[float]:
    stamp = _entry_point("glQueryCounter", _QUERY_CALLS["glQueryCounter"])
    queries = [int(name) for name in np.atleast_1d(GL.glGenQueries(2 * len(plan)))]
    try:
        for i, prepared in enumerate(plan):
            stamp(queries[2 * i], int(GL.GL_TIMESTAMP))
            _draw(device, (prepared,), step)
            stamp(queries[2 * i + 1], int(GL.GL_TIMESTAMP))
        times = [_nanoseconds(query) for query in queries]
    finally:
        GL.glDeleteQueries(len(queries), queries)
    return [(end - begin) / 1e9 for begin, end in zip(times[::2], times[1::2], strict=True)]


def _nanoseconds(query: int) -> int:
    """A timestamp; waits until the device has passed it."""
    read = _entry_point("glGetQueryObjectui64v", _QUERY_CALLS["glGetQueryObjectui64v"])
    value = ctypes.c_uint64()
    read(query, int(GL.GL_QUERY_RESULT), ctypes.addressof(value))
    return value.value


TimePasses = Callable[[Device, Sequence[Prepared], Step, int], Runs]
METHODS: dict[str, TimePasses] = {"timer queries": by_timer_queries, "glFinish": by_finish}


def timing_method(device: Device) -> str:
    """The row of `METHODS` to use: timer queries where the driver has them and they are sound.

    Some drivers draw later than they stamp. So queries must agree with glFinish on a long draw.
    """
    if not _has_timestamps(device):
        return "glFinish"
    with _probe(device, LARGE) as probe:
        plan, step = [probe], Step(0, 1)
        _draw(device, plan, step)
        finished = _wall(device, plan, step)
        (queried,) = _queried(device, plan, step)
    agree = finished / AGREEMENT <= queried <= finished * AGREEMENT
    return "timer queries" if agree else "glFinish"


def _has_timestamps(device: Device) -> bool:
    if device.limits.glsl != "330 core":  # core in OpenGL 3.3, an extension in ES
        return False
    bits = ctypes.c_int()
    ask = _entry_point("glGetQueryiv", _QUERY_CALLS["glGetQueryiv"])
    ask(int(GL.GL_TIMESTAMP), int(GL.GL_QUERY_COUNTER_BITS), ctypes.addressof(bits))
    return bits.value > 0


# Memory -----------------------------------------------------------------------------------------


def texture_bytes(device: Device) -> int:
    """Bytes of every texture that exists, those that wait in the pool included."""
    pool = device.pool
    waiting = sum(nbytes(shape) * len(names) for shape, names in pool._free.items())
    return waiting + pool.bytes_by_use.total()
