"""Activations and weights drawn as heat-maps, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import read_rows, upload_matrix, upload_rows
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_history import USE
from gpt2gl.views import Views
from tests.conftest import MakeDevice
from tests.engine import drain, normal
from tests.models import encoded, some_tokens
from tests.pictures import (
    CLOSE,
    Open,
    assert_pixels,
    diverging,
    lines,
    loaded,
    opaque,
    opening,
    scaled,
    sequential,
    traced,
    weights_picture,
)


@pytest.fixture(scope="module")
def model(make_module_device: MakeDevice) -> GPT2:
    return loaded(make_module_device)


@pytest.fixture
def opened(model: GPT2) -> Iterator[Open]:
    """Starts a capture with views of it; afterwards checks that nothing of them is left."""
    yield from opening(model)


@pytest.mark.parametrize(
    ("scale", "limit"), [("linear", None), ("linear", 0.5), ("symlog", None), ("row", None)]
)
def test_heatmaps(model: GPT2, opened: Open, scale: str, limit: float | None) -> None:
    _, views = opened("residual", "mlp")
    tokens = some_tokens(model.config, 21)
    shown = {"h.0.resid_post": views.residual(1, scale=scale, limit=limit)}
    shown["h.1.mlp.act"] = views.mlp(1, scale=scale, limit=limit)
    for end in (20, 21):
        encoded(model, tokens[:end], end - 1 if end > 20 else 0)
        for view in shown.values():
            view.draw()
            assert drain(view.update()) == 0
    trace = traced(model, tokens)
    for name, view in shown.items():
        assert view.uv() == pytest.approx((0, 0, 1, 21 / 128))
        values, there = lines(scaled(trace[name], scale, limit), 128)
        assert_pixels(views.pictures.read(view.picture), opaque(diverging(values), there))


def test_norms(model: GPT2, opened: Open) -> None:
    _, views = opened("residual")
    tokens = some_tokens(model.config, 12)
    encoded(model, tokens)
    found = views.pictures.read(views.norms(scale="linear").draw())
    trace = traced(model, tokens)
    names = ("embed", "h.0.resid_post", "h.1.resid_post")
    norms = np.stack([np.linalg.norm(trace[name], axis=1) for name in names], axis=1)
    values, there = lines(norms / norms.max(), 128)
    assert_pixels(found, opaque(sequential(values), there))


def test_halves_and_growth(model: GPT2, opened: Open) -> None:
    """Histories of other textures are drawn from as before."""
    capture, views = opened("residual", "attention")
    capture.memory_limit = capture.nbytes * 2
    view, thumbnails = views.residual(0, scale="row"), views.thumbnails(16)
    tokens = some_tokens(model.config, 140)
    for end in (10, 140):
        encoded(model, tokens[:end], 0 if end == 10 else 10)
        view.draw()
        thumbnails.draw()
    assert capture.history("attention").kept.format == "rgba16f"
    trace = traced(model, tokens)
    values, there = lines(scaled(trace["embed"], "row", None), 256)
    assert_pixels(views.pictures.read(view.picture), opaque(diverging(values), there))
    wanted = weights_picture(trace["h.0.attn.probs"][0], thumbnails.pool, 16)
    assert_pixels(views.pictures.read(thumbnails.picture)[:16, :16], wanted)


# Any tensor ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_weight_matrix(model: GPT2, opened: Open, layout: str) -> None:
    _, views = opened("residual")
    w = normal((32, 12))
    matrix = upload_matrix(model.device, LAYOUTS[layout], 32, 12, [(0, w)], "test")
    found = views.pictures.read(views.tensor(matrix, scale="linear", limit=4.0).draw())
    wanted = opaque(diverging(np.clip(w / 4, -1, 1)), np.ones(w.shape, bool))
    error = np.abs(found.astype(int) - wanted.astype(int))
    assert error.max() <= (CLOSE if layout in ("r32f", "rgba32f", "f16") else 60)
    assert np.median(error) <= (CLOSE if layout != "int4" else 20)
    model.device.pool.release(matrix.weights.texture)
    if matrix.scales is not None:
        model.device.pool.release(matrix.scales.texture)


def test_a_rows_tensor_with_an_outlier(model: GPT2, opened: Open) -> None:
    """Wider and higher than a picture: pixels are shared, and one large number is seen."""
    _, views = opened("residual")
    values = normal((1030, 1100), std=0.1)
    values[700, 901] = -3000.0
    tensor = upload_rows(model.device, values, "test")
    view = views.tensor(tensor)
    found = views.pictures.read(view.draw())
    assert (view.pool, found.shape) == ((2, 2), (515, 550, 4))
    blocks = values.reshape(515, 2, 550, 2).transpose(0, 2, 1, 3).reshape(515, 550, 4)
    top = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)[..., 0]
    wanted = opaque(diverging(scaled(top, "symlog", 3000.0)), np.ones((515, 550), bool))
    assert_pixels(found, wanted)
    np.testing.assert_array_equal(read_rows(model.device, tensor, 700, 1)[0], values[700])
    model.device.pool.release(tensor.texture)


def test_the_tensors_of_a_pass(model: GPT2) -> None:
    """For stepping through: what each pass reads and writes, packed weights included."""
    views = Views(model)
    for name in ("decode", "prefill"):
        calls = [prepared.call for prepared in model.plan(name)]
        tensors = {t.texture: t for call in calls for t in (*call.inputs.values(), call.output)}
        for tensor in tensors.values():
            view = views.tensor(tensor, rows=40)
            assert view.draw().width == min(1024, view.n_columns)
            views.discard(view)
    assert views.pictures.live == 0
    views.close()
    assert model.device.pool.bytes_by_use[USE] == 0
