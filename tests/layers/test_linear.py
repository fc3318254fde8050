"""The linear pass in all weight layouts, against NumPy on the matrix that the texels stand for."""

from __future__ import annotations

import numpy as np
import pytest

from gpt2gl.gl.call import Block
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import read_rows, upload_rows
from gpt2gl.gl.tensor import Tensor
from gpt2gl.passes import Norm, Passes
from gpt2gl_reference import gpt2_numpy as oracle
from tests.conftest import MakeDevice
from tests.dequantise import dequantised
from tests.engine import (
    Array,
    Floats,
    assert_close,
    blank_rows,
    dims,
    draw,
    drawn,
    normal,
    put_matrix,
    put_rows,
)

layouts = pytest.mark.parametrize("layout", LAYOUTS)

# K, N, rows a fragment: one column, odd numbers, more than one int4 group, GPT-2's own.
SIZES = [(1, 1, 1), (3, 5, 8), (5, 3, 4), (48, 100, 1), (100, 48, 8), (768, 5, 4), (1, 100, 8)]
T = 11
E = 48


def expected(x: Array, w: Array, bias: Array | None = None) -> Array:
    return oracle.linear(x.astype(np.float64), w.astype(np.float64), bias)


def normalised(x: Array) -> Array:
    return oracle.layernorm(x.astype(np.float64), np.ones(E), np.zeros(E), 1e-5)


@layouts
def test_a_packed_matrix_stands_for_the_matrix(layout: str) -> None:
    w = normal((100, 12))
    step = {"r32f": 0.0, "rgba32f": 0.0, "f16": 2e-3, "int8": 0.016, "int4": 0.4}[layout]
    assert np.abs(dequantised(layout, w) - w).max() <= step


@layouts
def test_a_matrix_of_zeros_stays_zero(layout: str) -> None:
    assert not dequantised(layout, np.zeros((40, 5), np.float32)).any()


@layouts
@pytest.mark.parametrize(("k", "n", "rows"), SIZES)
def test_sizes(module_device: Device, layout: str, k: int, n: int, rows: int) -> None:
    x, w = normal((T, k)), normal((k, n), 1)
    b = normal((1, n), 2) if k % 2 else None
    bias = None if b is None else upload_rows(module_device, b, "test")
    matrix = put_matrix(module_device, layout, w)
    out = blank_rows(module_device, T, n, rows)
    passes = Passes(module_device, dims(), rows)
    call = passes.linear(put_rows(module_device, x, rows), matrix, bias, out)
    wanted = expected(x, dequantised(layout, w), None if b is None else b[0])
    assert_close(drawn(module_device, call, T), wanted)


@layouts
@pytest.mark.parametrize(("k", "n"), [(100, 48), (48, 100)])
def test_textures_that_fold(small_device: Device, layout: str, k: int, n: int) -> None:
    """Neither K nor N fits a texture side, and the matrix comes in pieces."""
    x, w = normal((T, k)), normal((k, n), 1)
    matrix = put_matrix(small_device, layout, w, piece=20)
    assert matrix.weights.grid.layers > 1  # type: ignore[union-attr]
    out = blank_rows(small_device, T, n, 8)
    call = Passes(small_device, dims(), 8).linear(put_rows(small_device, x, 8), matrix, None, out)
    assert_close(drawn(small_device, call, T), expected(x, dequantised_pieces(layout, w, 20)))


def dequantised_pieces(layout: str, w: Floats, piece: int) -> Floats:
    parts = [dequantised(layout, w[:, i : i + piece]) for i in range(0, w.shape[1], piece)]
    return np.concatenate(parts, axis=1)


@pytest.fixture(scope="module")
def small_device(make_module_device: MakeDevice) -> Device:
    return make_module_device(max_side=12)


@layouts
@pytest.mark.parametrize("rows", [1, 8])
def test_some_columns_of_a_matrix(module_device: Device, layout: str, rows: int) -> None:
    x, w, b = normal((T, 20)), normal((20, 48), 1), normal((1, 48), 2)
    matrix, bias = put_matrix(module_device, layout, w), upload_rows(module_device, b, "test")
    out = blank_rows(module_device, T, 20, rows)
    passes = Passes(module_device, dims(), rows)
    a = put_rows(module_device, x, rows)
    call = passes.linear(a, matrix, bias, out, first=16, columns=20)
    wanted = expected(x, dequantised(layout, w), b[0])[:, 16:36]
    assert_close(drawn(module_device, call, T), wanted)


