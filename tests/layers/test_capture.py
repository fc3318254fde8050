"""What is kept of a text on the GPU, against a trace of the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from gpt2gl.errors import DeviceError, OptionError
from gpt2gl.generation import Generation, Token
from gpt2gl.gl.tensor import block_grid, ceil_div, single_row_shape
from gpt2gl.gl.tuning import GPU, SOFTWARE
from gpt2gl.interventions import Scale
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.models.gpt2_history import KINDS, USE
from gpt2gl.sampling import Sampling
from gpt2gl.session import Session
from tests.conftest import MakeDevice
from tests.engine import Floats, drain
from tests.models import checkpoint, config, encoded, some_tokens

TUNINGS = {"gpu": GPU, "software": SOFTWARE}
EVERYTHING = tuple(KINDS)
# The fused plans sum in another order than the traced one.
CLOSE = {"rtol": 1e-4, "atol": 2e-5}


Load = Callable[..., GPT2]


@pytest.fixture(scope="module")
def models(make_module_device: MakeDevice) -> Load:
    """A model for each layout and tuning, so that the module's tests share programs."""
    made: dict[tuple[str, str], GPT2] = {}

    def model(layout: str, tuning: str) -> GPT2:
        if (layout, tuning) not in made:
            device = make_module_device()
            device.tuning = TUNINGS[tuning]
            source = checkpoint(config(n_positions=300))
            made[layout, tuning] = GPT2.load(device, source, layout)
        return made[layout, tuning]

    return model


@pytest.fixture
def load(models: Load) -> Iterator[Load]:
    """The model of a layout and tuning, with `kinds` captured until the test ends."""
    used: list[GPT2] = []

    def loaded(
        *kinds: str, layout: str = "rgba32f", tuning: str = "software", limit: int = 1 << 30
    ) -> GPT2:
        model = models(layout, tuning)
        used.append(model)
        model.capture = Capture(model, kinds, memory_limit=limit) if kinds else None
        return model

    yield loaded
    for model in used:
        model.device.fetches_per_draw = model.device.tuning.fetches_per_draw
        if model.capture is not None:
            model.capture.close()
            model.capture = None


def captured(model: GPT2) -> Capture:
    assert model.capture is not None
    return model.capture


def kept(capture: Capture) -> dict[str, Floats]:
    """All that is kept, under the names of a trace."""
    found = {}
    for kind in capture.kinds:
        history = capture.history(kind)
        for point, name in enumerate(history.points):
            if history.n_head:
                heads = range(history.n_head)
                found[name] = np.stack([capture.read_scores(point, h) for h in heads])
                probs = name.replace("scores", "probs")
                found[probs] = np.stack([capture.read_attention(point, h) for h in heads])
            else:
                found[name] = capture.read_rows(kind, point)
    return found


def check(found: Mapping[str, Floats], traced: Mapping[str, Floats], **close: float) -> None:
    """Everything that was kept is as traced."""
    for name, values in found.items():
        wanted = traced[name]
        if name.endswith(".scores"):
            rows, keys = np.tril_indices(wanted.shape[1])
            assert np.isneginf(values[:, ~np.tri(wanted.shape[1], dtype=bool)]).all()
            values, wanted = values[:, rows, keys], wanted[:, rows, keys]
        np.testing.assert_allclose(values, wanted, **{**CLOSE, **close}, err_msg=name)


SPLITS = ([200], [20, 21, 22, 150, 151, 200], [1, 9, 128, 129, 130, 136, 137])


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("layout", ["rgba32f", "r32f", "int8"])
def test_histories_equal_a_trace(load: Load, layout: str, tuning: str) -> None:
    """However the text is cut into prompts and single tokens, and as the histories grow."""
    model = load(*EVERYTHING, layout=layout, tuning=tuning)
    tokens = some_tokens(model.config, 200)
    splits = SPLITS if (layout, tuning) == ("rgba32f", "software") else SPLITS[1:2]
    for split in splits:
        for start, end in zip([0, *split], split, strict=False):
            encoded(model, tokens[:end], start)
        assert captured(model).n_rows == split[-1]
        found = kept(captured(model))
        norms = captured(model).norms()
        traced = model.trace(tokens[: split[-1]])
        check(found, traced)
        wanted = np.linalg.norm(traced["h.1.resid_post"], axis=1)
        np.testing.assert_allclose(norms[2], wanted, rtol=1e-4)


def test_a_text_that_is_edited(load: Load) -> None:
    """What the cache and the history both hold is kept, the rest drawn over."""
    model = load(*EVERYTHING)
    first, other = some_tokens(model.config, 60), some_tokens(model.config, 50, seed=5)
    encoded(model, first)
    edited = [*first[:33], *other]
    encoded(model, edited, 33)
    assert captured(model).n_rows == 83
    assert captured(model).rewinds == [32]  # row groups start at multiples of eight
    check(kept(captured(model)), model.trace(edited))
    encoded(model, first[:10], 9)
    assert captured(model).n_rows == 10


