"""The self-test before loading: faults planted in the driver, and that each of them is caught."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpt2gl import selftest
from gpt2gl.errors import DeviceError
from gpt2gl.gl import probe, program
from gpt2gl.gl.calls import Calls
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import BLEND, Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.probe import DENORMALS, keeps_denormals, probe_float_targets
from gpt2gl.gl.program import Source
from gpt2gl.gl.tuning import GPU, SOFTWARE, Tuning
from gpt2gl.passes import PASSES
from gpt2gl.selftest import Choice, check_layouts, choose_layout, exact_checkpoint, load_check_steps
from tests.dequantise import dequantised
from tests.engine import drain

Patch = pytest.MonkeyPatch
TUNINGS = {"software": SOFTWARE, "gpu": GPU, "plain": selftest.plain(GPU)}

# What a faulty driver might make of `out_0 = rows[0];`, the store that every pass ends with.
WRONG = "out_0 = rows[0] * 1.001;"
NAN = "out_0 = rows[0] + uintBitsToFloat(0x7fc00000u);"
HALF = "out_0 = uintBitsToFloat(floatBitsToUint(rows[0]) & 0xffffe000u);"
FLUSHED = "out_0 = rows[0] * vec4(greaterThanEqual(abs(rows[0]), vec4(1.1754944e-38)));"
SWAPPED = "out_0 = rows[ROWS > 1 ? 1 : 0];"


def plant(patch: Patch, old: str, new: str, only: str = "") -> None:
    """Let the driver take `old` for `new` in all shaders, or in one of them."""
    expand = program.expand

    def faulty(shader: str, *arguments: Any) -> Source:
        source = expand(shader, *arguments)
        if only in ("", shader):
            source.lines = [line.replace(old, new) for line in source.lines]
        return source

    patch.setattr(program, "expand", faulty)


def store(patch: Patch, new: str, only: str = "") -> None:
    plant(patch, "out_0 = rows[0];", new, only)


def check(context: Context, layout: str = "rgba32f", tuning: Tuning = GPU) -> None:
    drain(load_check_steps(context, layout, tuning))


def choose(context: Context, layout: str, tuning: Tuning = GPU) -> Choice:
    *steps, choice = choose_layout(context, layout, tuning)
    assert set(steps) == {None}
    assert isinstance(choice, Choice)
    return choice


def refuses(context: Context, message: str, **options: Any) -> str:
    with pytest.raises(DeviceError) as caught:
        check(context, **options)
    text = str(caught.value)
    assert re.search(message, text), text
    with Device(context) as device:
        assert text.startswith(device.limits.renderer)
    assert "\n" not in text
    return text


# A sound driver ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sound_driver_passes(context: Context, layout: str, tuning: str) -> None:
    assert choose(context, layout, TUNINGS[tuning]) == Choice(layout, TUNINGS[tuning], ())


@pytest.mark.parametrize("limit", [{"max_draw_buffers": 4}, {"max_uniform_block": 64}])
def test_weaker_drivers_pass(context: Context, patch_limits: Any, limit: dict[str, int]) -> None:
    patch_limits(**limit)
    check(context, "int8", SOFTWARE)


@pytest.fixture
def patch_limits(monkeypatch: Patch) -> Callable[..., None]:
    def lower(**limit: int) -> None:
        def made(context: Context, **options: Any) -> Device:
            return Device(context, **options, **limit)

        monkeypatch.setattr(selftest, "Device", made)

    return lower


@pytest.mark.parametrize("layout", ["f16", "int8", "int4"])
def test_the_layout_holds_the_weights_exactly(layout: str) -> None:
    for name, tensor in exact_checkpoint(layout).tensors.items():
        w = tensor.read()
        if w.ndim < 2 or name == "wpe.weight":
            continue
        stored = selftest._layout_of(layout, name)
        w = np.ascontiguousarray(w.T if name == "wte.weight" else w)
        assert np.array_equal(dequantised(stored, w), w), name
        assert len(np.unique(w)) > 10


def test_steps_are_many(context: Context) -> None:
    """So that a window can draw between them."""
    assert drain(load_check_steps(context, "int8", SOFTWARE)) > 100


# One pass is wrong -------------------------------------------------------------------------------

# Drawn only where a user changes a pass's result, see gpt2gl/interventions.py.
NEVER_IN_AN_ANSWER = {"edit"}
KINDS = sorted(set(PASSES) - NEVER_IN_AN_ANSWER)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_values_of_one_pass(context: Context, monkeypatch: Patch, kind: str) -> None:
    store(monkeypatch, WRONG, PASSES[kind].shader)
    refuses(context, rf"pass [a-z_ ]*\b{kind}\b")


@pytest.mark.parametrize("kind", ["linear", "attention_combine"])
def test_wrong_values_with_uniform_blocks(
    context: Context, monkeypatch: Patch, kind: str
) -> None:
    store(monkeypatch, WRONG, PASSES[kind].shader)
    refuses(context, rf"pass [a-z_ ]*\b{kind}\b", tuning=SOFTWARE)


@pytest.mark.parametrize("kind", ["embed", "linear", "softmax", "attention_mix"])
def test_nan_in_one_pass(context: Context, monkeypatch: Patch, kind: str) -> None:
    store(monkeypatch, NAN, PASSES[kind].shader)
    refuses(context, rf"\b{kind}\b|pass add")


@pytest.mark.parametrize("kind", ["linear", "attention_mix"])
def test_half_precision_in_one_pass(context: Context, monkeypatch: Patch, kind: str) -> None:
    store(monkeypatch, HALF, PASSES[kind].shader)
    refuses(context, rf"\b{kind}\b.* has an error of ")


@pytest.mark.parametrize("kind", ["embed", "linear", "attention_mix"])
def test_swapped_rows(context: Context, monkeypatch: Patch, kind: str) -> None:
    store(monkeypatch, SWAPPED, PASSES[kind].shader)
    plant(monkeypatch, "out_1 = rows[1];", "out_1 = rows[0];", PASSES[kind].shader)
    refuses(context, rf"pass [a-z_ ]*\b{kind}\b")


def test_a_pass_that_draws_nothing(context: Context, monkeypatch: Patch) -> None:
    plant(monkeypatch, "void main() {", "void main() { if (ROWS == 1) discard;", "linear.frag")
    refuses(context, r"pass [a-z_ ]*\blinear\b.* plan ")


def test_a_pass_that_does_not_compile(context: Context, monkeypatch: Patch) -> None:
    plant(monkeypatch, "out_0 = rows[0];", "out_0 = nothing;", "softmax.frag")
    refuses(context, r"pass softmax: lib/output\.glsl:\d+: .*precision fp32\)")


# The driver as a whole is wrong -------------------------------------------------------------------


class _NoBlending(Calls):
    """A driver that draws the slices of a sum over each other."""

    def __init__(self) -> None:
        super().__init__()
        enable = self.glEnable
        self.glEnable = lambda what: None if what == BLEND else enable(what)


class _NoCopies(Calls):
    """A driver whose copies into a buffer come to nothing."""

    def __init__(self) -> None:
        super().__init__()
        read = self.glReadPixels
        self.glReadPixels = lambda *args: None if isinstance(args[-1], int) else read(*args)


@pytest.mark.parametrize("layout", ["rgba32f", "int4"])
def test_ignored_blending(context: Context, monkeypatch: Patch, layout: str) -> None:
    monkeypatch.setattr("gpt2gl.gl.device.Calls", _NoBlending)
    refuses(context, r"pass [a-z_ ]*\blinear\b draws wrong results", layout=layout)
    choice = choose(context, layout)
    assert (choice.layout, choice.tuning) == (layout, replace(GPU, split_fragments=0))
    assert choice.warnings[0].endswith("; drawn in a plainer way")


def test_copies_that_fail(context: Context, monkeypatch: Patch) -> None:
    monkeypatch.setattr("gpt2gl.gl.device.Calls", _NoCopies)
    assert choose(context, "int8", GPU) == Choice("int8", GPU, ())
    choice = choose(context, "int8", SOFTWARE)
    assert (choice.layout, choice.tuning.x_blocks, len(choice.warnings)) == ("int8", False, 1)


@pytest.mark.parametrize(("fault", "drawn"), [(HALF, "0.1234"), (NAN, "nan")])
def test_float_targets_that_are_not(
    context: Context, monkeypatch: Patch, fault: str, drawn: str
) -> None:
    store(monkeypatch, fault)
    refuses(context, rf"drew {drawn}.* where 0.12345679.* was due .*not 32 bits wide")
    with Device(context) as device, pytest.raises(DeviceError, match="not 32 bits wide"):
        probe_float_targets(device)


def test_a_negative_zero_that_is_lost(context: Context, monkeypatch: Patch) -> None:
    store(monkeypatch, "out_0 = mix(rows[0], vec4(0.0), equal(rows[0], vec4(0.0)));")
    with Device(context) as device, pytest.raises(DeviceError, match=r"where .*-0\.0.* was due"):
        probe_float_targets(device)


def test_flushed_denormals(context: Context, monkeypatch: Patch) -> None:
    """Allowed to a driver, and llvmpipe does it; no answer depends on them, so it is only said."""
    assert (np.abs(DENORMALS) < np.finfo(np.float32).tiny).all()
    assert (DENORMALS != 0).all()
    store(monkeypatch, FLUSHED)
    with Device(context) as device:
        assert not keeps_denormals(device)
        monkeypatch.setattr(probe, "_drawn", lambda device, values: values)
        assert keeps_denormals(device)


def test_products_that_become_denormals(context: Context, monkeypatch: Patch) -> None:
    """What a compiler made of halves that were scaled by 2^112 after unpacking."""
    only = "linear.frag"
    plant(monkeypatch, "+ 0x38000000u)", ")", only)
    old, new = "part[r] += w * centred(", "part[r] += 5.192296858534828e33 * (w * centred("
    plant(monkeypatch, old, new, only)
    plant(monkeypatch, "group, r), r);", "group, r), r));", only)
    refuses(context, r"pass [a-z_ ]*\blinear\b", layout="f16")


# What is done about it ----------------------------------------------------------------------------


UNPACKED = {"int8": "24, 16, 8, 0", "int4": "28, 24, 20, 16", "f16": "0xffffu, p"}


@pytest.mark.parametrize(
    ("broken", "wanted", "used"),
    [("int8", "int8", "f16"), ("int4", "int4", "int8"), ("f16", "f16", "rgba32f")],
)
def test_a_layout_that_fails_is_replaced(
    context: Context, monkeypatch: Patch, broken: str, wanted: str, used: str
) -> None:
    mark = UNPACKED[broken]
    plant(monkeypatch, mark, {"f16": "0xfffu, p"}.get(broken, mark.replace("16", "17")))
    choice = choose(context, wanted)
    names = {layout: name for name, layout in selftest.PRECISIONS.items()}
    assert choice.layout == used
    (warning,) = choice.warnings
    assert f"(precision {names[wanted]})" in warning
    assert warning.endswith(f"; {names[used]} is used instead")


def test_every_layout_has_a_result(context: Context, monkeypatch: Patch) -> None:
    plant(monkeypatch, UNPACKED["int8"], "24, 24, 24, 24")
    failed = [result.layout for result in check_layouts(context, GPU) if not result.ok]
    assert failed == ["int8", "int4"]  # int4 has a matrix in int8


def test_a_driver_without_a_sound_layout(context: Context, monkeypatch: Patch) -> None:
    store(monkeypatch, WRONG, "layernorm.frag")
    with pytest.raises(DeviceError) as caught:
        choose(context, "f16")
    message = str(caught.value)
    assert re.search(r"pass .*layernorm draws wrong results: .* error of \d", message)
    assert "(precision fp16); all other layouts fail as well: update the" in message
    assert len(message.splitlines()) == 1
