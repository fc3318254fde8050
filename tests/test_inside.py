"""What a session shows of a model's inside: traces by pattern, the logit lens, interventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

import gpt2gl
from gpt2gl.errors import Gpt2glError, OptionError
from gpt2gl.gl.tuning import GPU
from gpt2gl.interventions import Scale, ablate_heads, ablate_mlp
from gpt2gl.models import gpt2_trace
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.sampling import Sampling
from gpt2gl.session import Session
from tests import models
from tests.conftest import MakeDevice

CONFIG = models.config(n_positions=40)
SOURCE = models.checkpoint(CONFIG)
TOKENS = models.some_tokens(CONFIG, 20)


@pytest.fixture(scope="module")
def session(make_module_device: MakeDevice) -> Session:
    return Session(GPT2.load(make_module_device(), SOURCE), None, "tiny")


@pytest.fixture(scope="module")
def gpu_session(make_module_device: MakeDevice) -> Session:
    return Session(GPT2.load(make_module_device(tuning=GPU), SOURCE), None, "tiny")


# Traces ----------------------------------------------------------------------------------------


def test_names_choose_tensors(session: Session) -> None:
    whole = session.trace(TOKENS)
    assert tuple(whole) == session.model.tensor_names()
    some = session.trace(TOKENS, ["h.*.attn.probs", "transformer.h.0", "h.1.attn.v"])
    assert set(some) == {"h.0.attn.probs", "h.1.attn.probs", "h.0.resid_post", "h.1.attn.v"}
    for name, values in some.items():
        np.testing.assert_array_equal(values, whole[name])
    assert some["h.0.attn.probs"].shape == (3, 20, 20)


def test_what_is_not_wanted_is_not_drawn(session: Session) -> None:
    def draws(*names: str) -> int:
        before = session.model.device.draws
        session.trace(TOKENS, names)
        return session.model.device.draws - before

    assert draws("embed") < draws("h.0.resid_post") < draws("h.1.attn.q") < draws("logits")


def test_hooks_get_each_tensor_once(session: Session) -> None:
    seen: list[str] = []
    whole = session.trace(TOKENS)

    def check(name: str, values: np.ndarray[Any, Any]) -> None:
        seen.append(name)
        np.testing.assert_array_equal(values, whole[name])

    kept = session.trace(TOKENS, hooks={"h.*.attn.*": check, "h.0.attn.z": check})
    assert not kept
    assert sorted(seen) == sorted([*(n for n in whole if ".attn." in n), "h.0.attn.z"])
    assert set(session.trace(TOKENS, ["embed"], {"h.1": check})) == {"embed"}
    assert seen[-1] == "h.1.resid_post"


def test_hooks_of_a_long_text_hold_little(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for one tensor the text is run once for each, with the same numbers."""
    monkeypatch.setattr(gpt2_trace, "STREAM_BYTES", 1)
    whole = session.trace(TOKENS, ["h.*.attn.probs"])
    found: dict[str, Any] = {}
    before = session.model.device.draws
    session.trace(TOKENS, hooks={"h.*.attn.probs": found.__setitem__})
    many = session.model.device.draws - before
    monkeypatch.undo()
    session.trace(TOKENS, hooks={"h.*.attn.probs": found.__setitem__})
    assert session.model.device.draws - before - many < many
    for name, values in whole.items():
        np.testing.assert_array_equal(found[name], values)


def test_steps_can_be_given_up(session: Session) -> None:
    wanted = session.logits(TOKENS)
    steps = session.trace_steps(TOKENS[::-1])
    for _ in range(5):
        next(steps)
    steps.close()
    np.testing.assert_allclose(session.logits(TOKENS), wanted, atol=1e-4)


def test_steps_notice_another_text(session: Session) -> None:
    steps = session.trace_steps(TOKENS)
    next(steps)
    session.logits(TOKENS)
    with pytest.raises(Gpt2glError, match="has begun another text"):
        next(steps)


def test_a_name_that_is_none(session: Session) -> None:
    with pytest.raises(OptionError, match=r"no tensor is called 'h\.2\.mlp\.out'"):
        session.trace(TOKENS, ["h.2.mlp.out"])


# The logit lens --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hidden_logits() -> np.ndarray[Any, Any]:
    """[N, T, vocab] of ln_f and lm_head applied to each residual, by transformers."""
    model = models.in_transformers(SOURCE)
    residuals: list[Any] = []
    for block in model.transformer.h:
        block.register_forward_pre_hook(lambda _, x: residuals.append(x[0]))
    model.transformer.ln_f.register_forward_pre_hook(lambda _, x: residuals.append(x[0]))
    with torch.no_grad():
        model(torch.tensor([TOKENS]))
        stack = [model.lm_head(model.transformer.ln_f(x))[0] for x in residuals[:3]]
    return torch.stack(stack).numpy()