def test_a_text_known_before_is_encoded_from_its_start(load: Load) -> None:
    model = load()
    tokens = some_tokens(model.config, 30)
    encoded(model, tokens)
    model.capture = Capture(model, ["residual"])
    encoded(model, [*tokens, 3], len(tokens))
    assert captured(model).n_rows == 31
    check(kept(captured(model)), model.trace([*tokens, 3]))


def test_a_pass_given_up_does_not_count(load: Load) -> None:
    model = load("residual")
    tokens = some_tokens(model.config, 40)
    encoded(model, tokens[:20])
    model.device.fetches_per_draw = 1
    steps = model.encode(tokens, 20)
    next(steps)
    next(steps)
    assert captured(model).n_rows == 16
    steps.close()  # type: ignore[attr-defined]
    encoded(model, tokens, 20)
    assert captured(model).n_rows == 40
    check(kept(captured(model)), model.trace(tokens))


def test_growing_leaves_the_step_alone(load: Load) -> None:
    """Logits with histories that grow in between are those without."""
    tokens = some_tokens(config(), 140)
    wanted = encoded(load(), tokens)
    looked_at = load(*EVERYTHING)
    encoded(looked_at, tokens[:127])
    for end in range(128, 140):
        encoded(looked_at, tokens[:end], end - 1)
    assert captured(looked_at).epoch == 2
    np.testing.assert_allclose(encoded(looked_at, tokens, 139), wanted, rtol=1e-4, atol=1e-5)


def test_closed_costs_nothing(load: Load) -> None:
    """The same plans, draws and textures before it is opened and after it was closed."""
    model = load()
    device, tokens = model.device, some_tokens(model.config, 20)
    device.trim()

    def cost() -> tuple[object, ...]:
        encoded(model, tokens[:19])
        before = device.draws
        encoded(model, tokens, 19)
        plans = [model.plan(name) for name in ("decode", "prefill", "prefill_head")]
        used = {use: n for use, n in device.pool.bytes_by_use.items() if n}
        return plans, device.draws - before, used, device.pool.total

    closed = cost()
    capture = captured(load(*EVERYTHING))
    opened = cost()
    model.capture = None
    capture.close()
    capture.close()
    again = cost()
    assert closed == again
    assert all(a is b for a, b in zip(closed[0], again[0], strict=True))  # type: ignore[call-overload]
    assert opened[2] == {**closed[2], USE: opened[2][USE]}  # type: ignore[dict-item,index]
    layers = model.config.n_layer
    assert opened[1] - closed[1] == 4 * layers + 1 + 4  # type: ignore[operator]


def test_memory_is_counted(load: Load) -> None:
    model = load(*EVERYTHING)
    capture = captured(model)
    assert model.device.pool.bytes_by_use[USE] == capture.nbytes
    encoded(model, some_tokens(model.config, 140))
    assert model.device.pool.bytes_by_use[USE] == captured(model).nbytes
    assert captured(model).capacity == 256


def test_the_last_size_is_the_model_s(make_device: MakeDevice) -> None:
    model = GPT2.load(make_device(), checkpoint(config(n_positions=131)), "rgba32f")
    model.capture = Capture(model, ["residual"])
    encoded(model, some_tokens(model.config, 131))
    assert (captured(model).capacity, captured(model).n_rows) == (136, 131)


def kept_bytes(model: GPT2, kind: str) -> int:
    """Of a history at its first size in float32, without its statistics."""
    capture = Capture(model, [kind])
    nbytes = capture.history(kind).kept.nbytes
    capture.close()
    return nbytes


# Limits --------------------------------------------------------------------------------------


