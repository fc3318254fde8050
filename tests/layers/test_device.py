"""The device: bounded draws, shared contexts, state that others leave, objects that go away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from OpenGL import GL

from gpt2gl.errors import DeviceError
from gpt2gl.gl.call import Prepared, Step
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import Device
from gpt2gl.gl.framebuffers import Framebuffers
from gpt2gl.gl.pool import TexturePool
from gpt2gl.gl.state import TEXTURE_UNITS
from gpt2gl.gl.storage import allocate_rows, row_attachments
from gpt2gl.gl.tensor import ceil_div
from gpt2gl.gl.tuning import GPU
from gpt2gl.kv_cache import allocate_cache
from gpt2gl.models.gpt2 import GPT2, dims_of
from gpt2gl.passes import PASSES, Passes
from tests.conftest import NOTHING, MakeDevice, pending_errors
from tests.engine import Floats, blank_rows, dims, drain, drawn, normal, put_rows
from tests.models import checkpoint, config, encoded, some_tokens

TOKENS = [5, 0, 30, 7, 7, 2, 11, 3, 19, 4, 8] * 5


@pytest.fixture(scope="module")
def model(module_device: Device) -> GPT2:
    return GPT2.load(module_device, checkpoint(config()))


def both_plans(model: GPT2) -> tuple[Floats, Floats]:
    """Logits of a prefill, and of a decode step after it."""
    return encoded(model, TOKENS[:-1]), encoded(model, TOKENS, len(TOKENS) - 1)


def drawn_plans(model: GPT2) -> list[Prepared]:
    """Everything that `both_plans` draws: the prompt goes in chunks."""
    chunks = ceil_div(len(TOKENS) - 1, model.chunk)
    return [*model.plan("prefill") * chunks, *model.plan("prefill_head"), *model.plan("decode")]


# Bands -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tall(make_module_device: MakeDevice) -> GPT2:
    """A model that draws many lines at once, as a GPU does, so that there is something to cut."""
    device = make_module_device()
    device.tuning = GPU
    return GPT2.load(device, checkpoint(config()))


@pytest.mark.parametrize("fetches", [1, 64, 200, 10**9])
def test_bands_change_nothing(tall: GPT2, monkeypatch: pytest.MonkeyPatch, fetches: int) -> None:
    model = tall
    wanted = both_plans(model)
    draws = model.device.draws
    monkeypatch.setattr(model.device, "fetches_per_draw", fetches)
    found = both_plans(model)
    assert np.array_equal(found, wanted)
    usual = sum(len(prepared.slices) for prepared in drawn_plans(model))
    assert (model.device.draws - draws > usual) == (fetches < 10**9)


def test_a_small_budget_yields_at_every_draw(tall: GPT2, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tall
    monkeypatch.setattr(model.device, "fetches_per_draw", 1)
    step = Step(0, len(TOKENS))
    plans = [*model.plan("prefill"), *model.plan("prefill_head")]
    bands = sum(len(prepared.bands(step, 1).bands) for prepared in plans)
    assert drain(model.encode(TOKENS, 0)) == bands


# Others on the same context ----------------------------------------------------------------------


@pytest.fixture
def dirty(context: Context) -> Iterator[Callable[[], None]]:
    """Leaves every state as badly as a window toolkit might; its own objects go afterwards."""
    pack = int(GL.glGenBuffers(1))
    unpack = int(GL.glGenBuffers(1))
    array = int(GL.glGenVertexArrays(1))
    sampler = int(GL.glGenSamplers(1))
    texture = int(GL.glGenTextures(1))

    def spoil() -> None:
        for capability in SPOILED:
            GL.glEnable(capability)
        GL.glBlendFunc(GL.GL_ZERO, GL.GL_ZERO)
        GL.glScissor(0, 0, 0, 0)
        GL.glViewport(1, 1, 2, 2)
        GL.glColorMask(False, True, False, True)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, 0)
        GL.glUseProgram(0)
        GL.glBindVertexArray(array)
        for unit in range(8):
            GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
            GL.glBindTexture(GL.GL_TEXTURE_2D_ARRAY, texture)
            GL.glBindSampler(unit, sampler)
        for name, value in PIXEL_STORE.items():
            GL.glPixelStorei(name, value)
        GL.glBindBuffer(GL.GL_PIXEL_PACK_BUFFER, pack)
        GL.glBindBuffer(GL.GL_PIXEL_UNPACK_BUFFER, unpack)
        for binding in range(12):
            GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, binding, 0)

    yield spoil
    for name in PIXEL_STORE:
        GL.glPixelStorei(name, 4 if "ALIGNMENT" in name.name else 0)
    GL.glDeleteBuffers(2, [pack, unpack])
    GL.glDeleteVertexArrays(1, [array])
    GL.glDeleteSamplers(1, [sampler])
    GL.glDeleteTextures(1, [texture])


SPOILED = (
    *(GL.GL_BLEND, GL.GL_SCISSOR_TEST, GL.GL_DEPTH_TEST, GL.GL_CULL_FACE, GL.GL_STENCIL_TEST),
    *(GL.GL_RASTERIZER_DISCARD, GL.GL_SAMPLE_ALPHA_TO_COVERAGE, GL.GL_FRAMEBUFFER_SRGB),
)
PIXEL_STORE = {
    GL.GL_PACK_ALIGNMENT: 1,
    GL.GL_PACK_ROW_LENGTH: 3,
    GL.GL_PACK_SKIP_ROWS: 1,
    GL.GL_PACK_SKIP_PIXELS: 1,
    GL.GL_UNPACK_ALIGNMENT: 1,
    GL.GL_UNPACK_ROW_LENGTH: 3,
    GL.GL_UNPACK_IMAGE_HEIGHT: 3,
    GL.GL_UNPACK_SKIP_IMAGES: 1,
    GL.GL_UNPACK_SKIP_ROWS: 1,
    GL.GL_UNPACK_SKIP_PIXELS: 1,
}


@pytest.mark.parametrize("fetches", [64, 20_000])
def test_a_window_between_any_two_draws(
    model: GPT2, dirty: Callable[[], None], monkeypatch: pytest.MonkeyPatch, fetches: int
) -> None:
    wanted = both_plans(model)
    monkeypatch.setattr(model.device, "fetches_per_draw", fetches)
    found = []
    for tokens, n_valid in ((TOKENS[:-1], 0), (TOKENS, len(TOKENS) - 1)):
        for _ in model.encode(tokens, n_valid):
            model.device.end()
            dirty()
            model.device.begin()
        found.append(model.logits())
    assert np.array_equal(found, wanted)


def test_loading_between_frames(device: Device, dirty: Callable[[], None]) -> None:
    """Uploads are not bent by the pixel store of a toolkit that drew between them."""
    source = checkpoint(config())
    for step in GPT2.load_steps(device, source, "rgba32f"):
        if not isinstance(step, GPT2):
            device.end()
            dirty()
            device.begin()
    assert isinstance(step, GPT2)
    again = encoded(step, TOKENS)
    assert np.isfinite(again).all()
    fresh = GPT2.load(device, source)
    assert np.array_equal(again, encoded(fresh, TOKENS))


def test_begin_unbinds_samplers(device: Device, dirty: Callable[[], None]) -> None:
    """Some drivers let a sampler's filters make a float texture incomplete, even to texelFetch."""
    device.end()
    dirty()
    device.begin()
    most_inputs = max(len(operation.inputs) for operation in PASSES.values())
    assert most_inputs <= TEXTURE_UNITS
    for unit in range(TEXTURE_UNITS):
        GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
        assert GL.glGetIntegerv(GL.GL_SAMPLER_BINDING) == 0


