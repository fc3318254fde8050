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
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpt2gl.errors import CacheError, Gpt2glError
from gpt2gl.gl.call import Call, Prepared, Step
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import MAX_ROWS, Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.limits import Limits
from gpt2gl.gl.storage import allocate_rows, upload_matrix
from gpt2gl.gl.tensor import Tensor, ceil_div, single_row_shape
from gpt2gl.gl.tuning import Tuning, default_tuning
from gpt2gl.hub.paths import cache_root, make_folder
from gpt2gl.passes import Dims, Norm, Passes
from gpt2gl.small_files import read_object, write_whole

# Part of the key: to be raised when passes change so much that old measurements are void.
VERSION = 1

N_EMBD = 768
DIMS = Dims(N_EMBD, 12, 64, 1, 1e-5)
TIMED_LAYOUTS = ("int8", "rgba32f")
CHAIN = 4  # pairs of products
REPEATS = 3
# Another choice must be this much faster than the default, so that noise does not decide.
ADVANTAGE = 0.9

DRAW_SECONDS = 0.004
MIN_FETCHES, MAX_FETCHES = 100_000, 1_000_000_000


def candidates(limits: Limits) -> list[Tuning]:
    """The default of the device's kind, then the alternatives worth timing."""
    default = default_tuning(limits)
    if limits.is_software:
        choices = [(False, 0)]
    else:
        choices = [(True, 0), (False, 1536), (False, 6144)]
    return [
        default,
        *(replace(default, x_blocks=blocks, split_fragments=n) for blocks, n in choices),
    ]


def tuning_for(context: Context) -> Tuning | None:
    """What was measured for this device, now if not before; None where it cannot be remembered,
    since measuring at every start would cost more than it gains."""
    with Device(context) as device:
        limits = device.limits
    path = _path(limits)
    found = _read(path)
    if found is not None:
        return found
    try:
        make_folder(path.parent)
        if not os.access(path.parent, os.W_OK):
            return None
        tuning = calibrate(context)
        write_whole(path, json.dumps({"renderer": limits.renderer, **asdict(tuning)}).encode())
    except Gpt2glError:
        # Whatever is wrong with the device will be said by what is done next.
        return None
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
        choices = candidates(device.limits)
    times = [_chain_seconds(context, tuning) for tuning in choices]
    best = min(range(len(times)), key=times.__getitem__)
    chosen = choices[best] if times[best] < ADVANTAGE * times[0] else choices[0]
    fetches = round(_fetches_per_second(context, chosen) * DRAW_SECONDS)
    return replace(chosen, fetches_per_draw=min(max(fetches, MIN_FETCHES), MAX_FETCHES))


def described(tuning: Tuning) -> str:
    """A tuning in words, for `gpt2gl doctor`."""
    place = "uniform block" if tuning.x_blocks else "texture"
    n = tuning.split_fragments
    split = f"sums split for {n} fragments" if n else "sums not split"
    return f"input row in a {place}, {split}, {tuning.fetches_per_draw:,} fetches a draw"


# Measuring --------------------------------------------------------------------------------------


class _Bench:
    """Random rows and a random matrix of `N_EMBD` on a device, and calls over them."""

    def __init__(self, device: Device, layout: str, rows: int) -> None:
        self.device = device
        self.rows = rows
        self.passes = Passes(device, DIMS, rows)
        rng = np.random.default_rng(0)
        w = rng.standard_normal((N_EMBD, N_EMBD), np.float32) / np.float32(math.sqrt(N_EMBD))
        self.matrix = upload_matrix(device, LAYOUTS[layout], N_EMBD, N_EMBD, [(0, w)], "scratch")
        self.x, self.y = self._tensor(N_EMBD), self._tensor(N_EMBD)
        # What has been drawn from the matrix is random as well.
        self.seed = self.passes.linear(self.x, self.matrix, None, self.y)

    def chain(self) -> list[Call]:
        """Products that depend on each other, every second one of a normalised row."""
        p, x, y = self.passes, self.x, self.y
        if self.device.tuning.x_blocks and self._block_bytes <= self._largest_block:
            a, b = (self.device.block(self._block_bytes) for _ in range(2))
            pair = [
                p.linear(x, self.matrix, None, y, norm=Norm(), x_block=a, capture=b),
                p.linear(y, self.matrix, None, x, x_block=b, capture=a),
            ]
        else:
            parts = self._tensor(4 * DIMS.norm_parts)
            pair = [
                p.part_stats(x, parts),
                p.linear(x, self.matrix, None, y, norm=Norm(parts=parts)),
                p.linear(y, self.matrix, None, x),
            ]
        return pair * CHAIN

    @property
    def _block_bytes(self) -> int:
        return self.x.rows.width * self.x.rows.fold * 16

    @property
    def _largest_block(self) -> int:
        return self.device.limits.max_uniform_block

    def _tensor(self, columns: int) -> Tensor:
        count, one = (MAX_ROWS, False) if self.rows > 1 else (1, True)
        width, left = single_row_shape(columns) if one else (None, 0)
        return allocate_rows(
            *(self.device, count, columns, "scratch"), layers=self.rows, width=width, left=left
        )
