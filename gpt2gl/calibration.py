"""Which way of drawing suits this device: measured once, remembered for each driver.

Candidates are timed on what a token mostly is, a chain of one-row products that depend on each
other, with the LayerNorm in between. How much one draw may do comes from the fetch rate of
products of one row and of many. Numbers, not zeros, since multiplying by zero takes less power
and on some devices less time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpt2gl.errors import CacheError, OptionError
from gpt2gl.gl.call import Call, Prepared, Step
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import Device
from gpt2gl.gl.faults import device_errors
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.limits import Limits, query
from gpt2gl.gl.storage import allocate_rows, upload_matrix, upload_rows
from gpt2gl.gl.tensor import Tensor, single_row_shape
from gpt2gl.gl.tuning import Tuning, default_tuning
from gpt2gl.hub.paths import cache_root, make_folder
from gpt2gl.passes import Dims, Norm, Passes
from gpt2gl.small_files import read_object, write_whole

# Part of the key: to be raised when passes change so much that old measurements are void.
VERSION = 1

N_EMBD = 768
DIMS = Dims(N_EMBD, 12, 64, 1, 1e-5)
TIMED_LAYOUTS = ("int8", "rgba32f")
MANY_ROWS = 32
PAIRS = 4  # of products in a chain
REPEATS = 3
# Another choice must be this much faster than the default, so that noise does not decide.
ADVANTAGE = 0.9

DRAW_SECONDS = 0.004
UNBOUNDED = 1 << 62
MIN_FETCHES, MAX_FETCHES = 100_000, 1_000_000_000
MAX_SPLIT_FRAGMENTS = 1 << 20


def candidates(limits: Limits) -> list[Tuning]:
    """The default of the device's kind, then the alternatives worth timing."""
    default = default_tuning(limits)
    others = [(False, 0)] if limits.is_software else [(True, 0), (False, 1536), (False, 6144)]
    if not limits.blends_floats:
        others = [each for each in others if each[1] == 0]
    return [default, *(replace(default, x_blocks=x, split_fragments=n) for x, n in others)]


def tuning_for(context: Context) -> Tuning | None:
    """What was measured for this device, now if not before; None where it cannot be remembered,
    since measuring at every start would cost more than it gains.

    Raises:
        DeviceError: the driver is too old, or cannot draw a product.
    """
    context.make_current()
    with device_errors():
        limits = query()
    path = _path(limits)
    found = _read(path)
    if found is not None:
        return found
    if not _is_writable(path.parent):
        return None
    tuning = calibrate(context)
    with contextlib.suppress(OptionError):
        write_whole(path, json.dumps({"renderer": limits.renderer, **asdict(tuning)}).encode())
    return tuning


def stored(limits: Limits) -> Tuning | None:
    """What was measured for a device with these limits earlier, if anything."""
    return _read(_path(limits))


def calibrate(context: Context) -> Tuning:
    """Measure: which candidate is fastest, and how many fetches it makes in `DRAW_SECONDS`.

    Raises:
        DeviceError: the passes do not compile, or the device has no room for a small matrix.
    """
    with Device(context) as device:
        choices, is_software = candidates(device.limits), device.limits.is_software
    chains = [_chains(context, tuning, 1) for tuning in choices]
    totals = [sum(chain.seconds for chain in each) for each in chains]
    best = totals.index(min(totals))
    if totals[best] > ADVANTAGE * totals[0]:
        best = 0
    # A CPU fetches as fast for many rows as for one.
    many = [] if is_software else _chains(context, choices[best], MANY_ROWS)
    measured = [*chains[best], *many]
    fetches = round(min(chain.fetches / chain.seconds for chain in measured) * DRAW_SECONDS)
    return replace(choices[best], fetches_per_draw=min(max(fetches, MIN_FETCHES), MAX_FETCHES))


def described(tuning: Tuning) -> str:
    """A tuning in words, for `gpt2gl doctor`."""
    place = "uniform block" if tuning.x_blocks else "texture"
    n = tuning.split_fragments
    split = f"sums split for {n} fragments" if n else "sums not split"
    return f"input row in a {place}, {split}, {tuning.fetches_per_draw:,} fetches a draw"


# Measuring --------------------------------------------------------------------------------------


class Chain(NamedTuple):
    """What drawing a chain of products took, and the texel fetches it made."""

    seconds: float
    fetches: int