def test_halves_where_memory_is_short(load: Load) -> None:
    model = load()
    size = kept_bytes(model, "attention")
    load("attention", limit=size // 2)
    assert captured(model).history("attention").kept.format == "rgba16f"
    tokens = some_tokens(model.config, 50)
    encoded(model, tokens)
    check(kept(captured(model)), model.trace(tokens), rtol=3e-3, atol=3e-3)


def test_a_text_goes_on_when_there_is_no_more_room(load: Load) -> None:
    """What is kept stays, and the reason is said."""
    model = load()
    tokens = some_tokens(model.config, 150)
    wanted = encoded(model, tokens)
    load("residual", limit=kept_bytes(model, "residual") // 2)
    encoded(model, tokens[:120])
    encoded(model, tokens[:149], 120)
    found = encoded(model, tokens, 149)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert captured(model).n_rows == 128
    assert "MB" in captured(model).full
    found = captured(model).read_rows("residual", 1)
    wanted = model.trace(tokens)["h.0.resid_post"][:128]
    np.testing.assert_allclose(found, wanted, rtol=3e-3, atol=3e-3)


def test_small_textures(make_device: MakeDevice) -> None:
    """Blocks of heads are spread over layers where they do not fit below each other."""
    source = checkpoint(config(n_positions=104, n_head=12))
    # A GPU's own prefill has more rows at a time than such textures hold.
    model = GPT2.load(make_device(max_side=128, tuning=SOFTWARE), source, "rgba32f")
    model.capture = Capture(model, EVERYTHING)
    assert captured(model).history("attention").kept.blocks.parts == 3
    tokens = some_tokens(model.config, 104)
    encoded(model, tokens)
    check(kept(captured(model)), model.trace(tokens))


@pytest.mark.parametrize("capacity", [128, 1024])
def test_the_largest_gpt2_fits_small_textures(capacity: int) -> None:
    """gpt2-xl within textures of side 2048 and 256 layers: shapes alone."""
    scores = block_grid(capacity // 4, 25, capacity, 48, 2048, 256)
    width, _ = single_row_shape(6400)
    mlp = block_grid(width, ceil_div(1600, width), capacity, 48, 2048, 256)
    for grid in (scores, mlp):
        assert max(grid.texture_width, grid.height) <= 2048
        assert grid.layers <= 256
        assert grid.lines * grid.parts >= 25 if grid is scores else grid.parts == 1


def test_what_is_refused(load: Load) -> None:
    model = load()
    for kinds in (["attention", "logits"], []):
        with pytest.raises(OptionError, match="choose from attention"):
            Capture(model, kinds)
    with pytest.raises(DeviceError, match="above its limit"):
        Capture(model, ["attention"], memory_limit=1000)
    assert model.device.pool.bytes_by_use[USE] == 0
    capture = model.capture = Capture(model, ["attention", "residual"])
    encoded(model, [1, 2, 3])
    for refused in (
        lambda: capture.read_attention(2, 0),
        lambda: capture.read_attention(0, 3),
        lambda: capture.read_attention_row(0, None, 3),
        lambda: capture.read_attention_row(0, 3, 0),
        lambda: capture.read_rows("mlp", 0),
        lambda: capture.read_rows("attention", 0),
        lambda: capture.read_rows("residual", 3),
        lambda: capture.read_rows("residual", 0, 2, 2),
        lambda: capture.value_at("residual", 0, 0, 24),
    ):
        with pytest.raises(OptionError):
            refused()


# Numbers on demand ---------------------------------------------------------------------------


def test_single_numbers(load: Load) -> None:
    model = load("residual", "attention")
    tokens = some_tokens(model.config, 20)
    encoded(model, tokens)
    capture = captured(model)
    row, mean = capture.read_row("residual", 2, 7), capture.read_attention(1)
    rows = [capture.read_attention_row(1, head, 13) for head in (2, None)]
    value = capture.value_at("residual", 2, 7, 13)
    traced = model.trace(tokens)
    np.testing.assert_allclose(row, traced["h.1.resid_post"][7], **CLOSE)
    assert value == row[13]
    probs = traced["h.1.attn.probs"]
    np.testing.assert_allclose(mean, probs.mean(axis=0), **CLOSE)
    np.testing.assert_allclose(rows[0], probs[2, 13, :14], **CLOSE)
    np.testing.assert_allclose(rows[1], probs[:, 13, :14].mean(axis=0), **CLOSE)


def test_interventions_are_seen(load: Load) -> None:
    """What is kept is what the model went on with."""
    model = load("mlp", "residual")
    tokens = some_tokens(model.config, 12)
    encoded(model, tokens)
    before = captured(model).read_rows("residual", 2)
    model.intervene((Scale("h.0.mlp.act", 0.0),))
    encoded(model, tokens)
    assert not captured(model).read_rows("mlp", 0).any()
    assert captured(model).read_rows("mlp", 1).any()
    assert not np.allclose(captured(model).read_rows("residual", 2), before)
    model.intervene(())
    encoded(model, tokens)
    np.testing.assert_allclose(captured(model).read_rows("residual", 2), before, **CLOSE)


def test_a_session_opens_and_closes_it(load: Load) -> None:
    """In the middle of a generation: the text is the same, and kept from its first token."""
    model = load()
    session = Session(model, None, "tiny")
    prompt = some_tokens(model.config, 12)
    options = Generation(Sampling(seed=3), max_tokens=8)
    wanted = [e.id for e in session.generate(prompt, options) if isinstance(e, Token)]
    found: list[int] = []
    for event in session.generate(prompt, options):
        if isinstance(event, Token):
            found.append(event.id)
            if len(found) == 3:
                session.capture("residual", "attention")
            if len(found) == 6:
                assert captured(model).n_rows == 12 + 5
                session.capture("attention")
                assert captured(model).n_rows == 0
    assert found == wanted
    assert captured(model).n_rows == 12 + 7
    check(kept(captured(model)), model.trace([*prompt, *wanted[:7]]))
    for _ in session.encode_steps([*prompt, 1]):
        pass
    assert captured(model).n_rows == 13
    assert session.capture() is None
    assert model.capture is None
    with pytest.raises(OptionError):
        session.capture("everything")


def test_another_s_drawing_between_steps(load: Load) -> None:
    """Reading while a plan waits at a yield does not disturb it."""
    model = load("residual")
    tokens = some_tokens(model.config, 40)
    wanted = encoded(model, tokens)
    model.device.fetches_per_draw = 1000
    for _ in model.encode(tokens, 8):
        captured(model).norms()
    np.testing.assert_allclose(model.logits(), wanted, rtol=1e-5, atol=1e-6)
    assert drain(model.encode(tokens, 39)) > 1