@layouts
@pytest.mark.parametrize("use_block", [True, False], ids=["uniform block", "texture"])
def test_fused_for_one_row(module_device: Device, layout: str, use_block: bool) -> None:
    """Norm in the vertex shader, bias, activation and residual, as the decode plan has them."""
    x, w, b = normal((1, E)) + 3, normal((E, 12), 1), normal((1, 12), 2)
    residual = normal((1, 12), 3)
    device, passes = module_device, Passes(module_device, dims(E), 1)
    a = put_rows(device, x, 1, width=4)
    block = captured(device, passes, a, E) if use_block else None
    call = passes.linear(
        a,
        put_matrix(device, layout, w),
        upload_rows(device, b, "test"),
        blank_rows(device, 1, 12, 1, width=2),
        norm=Norm(),
        activation="gelu_new",
        residual=put_rows(device, residual, 1, width=2),
        x_block=block,
    )
    hidden = expected(normalised(x), dequantised(layout, w), b[0])
    assert_close(drawn(device, call, 1), oracle.gelu_new(hidden) + residual, 1e-11)


def captured(device: Device, passes: Passes, x: Tensor, n: int) -> Block:
    """A uniform block that a pass has filled with x + 0."""
    grid = x.rows
    block = device.block(grid.width * grid.fold * 16)
    zero = put_rows(device, np.zeros((1, n), np.float32), 1, grid.width)
    out = blank_rows(device, 1, n, 1, grid.width, left=3)
    draw(device, passes.add(x, zero, out, capture=block), 1)
    return block


@layouts
@pytest.mark.parametrize("rows", [4, 8])
def test_fused_for_many_rows(module_device: Device, layout: str, rows: int) -> None:
    """The same with statistics drawn before, as the prefill plan has them."""
    x, w, b = normal((T, E)) + 3, normal((E, 12), 1), normal((1, 12), 2)
    residual = normal((T, 12), 3)
    device, passes = module_device, Passes(module_device, dims(E), rows)
    a, stats = put_rows(device, x, rows), blank_rows(device, T, 4, rows)
    draw(device, passes.row_stats(a, stats), T)
    call = passes.linear(
        a,
        put_matrix(device, layout, w),
        upload_rows(device, b, "test"),
        blank_rows(device, T, 12, rows),
        norm=Norm(stats),
        activation="gelu_new",
        residual=put_rows(device, residual, rows),
    )
    hidden = expected(normalised(x), dequantised(layout, w), b[0])
    assert_close(drawn(device, call, T), oracle.gelu_new(hidden) + residual, 1e-11)


@pytest.mark.parametrize("activation", ["gelu_new", "gelu", "relu", "silu"])
def test_activations(module_device: Device, activation: str) -> None:
    x, w = normal((T, 16), std=3), normal((16, 12), 1)
    a, matrix = put_rows(module_device, x, 4), put_matrix(module_device, "rgba32f", w)
    out = blank_rows(module_device, T, 12, 4)
    call = Passes(module_device, dims(), 4).linear(a, matrix, None, out, activation=activation)
    assert_close(drawn(module_device, call, T), oracle.ACTIVATIONS[activation](expected(x, w)))


@pytest.mark.parametrize("layers", [4, 8])
def test_cache_rows_one_at_a_time(module_device: Device, layers: int) -> None:
    """A row lands at its position, in the layer that is the position modulo the layers."""
    count = 2 * layers + 3
    x, w = normal((count, 12)), normal((12, 24), 1)
    matrix = put_matrix(module_device, "rgba32f", w)
    cache = put_rows(module_device, np.full((count, 24), -7, np.float32), layers, width=4)
    row = Passes(module_device, dims(), 1)
    for position in (*range(0, count, 2), *range(1, count, 2)):
        a = put_rows(module_device, x[position : position + 1], 1)
        draw(module_device, row.linear(a, matrix, None, cache, cache=True), 1, position)
        found = read_rows(module_device, cache)
        written = [p for p in range(count) if p <= position and p % 2 == position % 2]
        assert_close(found[written], expected(x, w)[written])
        if position % 2 == 0:
            untouched = [p for p in range(count) if p not in written]
            assert (found[untouched] == -7).all()


@pytest.mark.parametrize("layers", [4, 8])
def test_cache_rows_in_groups(module_device: Device, layers: int) -> None:
    count = 3 * layers
    w = normal((12, 24), 1)
    matrix = put_matrix(module_device, "rgba32f", w)
    cache = put_rows(module_device, np.full((count, 24), -7, np.float32), layers, width=4)
    passes = Passes(module_device, dims(), layers)
    for n_past, n_rows in ((layers, layers), (0, layers - 1), (2 * layers, 3)):
        before = read_rows(module_device, cache)
        x = normal((n_rows, 12), n_past)
        a = put_rows(module_device, x, layers)
        draw(module_device, passes.linear(a, matrix, None, cache, cache=True), n_rows, n_past)
        found = read_rows(module_device, cache)
        assert_close(found[n_past : n_past + n_rows], expected(x, w))
        assert np.array_equal(found[:n_past], before[:n_past])
        assert np.array_equal(found[n_past + layers :], before[n_past + layers :])