def test_end_leaves_nothing_of_ours_bound(model: GPT2) -> None:
    encoded(model, TOKENS)
    model.device.end()
    for name in (
        *(GL.GL_DRAW_FRAMEBUFFER_BINDING, GL.GL_CURRENT_PROGRAM, GL.GL_VERTEX_ARRAY_BINDING),
        *(GL.GL_PIXEL_PACK_BUFFER_BINDING, GL.GL_TEXTURE_BINDING_2D_ARRAY),
    ):
        assert GL.glGetIntegerv(name) == 0
    assert GL.glGetIntegerv(GL.GL_ACTIVE_TEXTURE) == GL.GL_TEXTURE0


def test_two_models_take_turns(model: GPT2, make_module_device: MakeDevice) -> None:
    """Each has its own uniform blocks; whose turn it is binds them again."""
    other = GPT2.load(make_module_device(), checkpoint(config(), seed=2))
    alone = both_plans(model), both_plans(other)
    encoded(model, TOKENS[:-1])
    encoded(other, TOKENS[:-1])
    for each, wanted in zip((model, other), alone, strict=True):
        assert np.array_equal(encoded(each, TOKENS, len(TOKENS) - 1), wanted[1])
    assert np.array_equal((both_plans(model), both_plans(other)), alone)


