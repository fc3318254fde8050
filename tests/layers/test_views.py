"""Attention drawn from the engine's textures, against the same pictures made by NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpt2gl.errors import DeviceError, OptionError
from gpt2gl.gl.device import Device
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.views import Views
from tests.conftest import MakeDevice
from tests.engine import drain
from tests.models import encoded, some_tokens
from tests.pictures import (
    Open,
    assert_pixels,
    diverging,
    loaded,
    opaque,
    opening,
    pooled,
    sequential,
    traced,
    visible,
    weights_picture,
)


@pytest.fixture(scope="module")
def model(make_module_device: MakeDevice) -> GPT2:
    return loaded(make_module_device)


@pytest.fixture
def opened(model: GPT2) -> Iterator[Open]:
    """Starts a capture with views of it; afterwards checks that nothing of them is left."""
    yield from opening(model)


def test_viridis_is_close_to_the_original() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    t = np.linspace(0, 1, 256)
    original = matplotlib.colormaps["viridis"](t)[:, :3]
    assert np.abs(sequential(t) - original).max() < 4.5 / 255


# Attention -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [9, 40, 41, 150])
def test_thumbnails(model: GPT2, opened: Open, n: int) -> None:
    _, views = opened("attention")
    thumbnails = views.thumbnails(20)
    tokens = some_tokens(model.config, n)
    encoded(model, tokens)
    found = views.pictures.read(thumbnails.draw())
    trace = traced(model, tokens)
    part = n / thumbnails.span
    assert thumbnails.uv(1, 2) == pytest.approx((2 / 3, 1 / 2, (2 + part) / 3, (1 + part) / 2))
    assert thumbnails.span == 20 * thumbnails.pool >= n > thumbnails.span // 2 - 20
    for layer in range(2):
        for head in range(3):
            wanted = weights_picture(trace[f"h.{layer}.attn.probs"][head], thumbnails.pool, 20)
            cell = found[layer * 20 : layer * 20 + 20, head * 20 : head * 20 + 20]
            assert_pixels(cell, wanted)


def test_thumbnails_follow_the_text(model: GPT2, opened: Open) -> None:
    """Token by token, across a change of scale, growth and an edit: as if drawn at once."""
    capture, views = opened("attention")
    live = views.thumbnails(16)
    text = some_tokens(model.config, 139)
    for end in (3, *range(4, 20), 30, 31, 127, 128, 129, 139):
        encoded(model, text[:end], min(end - 1, capture.n_rows))
        live.draw()
    for tokens in (text, [*text[:50], *some_tokens(model.config, 20, 9)], text[:9]):
        encoded(model, tokens, min(50, len(tokens) - 1))
        found = views.pictures.read(live.draw())
        fresh = views.thumbnails(16)
        np.testing.assert_array_equal(found, views.pictures.read(fresh.draw()))
        views.discard(fresh)
    assert capture.epoch == 2


def test_a_token_is_one_draw_without_reading(
    model: GPT2, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty tokens with thumbnails: nothing is read back but the logits."""
    _, views = opened("attention")
    thumbnails = views.thumbnails()
    text = some_tokens(model.config, 100)
    encoded(model, text[:50])
    thumbnails.draw()
    reads: list[int] = []
    read = Device.read_texels
    monkeypatch.setattr(
        Device, "read_texels", lambda *a: (reads.append(a[1]), read(*a))[1]
    )
    draws = []
    for end in range(51, 101):
        encoded(model, text[:end], end - 1)
        before = model.device.draws
        steps = drain(thumbnails.update())
        draws.append((model.device.draws - before, steps))
        assert drain(thumbnails.update()) == 0
    assert reads == [model._logits.texture] * 50
    assert draws == [(1, 1)] * 30 + [(1, 1)] * 20


@pytest.mark.parametrize(("head", "mode"), [(1, "weights"), (None, "weights"), (2, "scores")])
def test_one_head_in_full(model: GPT2, opened: Open, head: int | None, mode: str) -> None:
    _, views = opened("attention")
    view = views.attention(1, head, mode=mode)
    small = views.attention(1, head, mode=mode, size=50)
    tokens = some_tokens(model.config, 77)
    encoded(model, tokens[:76])
    view.draw()
    encoded(model, tokens, 76)
    trace = traced(model, tokens)
    name = "probs" if mode == "weights" else "scores"
    values = trace[f"h.1.attn.{name}"]
    values = values.mean(axis=0) if head is None else values[head]
    for each, pool, side in ((view, 1, 128), (small, 4, 50)):
        found = views.pictures.read(each.draw())
        assert (each.pool, each.span) == (pool, side * pool)
        if mode == "weights":
            wanted = weights_picture(values, pool, side)
        else:
            top = pooled(visible(values), pool, side)
            shown = np.isfinite(top)
            wanted = opaque(diverging(np.where(shown, top, 0) / 8), shown)
        assert_pixels(found, wanted)