@pytest.mark.parametrize("positions", [None, [19], [3], [17, 2, 3]])
@pytest.mark.parametrize("kind", ["session", "gpu_session"])
def test_lens_against_transformers(
    request: pytest.FixtureRequest,
    hidden_logits: np.ndarray[Any, Any],
    kind: str,
    positions: Sequence[int] | None,
) -> None:
    session: Session = request.getfixturevalue(kind)
    lens = session.lens(TOKENS, positions, top=4)
    assert lens.names == ("embed", "h.0.resid_post", "h.1.resid_post")
    assert lens.positions == tuple(sorted(positions or range(20)))
    logits = hidden_logits[:, list(lens.positions)].astype(np.float64)
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    follows = [*TOKENS[1:], int(hidden_logits[-1, -1].argmax())]
    assert lens.chosen.tolist() == [follows[i] for i in lens.positions]
    own = np.take_along_axis(p, lens.chosen[None, :, None], -1)
    np.testing.assert_allclose(lens.chosen_probabilities, own[..., 0], rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(lens.chosen_ranks, 1 + (p > own * (1 + 1e-5)).sum(-1))
    np.testing.assert_array_equal(lens.tokens, np.argsort(-p, axis=-1)[..., :4])
    np.testing.assert_allclose(
        lens.probabilities, np.take_along_axis(p, lens.tokens, -1), rtol=1e-3, atol=1e-6
    )


def test_lens_of_a_given_token(session: Session) -> None:
    lens = session.lens(TOKENS, [5], chosen={5: 7})
    assert lens.chosen.tolist() == [7]


def test_the_last_layer_says_what_the_model_says(session: Session) -> None:
    lens = session.lens(TOKENS, [19], top=1)
    assert lens.tokens[-1, 0, 0] == session.logits(TOKENS).argmax()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": [20]}, "allowed: some of 0 to 19"),
        ({"positions": []}, "allowed: some of 0 to 19"),
        ({"top": 0}, "allowed: 1 to 31"),
        ({"chosen": {3: 31}}, "token 31 is outside the vocabulary of 31"),
    ],
)
def test_lens_options(session: Session, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        session.lens(TOKENS, **options)


# Interventions ---------------------------------------------------------------------------------


def test_a_with_block_sets_and_restores(session: Session) -> None:
    plain = session.logits(TOKENS)
    with session.intervene(*ablate_heads([(0, 1)])):
        one = session.logits(TOKENS)
        with session.intervene(*ablate_mlp(1)):
            assert [each.at for each in session.interventions] == ["h.0.attn.z", "h.1.mlp.out"]
            assert np.abs(session.logits(TOKENS) - one).max() > 0.01
        np.testing.assert_allclose(session.logits(TOKENS), one, atol=1e-4)
    assert session.interventions == ()
    np.testing.assert_array_equal(session.logits(TOKENS), plain)
    assert np.abs(one - plain).max() > 0.01


def test_the_text_in_the_cache_is_forgotten(session: Session) -> None:
    session.logits(TOKENS)
    assert session.n_encoded == 20
    with session.intervene(Scale("embed", 0.5)):
        assert session.n_encoded == 0
        session.logits(TOKENS)
    assert session.n_encoded == 0


def test_an_error_restores_too(session: Session) -> None:
    with pytest.raises(RuntimeError), session.intervene(Scale("embed", 0.5)):
        raise RuntimeError
    assert session.interventions == ()
    with pytest.raises(OptionError), session.intervene(Scale("nothing", 0.5)):
        pass
    assert session.interventions == ()


def test_generating_under_an_intervention(session: Session) -> None:
    """Greedy text is what a loop over logits of the same model gives."""
    options = gpt2gl.Generation(Sampling(temperature=0), 6)
    with session.intervene(Scale("h.*.mlp.out", -1.0)):
        events = list(session.generate(TOKENS, options))
        text = list(TOKENS)
        for event in events:
            if isinstance(event, gpt2gl.Token):
                assert event.id == session.logits(text).argmax()
                text.append(event.id)
    assert len(text) == 26


def test_a_generation_ends_with_the_model_it_began_with(session: Session) -> None:
    events = session.generate(TOKENS, gpt2gl.Generation(Sampling(temperature=0), 6))
    next(events)
    session.set_interventions(ablate_mlp(0))
    with pytest.raises(Gpt2glError, match="has begun another text"):
        list(events)
    with pytest.raises(OptionError, match="one text at a time"):
        session.generate_many(TOKENS, 2)
    session.set_interventions(())


def test_lens_and_rows_under_an_intervention(session: Session) -> None:
    """With both layers off, every layer says what the embedding says."""
    with session.intervene(Scale("h.*.attn.out", 0.0), Scale("h.*.mlp.out", 0.0)):
        lens = session.lens(TOKENS, top=2)
        rows = np.concatenate(list(session.row_logits(TOKENS)))
    assert (lens.tokens == lens.tokens[:1]).all()
    np.testing.assert_array_equal(lens.tokens[-1, :, 0], rows.argmax(-1))


def test_closing_inside_a_with_block(make_device: MakeDevice) -> None:
    session = Session(GPT2.load(make_device(), SOURCE), None, "tiny")
    with session.intervene(Scale("embed", 0.5)):
        session.close()