# Errors ------------------------------------------------------------------------------------------


def test_a_gl_error_is_reported_once(device: Device) -> None:
    device._gl.glBindTexture(GL.GL_TRIANGLES, 0)
    with pytest.raises(DeviceError, match=r"OpenGL error 0x500 on .*gpt2gl doctor"):
        device.check()
    device.check()


def test_a_texture_beyond_the_driver_is_an_error(device: Device) -> None:
    with pytest.raises(DeviceError, match="no room for a texture of"):
        device.pool.acquire("rgba32f", 1 << 20, 1, 1, "test")
    assert device.pool.total == 0
    assert pending_errors() == []


def test_targets_that_cannot_be_drawn_to(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GL, "glCheckFramebufferStatus", lambda _: GL.GL_FRAMEBUFFER_UNSUPPORTED)
    tensor = allocate_rows(device, 1, 4, "test")
    with pytest.raises(DeviceError, match="float textures \\(unsupported combination of formats"):
        device.framebuffers.get(row_attachments(tensor))
    assert device.framebuffers.live == 0


# Release -----------------------------------------------------------------------------------------


def test_release_device(make_device: MakeDevice) -> None:
    device = make_device()
    passes = Passes(device, dims(), 4)
    x = put_rows(device, normal((5, 8)), 4)
    drawn(device, passes.add(x, x, blank_rows(device, 5, 8, 4)), 5)
    assert device.counts() == {"textures": 2, "framebuffers": 5, "programs": 1, "buffers": 1}
    device.close()
    assert device.counts() == NOTHING
    device.close()


def test_release_texture_pool(device: Device) -> None:
    pool = TexturePool()
    first = pool.acquire("rgba32f", 4, 3, 2, "weights")
    assert pool.bytes_by_use["weights"] == 4 * 3 * 2 * 16
    pool.release(first)
    assert (pool.live, pool.total, pool.bytes_by_use["weights"]) == (0, 1, 0)
    assert pool.acquire("rgba32f", 4, 3, 2, "scratch") == first
    second = pool.acquire("rgba32f", 4, 3, 2, "scratch")
    pool.release(second)
    assert pool.trim() == [second]
    assert pool.total == 1
    pool.close()
    assert pool.total == 0
    assert not GL.glIsTexture(first)


def test_release_framebuffers(device: Device) -> None:
    framebuffers = Framebuffers()
    a, b = (allocate_rows(device, 4, 4, "test", layers=4) for _ in range(2))
    made = [framebuffers.get(row_attachments(tensor)) for tensor in (a, b, a)]
    assert made[0] == made[2] != made[1]
    framebuffers.forget({a.texture})
    assert framebuffers.live == 1
    assert not GL.glIsFramebuffer(made[0])
    framebuffers.close()
    assert framebuffers.live == 0
    assert not GL.glIsFramebuffer(made[1])


def test_release_program_cache(device: Device) -> None:
    x = put_rows(device, normal((1, 8)), 1)
    program = device.prepare(Passes(device, dims(), 1).activate(x, x, "relu")).program
    assert device.programs.live == 1
    device.end()
    device.programs.close()
    assert device.programs.live == 0
    assert not GL.glIsProgram(program)


def test_release_gpt2(make_device: MakeDevice) -> None:
    device = make_device()
    with GPT2.load(device, checkpoint(config(n_layer=1, n_positions=9))) as model:
        encoded(model, [1, 2, 3])
        assert device.counts()["textures"] > 20
    assert device.counts() == NOTHING
    assert pending_errors() == []


def test_release_kv_cache(device: Device) -> None:
    cache = allocate_cache(device, dims_of(config()), 2, 8)
    used = device.pool.bytes_by_use
    assert used["kv_cache"] == cache.nbytes > 0
    cache.close(device)
    assert (cache.layers, used["kv_cache"], device.pool.live) == ([], 0, 0)


# Steady state ------------------------------------------------------------------------------------


def test_nothing_is_made_after_the_first_token(model: GPT2) -> None:
    tokens = some_tokens(model.config, 62)
    encoded(model, tokens[:10])
    encoded(model, tokens[:11], 10)
    before = model.device.counts()
    compiled, held = model.device.programs.compiled, dict(model.device.pool.bytes_by_use)
    for count in range(12, 62):
        encoded(model, tokens[:count], count - 1)
    assert model.device.counts() == before
    assert model.device.programs.compiled == compiled
    assert dict(model.device.pool.bytes_by_use) == held