def test_another_way_to_show_it(model: GPT2, opened: Open) -> None:
    """Changing a view is like making another."""
    _, views = opened("attention")
    encoded(model, some_tokens(model.config, 30))
    view, scores = views.attention(0, 1), views.attention(0, 1, mode="scores")
    before = views.pictures.read(view.draw())
    view.mode = "scores"
    wanted = views.pictures.read(scores.draw())
    np.testing.assert_array_equal(views.pictures.read(view.draw()), wanted)
    view.mode, view.exponent = "weights", 1.0
    assert (views.pictures.read(view.draw()) != before).any()
    view.exponent = 0.5
    np.testing.assert_array_equal(views.pictures.read(view.draw()), before)


def test_bounded_steps(model: GPT2, opened: Open) -> None:
    """A large picture is drawn in steps, with other drawing in between."""
    capture, views = opened("attention", "residual")
    large, other = views.attention(0, 0), views.residual(1)
    tokens = some_tokens(model.config, 60)
    encoded(model, tokens)
    wanted = views.pictures.read(views.attention(0, 0).draw())
    model.device.fetches_per_draw = 5000
    steps = 0
    for _ in large.update():
        other.draw()
        capture.norms()
        model.device.end()
        model.device.take()
        steps += 1
    model.device.fetches_per_draw = model.device.tuning.fetches_per_draw
    assert steps > 3
    np.testing.assert_array_equal(views.pictures.read(large.picture), wanted)


def test_drawing_while_a_token_is_made(model: GPT2, opened: Open) -> None:
    """A plan that waits between two steps goes on unharmed."""
    _, views = opened("attention", "residual")
    tokens = some_tokens(model.config, 60)
    wanted = encoded(model, tokens)
    model.device.fetches_per_draw = 2000
    pictures = [views.thumbnails(), views.norms()]
    for _ in model.encode(tokens, 16):
        for view in pictures:
            view.draw()
    model.device.fetches_per_draw = model.device.tuning.fetches_per_draw
    np.testing.assert_allclose(model.logits(), wanted, rtol=1e-5, atol=1e-6)


def test_a_picture_given_up_is_drawn_anew(model: GPT2, opened: Open) -> None:
    _, views = opened("attention")
    view = views.attention(0, 0)
    encoded(model, some_tokens(model.config, 40))
    model.device.fetches_per_draw = 1000
    next(view.update())
    model.device.fetches_per_draw = model.device.tuning.fetches_per_draw
    wanted = views.pictures.read(views.attention(0, 0).draw())
    np.testing.assert_array_equal(views.pictures.read(view.draw()), wanted)


# Refusals ------------------------------------------------------------------------------------


def test_what_is_refused(model: GPT2, opened: Open) -> None:
    _, views = opened("attention", "residual")
    for refused in (
        lambda: views.attention(2),
        lambda: views.attention(0, 3),
        lambda: views.attention(0, 0, mode="rollout"),
        lambda: views.residual(3),
        lambda: views.residual(0, scale="log"),
        lambda: views.mlp(0),
        lambda: views.heatmap("attention", 0),
        lambda: views.norms("attention"),
        lambda: views.norms(scale="row"),
    ):
        with pytest.raises(OptionError):
            refused()
    with pytest.raises(DeviceError, match="smaller"):
        views.pictures.make(1 << 20, 1)


def test_nothing_is_captured(model: GPT2) -> None:
    views = Views(model)
    with pytest.raises(OptionError, match="nothing is captured"):
        views.thumbnails()
    views.close()


def test_a_closed_capture_is_not_drawn(model: GPT2, opened: Open) -> None:
    capture, views = opened("attention", "residual")
    encoded(model, [1, 2, 3])
    shown = [views.thumbnails(), views.residual(0)]
    for view in shown:
        view.draw()
    model.capture = None
    capture.close()
    assert [drain(view.update()) for view in shown] == [0, 0]
