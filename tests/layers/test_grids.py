"""Where numbers lie: pack and unpack are inverse, and GLSL reads what Python wrote."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl.errors import DeviceError
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import read_rows
from gpt2gl.gl.tensor import RowsGrid, WeightGrid, rows_grid, weight_grid
from gpt2gl.passes import Passes
from gpt2gl.resources import shader_path
from tests.conftest import MakeDevice
from tests.engine import blank_rows, dims, draw, drawn, normal, put_matrix, put_rows

SIDE = 16

rows_cases = st.builds(
    rows_grid,
    st.integers(1, 16),
    st.integers(1, 64),
    st.just(2 * SIDE),
    layers=st.sampled_from([1, 4, 8]),
    width=st.one_of(st.none(), st.integers(8, SIDE)),
)
weight_cases = st.builds(
    weight_grid,
    st.integers(1, 40).map(lambda n: 4 * n),
    st.integers(1, 50),
    st.integers(4, SIDE),
    st.just(1000),
)


@given(rows_cases)
def test_rows_round_trip(grid: RowsGrid) -> None:
    values = np.arange(1, grid.rows * grid.columns + 1, dtype=np.float32)
    values = values.reshape(grid.rows, grid.columns)
    texels = grid.pack(values)
    assert texels.shape == (grid.layers, grid.height, grid.width, 4)
    assert np.array_equal(grid.unpack(texels), values)
    assert np.count_nonzero(texels) == values.size


@given(rows_cases, st.data())
def test_rows_lie_where_the_grid_says(grid: RowsGrid, data: st.DataObject) -> None:
    t = data.draw(st.integers(0, grid.rows - 1))
    n = data.draw(st.integers(0, grid.columns - 1))
    values = np.zeros((grid.rows, grid.columns), np.float32)
    values[t, n] = 1
    c4 = n // 4
    line = t // grid.layers * grid.fold + c4 // grid.width
    assert grid.pack(values)[t % grid.layers, line, c4 % grid.width, n % 4] == 1


@given(weight_cases, st.data())
def test_weight_pieces_cover_each_texel_once(grid: WeightGrid, data: st.DataObject) -> None:
    """However a matrix is cut into columns, texel (n, k) ends where weights_texel looks for it."""
    n, k = grid.texels_n, grid.texels_k
    matrix = np.arange(1, n * k + 1).reshape(n, k)
    stored = np.zeros((grid.layers, grid.height, grid.width), int)
    step = data.draw(st.integers(1, n // 4)) * 4
    for first in range(0, n, step):
        for x, y, layer, part in grid.pieces(first, matrix[first : first + step]):
            target = stored[layer, y : y + part.shape[0], x : x + part.shape[1]]
            assert not target.any()
            target[:] = part
    at_n, at_k = np.indices(matrix.shape)
    layer = at_n // grid.height * grid.layers_k + at_k // grid.width
    assert np.array_equal(stored[layer, at_n % grid.height, at_k % grid.width], matrix)


def test_what_fits_nowhere_is_an_error() -> None:
    with pytest.raises(DeviceError, match="does not fit textures of side 16"):
        rows_grid(17, 4, SIDE)
    with pytest.raises(DeviceError, match="needs 4 texture layers and this driver has 3"):
        weight_grid(32, 32, SIDE, 3)


def test_a_wished_width_gives_way_to_a_height_that_fits() -> None:
    assert rows_grid(16, 32, SIDE, width=4).width == 8


@pytest.mark.parametrize(("count", "columns", "width"), [(11, 37, 3), (3, 5, None), (9, 64, 5)])
@pytest.mark.parametrize(("rows", "left"), [(1, 0), (1, 3), (4, 0), (8, 5)])
def test_glsl_agrees_on_rows(
    module_device: Device, count: int, columns: int, width: int | None, rows: int, left: int
) -> None:
    """x read under one fold and y under another, written under a third, all at some margin."""
    x, y = normal((count, columns)), normal((count, columns), 1)
    a = put_rows(module_device, x, rows, width)
    b = put_rows(module_device, y, rows, None, left)
    out = blank_rows(module_device, count, columns, rows, 4, left)
    draw(module_device, Passes(module_device, dims(), rows).add(a, b, out), count)
    assert np.array_equal(read_rows(module_device, out), x + y)
    for first, some in ((0, 1), (count - 1, 1), (1, count - 1), (2, 1)):
        part = read_rows(module_device, out, first, some)
        assert np.array_equal(part, (x + y)[first : first + some])


@settings(deadline=None, max_examples=12)
@given(st.integers(1, 20), st.integers(1, 4).map(lambda n: 4 * n))
def test_glsl_agrees_on_weights(small_device: Device, n: int, piece: int) -> None:
    """The identity times W is W, whatever the folds of a texture of side 8."""
    device = small_device
    w = normal((12, n), n)
    matrix = put_matrix(device, "rgba32f", w, piece)
    x = put_rows(device, np.eye(12, dtype=np.float32), 4)
    out = blank_rows(device, 12, n, 4)
    call = Passes(device, dims(), 4).linear(x, matrix, None, out)
    assert np.array_equal(drawn(device, call, 12), w)
    device.pool.close()
    device.framebuffers.close()


@pytest.fixture(scope="module")
def small_device(make_module_device: MakeDevice) -> Device:
    return make_module_device(max_side=8)


def test_float_specials_survive_a_pass(module_device: Device) -> None:
    values = [0.123456789, 1e-30, 3e38, -0.0, 65505.0, -3e38, 1.0000001, 16777217.0]
    x = np.array([values], np.float32)
    one = put_matrix(module_device, "r32f", np.eye(8, dtype=np.float32))
    passes = Passes(module_device, dims(), 1)
    a = put_rows(module_device, x, 1)
    zero = put_rows(module_device, np.full_like(x, -0.0), 1)
    for call in (
        passes.add(a, zero, blank_rows(module_device, 1, 8, 1)),
        passes.linear(a, one, None, blank_rows(module_device, 1, 8, 1)),
    ):
        assert np.array_equal(drawn(module_device, call, 1), x)
    added = passes.add(a, zero, blank_rows(module_device, 1, 8, 1))
    assert np.signbit(drawn(module_device, added, 1)).tolist() == np.signbit(x).tolist()


def test_every_layout_names_a_shader_include() -> None:
    assert all(shader_path(f"lib/weights_{name}.glsl").is_file() for name in LAYOUTS)
