"""What a GPU's tuning draws differently, run on whatever driver the tests have.

Split sums, inputs from textures, statistics by parts: the numbers must not depend on any of it.
"""

from __future__ import annotations

import numpy as np
import pytest

from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import read_rows
from gpt2gl.gl.tensor import ceil_div
from gpt2gl.gl.tuning import GPU, SOFTWARE, Tuning
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.passes import PART4, Norm, Passes
from gpt2gl_reference import gpt2_numpy as oracle
from tests.conftest import MakeDevice
from tests.dequantise import dequantised
from tests.engine import (
    assert_close,
    blank_rows,
    dims,
    draw,
    drawn,
    normal,
    put_matrix,
    put_rows,
)
from tests.models import check_logits, checkpoint, config, encoded, some_tokens

TUNINGS = {"gpu": GPU, "software": SOFTWARE, "blocks and slices": Tuning(True, 3072, 1_000_000)}


def tuned(make_device: MakeDevice, tuning: Tuning) -> Device:
    device = make_device()
    device.tuning = tuning
    return device


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("k", "n"), [(768, 5), (100, 12), (48, 4), (20, 3), (1, 1)])
def test_a_split_sum_is_the_sum(make_device: MakeDevice, layout: str, k: int, n: int) -> None:
    device = tuned(make_device, GPU)
    w, x = normal((k, n), 1), normal((1, k), 2)
    bias, residual = normal((1, n), 3), normal((1, n), 4)
    call = Passes(device, dims(k, 1), 1).linear(
        put_rows(device, x, 1),
        put_matrix(device, layout, w),
        put_rows(device, bias, 1),
        blank_rows(device, 1, n, 1),
        residual=put_rows(device, residual, 1),
    )
    wanted = oracle.linear(x.astype(np.float64), dequantised(layout, w), bias[0]) + residual
    assert_close(drawn(device, call, 1), wanted, 1e-11)
    if k == 768:
        assert call.splits > 1


NORM_ROWS = {
    "normal": normal((3, 200)),
    "equal values": np.full((3, 200), 7.25, np.float32),
    "offset": normal((3, 200)) + np.float32(512),
    "outliers": normal((3, 200)) + np.eye(3, 200, 51, dtype=np.float32) * np.float32(6000),
}


@pytest.mark.parametrize("e", [200, 193, 48, 3])
@pytest.mark.parametrize("case", NORM_ROWS)
def test_statistics_by_parts(module_device: Device, case: str, e: int) -> None:
    x = NORM_ROWS[case][:, :e]
    passes = Passes(module_device, dims(e, 1), 1)
    a = put_rows(module_device, x, 8, 4)
    parts = blank_rows(module_device, 1, 4 * ceil_div(ceil_div(e, 4), PART4), 1)
    draw(module_device, passes.part_stats(a, parts, "step_counts.z"), 2)
    out = blank_rows(module_device, 1, e, 1)
    norm = Norm(parts=parts, row="step_counts.z")
    draw(module_device, passes.layernorm(a, out, norm, None), 2)
    wanted = oracle.layernorm(x[1:2].astype(np.float64), np.ones(e), np.zeros(e), 1e-5)
    assert_close(read_rows(module_device, out), wanted, 1e-7 if case == "offset" else 1e-10)


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("layout", ["rgba32f", "int8", "int4"])
def test_a_model_computes_the_same(make_device: MakeDevice, layout: str, tuning: str) -> None:
    """Prefill, then decode, against the oracle; n_embd and n_inner do not divide evenly."""
    source = checkpoint(config(n_embd=84, n_head=3, n_inner=132))
    weights = {name: tensor.read() for name, tensor in source.tensors.items()}
    tokens = some_tokens(source.config, 20)
    expected = oracle.forward(weights, source.config, tokens)["logits"]
    model = GPT2.load(tuned(make_device, TUNINGS[tuning]), source, layout)
    check_logits(layout, encoded(model, tokens[:17]), expected[16])
    for n in (18, 19, 20):
        check_logits(layout, encoded(model, tokens[:n], n - 1), expected[n - 1])