class _Products:
    """Random numbers on a device, and products of `n_rows` rows of them."""

    def __init__(self, device: Device, layout: str, n_rows: int) -> None:
        self.device = device
        self.rows = 1 if n_rows == 1 else device.limits.rows_per_fragment
        self.step = Step(0, n_rows)
        self.passes = Passes(device, DIMS, self.rows)
        rng = np.random.default_rng(0)
        w = rng.standard_normal((N_EMBD, N_EMBD), np.float32) / np.float32(math.sqrt(N_EMBD))
        self.matrix = upload_matrix(device, LAYOUTS[layout], N_EMBD, N_EMBD, [(0, w)], "scratch")
        self.bias = upload_rows(device, rng.standard_normal((1, N_EMBD), np.float32), "scratch")
        self.x, self.y = self._tensor(N_EMBD, clear=True), self._tensor(N_EMBD)
        device.set_step(self.step, [0] * n_rows)

    def chain(self) -> Chain:
        """Draw a chain of products a few times; the shortest time counts."""
        first, *pair = self._calls()
        self.device.run(first, self.step)  # y is now the bias, random
        plan = self.device.record(pair * (PAIRS if self.rows == 1 else 1))
        bands = [band for each in plan for band in each.bands(self.step, UNBOUNDED).bands]
        # The first time is that of a driver that still compiles.
        seconds = min([self._timed(plan) for _ in range(1 + REPEATS)][1:])
        return Chain(seconds, sum(band.fetches for band in bands))

    def _timed(self, plan: Sequence[Prepared]) -> float:
        self.device.finish()
        start = time.perf_counter()
        for _ in self.device.draw(plan, self.step):
            pass
        self.device.finish()
        return time.perf_counter() - start

    def _calls(self) -> list[Call]:
        """What makes y random; then products to and fro, each of a normalised row if of one, as
        the decode plan has them. All are one program: compiling takes longer than drawing."""
        p, w, bias, x, y = self.passes, self.matrix, self.bias, self.x, self.y
        if self.rows > 1:
            there, back = p.linear(x, w, bias, y), p.linear(y, w, bias, x)
            return [there, back, there]
        nbytes = x.rows.width * x.rows.fold * 16
        if self.device.tuning.x_blocks and nbytes <= self.device.limits.max_uniform_block:
            block = self.device.block(nbytes)
            product = p.linear(x, w, bias, y, norm=Norm(), x_block=block, capture=block)
            return [p.add(x, bias, y, capture=block), product, product]
        parts = self._tensor(4 * DIMS.norm_parts)
        norm = Norm(parts=parts)
        return [
            p.add(x, bias, y),
            p.part_stats(y, parts),
            p.linear(y, w, bias, x, norm=norm),
            p.part_stats(x, parts),
            p.linear(x, w, bias, y, norm=norm),
        ]

    def _tensor(self, columns: int, clear: bool = False) -> Tensor:
        width, left = single_row_shape(columns) if self.rows == 1 else (None, 0)
        shape = (self.step.n_rows, columns)
        return allocate_rows(
            self.device, *shape, "scratch", layers=self.rows, width=width, left=left, clear=clear
        )


def _chains(context: Context, tuning: Tuning, n_rows: int) -> list[Chain]:
    """Chains of products of `n_rows` rows, in each of the timed layouts."""
    with Device(context, tuning=tuning) as device:
        return [_Products(device, layout, n_rows).chain() for layout in TIMED_LAYOUTS]


# Remembering ------------------------------------------------------------------------------------


def _path(limits: Limits) -> Path:
    # A software renderer is as fast as the machine that it happens to run on.
    machine = f"{platform.node()} {os.cpu_count()}" if limits.is_software else ""
    names = (str(VERSION), limits.renderer, limits.vendor, limits.version, machine)
    key = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    return cache_root() / "tuning" / f"{key}.json"


def _is_writable(folder: Path) -> bool:
    try:
        make_folder(folder)
    except (CacheError, RuntimeError):
        return False
    return os.access(folder, os.W_OK)


def _read(path: Path) -> Tuning | None:
    """The tuning in a file; None where there is none or it is damaged."""
    try:
        found = read_object(path, CacheError)
        tuning = Tuning(**{field.name: found[field.name] for field in fields(Tuning)})
    except (OSError, CacheError, KeyError, RuntimeError):
        return None
    return tuning if _is_sound(tuning) else None


def _is_sound(tuning: Tuning) -> bool:
    return (
        isinstance(tuning.x_blocks, bool)
        and type(tuning.split_fragments) is int
        and type(tuning.fetches_per_draw) is int
        and 0 <= tuning.split_fragments <= MAX_SPLIT_FRAGMENTS
        and MIN_FETCHES <= tuning.fetches_per_draw <= MAX_FETCHES
    )
