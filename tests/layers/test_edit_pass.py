"""The pass of an intervention against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gpt2gl.gl.call import Call
from gpt2gl.gl.device import Device
from gpt2gl.gl.storage import read_rows
from gpt2gl.gl.tensor import Tensor
from gpt2gl.passes import Passes
from gpt2gl.passes.edit import CACHE, ROWS, SCORES, EditTables, edited
from tests.engine import blank_rows, dims, draw, normal, put_rows


@pytest.mark.parametrize("kind", [ROWS, CACHE, SCORES])
@pytest.mark.parametrize("rows", [1, 4, 8])
def test_the_pass(module_device: Device, kind: str, rows: int) -> None:
    """Every element against NumPy, for rows from the eighth position on."""
    device, d = module_device, dims(12, 3, 40)
    first, count = 8, 1 if rows == 1 else 11
    layers = 8 if kind == CACHE and rows == 1 else rows
    heads = d.n_head if kind == SCORES else 1
    total = 40 if kind == CACHE else -(-count // rows) * rows * heads
    x, out = normal((total, 24)), blank_rows(device, total, 24, layers)
    call = call_like(Passes(device, d, rows), out, kind)
    gain = normal((3 * heads, 1 if kind == SCORES else 24), 1)
    gain[heads : 2 * heads] = 0
    offset = normal((3 * heads, 24), 2)
    slots = np.zeros((1, 40), np.float32)
    slots[0, [8, 10, 17]] = (1, 2, 1)
    tables = EditTables(*(put_rows(device, t, n) for t, n in ((slots, 1), (gain, 4), (offset, 4))))
    _, edit = edited(call, d, kind, tables, put_rows(device, x, layers))
    draw(device, edit, count, first)
    found = read_rows(device, out)
    for row, (position, head) in logical_rows(kind, rows, count, first, heads).items():
        table = int(slots[0, position]) * heads + head
        wanted = x[row] * gain[table] + offset[table]
        drawn = first + count if kind == SCORES else len(wanted)
        if kind == SCORES:
            wanted[position + 1 :] = x[row, position + 1 :]
        np.testing.assert_allclose(found[row, :drawn], wanted[:drawn], rtol=1e-6, atol=1e-6)


def call_like(passes: Passes, out: Tensor, kind: str) -> Call:
    """Some call that draws a tensor of the kind."""
    if kind == SCORES:
        return passes.softmax(out, out, out)
    return passes._call("add", {}, out, {}, 1, cache=kind == CACHE)


def logical_rows(
    kind: str, rows: int, count: int, first: int, heads: int
) -> dict[int, tuple[int, int]]:
    """Row of the tensor -> (position, head) of what it holds."""
    if kind == CACHE:
        return {first + t: (first + t, 0) for t in range(count)}
    return {
        (t // rows * heads + head) * rows + t % rows: (first + t, head)
        for t in range(count)
        for head in range(heads)
    }
