"""Interventions in the engine against transformers with hooks, in every way a text is encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpt2gl.errors import OptionError
from gpt2gl.gl.tuning import GPU
from gpt2gl.interventions import (
    Add,
    Intervention,
    Patch,
    Scale,
    ablate_heads,
    ablate_layer,
    ablate_mlp,
    hook_points,
    patch_from,
    scale_layer,
)
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.tolerances import compare, visible_keys
from gpt2gl_reference import gpt2_numpy as oracle
from tests.conftest import MakeDevice
from tests.engine import Array, Floats, drain, normal
from tests.models import check_logits, checkpoint, config, in_transformers, some_tokens

# Heads of 15 columns, which a texture pads to 16; more tokens than a row group. Few different
# shapes, since compiling is most of the time that these tests take.
CONFIG = config(n_embd=60, n_head=4, n_inner=60, vocab_size=101, n_positions=24)
HEAD = CONFIG.head_dim
TOKENS = some_tokens(CONFIG, 12)
OTHER = some_tokens(CONFIG, 12, 1)
LAST = len(TOKENS) - 1
LOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "fp32": ("rgba32f", {}),
    "fp32 on a GPU": ("rgba32f", {"tuning": GPU}),
    "fp32-plain": ("r32f", {}),
    "int8": ("int8", {}),
}
Edit = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Case:
    """Interventions, and what does the same in transformers: edits of modules' inputs or outputs
    ("in" or "out"), each [1, T, columns]."""

    interventions: Sequence[Intervention]
    hooks: Sequence[tuple[str, str, Edit]]


def columns(first: int, last: int, factor: float) -> Edit:
    def edit(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[..., first:last] *= factor
        return x

    return edit


def at(positions: Sequence[int], values: Array) -> Edit:
    """Overwrites rows where the text has them."""

    def edit(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        for position, row in zip(positions, values, strict=True):
            x[0, position] = torch.from_numpy(np.array(row))
        return x

    return edit


STEER = normal((CONFIG.n_inner,), 3)
NORM = normal((CONFIG.n_embd,), 4)
PATCHED = normal((3, CONFIG.n_embd), 5)
E = CONFIG.n_embd
CASES = {
    "heads off": Case(
        ablate_heads([(0, 2), (1, 0)]),
        [
            ("h.0.attn.c_proj", "in", columns(2 * HEAD, 3 * HEAD, 0.0)),
            ("h.1.attn.c_proj", "in", columns(0, HEAD, 0.0)),
        ],
    ),
    "MLP off": Case(ablate_mlp(1), [("h.1.mlp", "out", lambda x: 0 * x)]),
    "layer off": Case(
        ablate_layer(1),
        [("h.1.attn.c_proj", "out", lambda x: 0 * x), ("h.1.mlp", "out", lambda x: 0 * x)],
    ),
    "layer scaled": Case(
        scale_layer(0, 1.5),
        [("h.0.attn.c_proj", "out", lambda x: 1.5 * x), ("h.0.mlp", "out", lambda x: 1.5 * x)],
    ),
    "residual patched": Case(
        [Patch("h.0.resid_post", PATCHED, positions=(4, 0, 10))],
        [("h.0", "out", at((4, 0, 10), PATCHED))],
    ),
    "neurons steered": Case(
        [Add("transformer.h.*.mlp.c_fc", STEER)],
        [(f"h.{i}.mlp.c_fc", "out", lambda x: x + torch.from_numpy(STEER)) for i in range(2)],
    ),
    "queries, keys and values scaled": Case(
        [
            Scale("h.1.attn.q", (2.0, 0.5), heads=(0, 3)),
            Scale("h.1.attn.k", 0.25, heads=(1,)),
            Scale("h.1.attn.v", -1.0),
        ],
        [
            ("h.1.attn.c_attn", "out", columns(0, HEAD, 2.0)),
            ("h.1.attn.c_attn", "out", columns(3 * HEAD, 4 * HEAD, 0.5)),
            ("h.1.attn.c_attn", "out", columns(E + HEAD, E + 2 * HEAD, 0.25)),
            ("h.1.attn.c_attn", "out", columns(2 * E, 3 * E, -1.0)),
        ],
    ),
    "norms and embedding": Case(
        [Scale("h.1.ln_1", 0.5), Add("h.0.ln_2", NORM), Scale("embed", np.abs(NORM))],
        [
            ("h.1.ln_1", "out", lambda x: 0.5 * x),
            ("h.0.ln_2", "out", lambda x: x + torch.from_numpy(NORM)),
            ("drop", "out", lambda x: x * torch.from_numpy(np.abs(NORM))),
        ],
    ),
}


@pytest.fixture(scope="module")
def load(make_module_device: MakeDevice) -> Callable[[str], GPT2]:
    models: dict[str, GPT2] = {}

    def get(case: str) -> GPT2:
        if case not in models:
            layout, options = LOADS[case]
            models[case] = GPT2.load(make_module_device(**options), checkpoint(CONFIG), layout)
        models[case].intervene(())
        return models[case]

    return get


@pytest.fixture(scope="module")
def outside() -> torch.nn.Module:
    return in_transformers(checkpoint(CONFIG))


def hooked_logits(model: torch.nn.Module, case: Case, tokens: Sequence[int]) -> Floats:
    """[T, vocab] logits of transformers under the hooks of a case."""
    handles = []
    for path, side, edit in case.hooks:
        module = model.transformer.get_submodule(path)
        if side == "in":
            handles.append(module.register_forward_pre_hook(lambda _, x, e=edit: (e(x[0]),)))
        else:
            handles.append(module.register_forward_hook(lambda _, __, y, e=edit: on_output(e, y)))
    try:
        with torch.no_grad():
            return model(torch.tensor([list(tokens)]), use_cache=False).logits[0].numpy()
    finally:
        for handle in handles:
            handle.remove()


def on_output(edit: Edit, output: Any) -> Any:
    """Some releases of transformers return a block's output in a tuple."""
    return (edit(output[0]), *output[1:]) if isinstance(output, tuple) else edit(output)


# Against transformers ------------------------------------------------------------------------


FEW = ("residual patched", "queries, keys and values scaled", "norms and embedding")
COMBINATIONS = [
    *(("fp32", case) for case in CASES),
    *(("fp32 on a GPU", case) for case in FEW),
    *(("fp32-plain", case) for case in ("heads off", "norms and embedding")),
    ("int8", "norms and embedding"),
]


@pytest.mark.parametrize(("name", "case"), COMBINATIONS)
def test_all_ways_of_encoding(
    load: Callable[[str], GPT2], outside: torch.nn.Module, name: str, case: str
) -> None:
    model = load(name)
    expected = hooked_logits(outside, CASES[case], TOKENS)
    untouched = hooked_logits(outside, Case((), ()), TOKENS)
    assert np.abs(expected - untouched).max() > 0.05
    model.intervene(CASES[case].interventions)
    drain(model.encode(TOKENS[:9], 0))
    check_logits(model.layout, model.logits(), expected[8])
    drain(model.encode(TOKENS[:10], 9))
    check_logits(model.layout, model.logits(), expected[9])
    drain(model.encode(TOKENS, 10))
    check_logits(model.layout, model.logits(), expected[-1])
    if name == "fp32":
        rows = np.concatenate(list(model.row_logits(TOKENS)))
        assert compare(model.layout, "logits", rows, expected).ok
        assert compare(model.layout, "logits", model.trace(TOKENS)["logits"], expected).ok


def test_a_patch_from_another_text(
    load: Callable[[str], GPT2], outside: torch.nn.Module
) -> None:
    """All positions of the last residual patched: the other text's logits follow."""
    model = load("fp32")
    trace = model.trace(OTHER, ["h.1.resid_post", "logits"])
    model.intervene([patch_from(trace, "h.1.resid_post", range(12))])
    assert compare(model.layout, "logits", model.trace(TOKENS)["logits"], trace["logits"]).ok
    model.intervene([patch_from(trace, "h.1.resid_post", [LAST])])
    case = Case((), [("h.1", "out", at([LAST], trace["h.1.resid_post"][LAST:]))])
    expected = hooked_logits(outside, case, TOKENS)
    drain(model.encode(TOKENS, 0))
    check_logits(model.layout, model.logits(), expected[-1])


# Scores and probabilities: transformers has no module there ------------------------------------


@pytest.mark.parametrize("name", ["fp32", "fp32 on a GPU"])
def test_scores_and_probabilities(load: Callable[[str], GPT2], name: str) -> None:
    """What follows from the edited tensors is what the oracle computes of them."""
    model = load(name)
    plain = model.trace(TOKENS)
    other = model.trace(OTHER, ["h.1.attn.probs"])
    positions = (3, 9, LAST)
    model.intervene(
        [
            Scale("h.0.attn.scores", (0.0, 3.0), heads=(1, 2)),
            patch_from(other, "h.1.attn.probs", positions, heads=(0, 3)),
            Scale("h.1.resid_mid", 2.0, positions=(5,)),
        ]
    )
    found = model.trace(TOKENS)
    scores, wanted = (visible_keys("h.0.attn.scores", t["h.0.attn.scores"]) for t in (found, plain))
    wanted = wanted * np.array([1, 0, 3, 1], np.float32)[:, None, None]
    np.testing.assert_array_equal(scores, wanted)
    np.testing.assert_allclose(
        found["h.0.attn.probs"], oracle.causal_softmax(wanted), rtol=1e-4, atol=1e-6
    )
    probs = found["h.1.attn.probs"]
    for head, position in ((0, 3), (3, LAST)):
        np.testing.assert_array_equal(
            probs[head, position], other["h.1.attn.probs"][head, position]
        )
    mixed = oracle.attention_mix(probs, found["h.1.attn.v"])
    np.testing.assert_allclose(found["h.1.attn.z"], mixed, rtol=1e-4, atol=1e-5)
    before = found["h.0.resid_post"] + found["h.1.attn.out"]
    before[5] *= 2
    np.testing.assert_allclose(found["h.1.resid_mid"], before, rtol=1e-5, atol=1e-6)
    after = found["h.1.resid_mid"] + found["h.1.mlp.out"]
    np.testing.assert_allclose(found["h.1.resid_post"], after, rtol=1e-5, atol=1e-6)


# What does not change anything -----------------------------------------------------------------

QUICK = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
POINTS = st.sampled_from(hook_points(CONFIG))
PLACES = st.none() | st.sets(st.integers(0, LAST), min_size=1).map(tuple)


def assert_same(found: dict[str, Array], wanted: dict[str, Array], exact: bool) -> None:
    for name, values in wanted.items():
        a, b = (visible_keys(name, t) for t in (found[name], values))
        np.testing.assert_allclose(a, b, rtol=0 if exact else 1e-3, atol=0 if exact else 1e-4)


@QUICK
@given(point=POINTS, positions=PLACES)
def test_scaling_by_one(
    load: Callable[[str], GPT2], point: str, positions: tuple[int, ...] | None
) -> None:
    model = load("fp32")
    plain = model.trace(TOKENS)
    model.intervene([Scale(point, 1.0, positions=positions)])
    assert_same(model.trace(TOKENS), plain, exact=True)


@QUICK
@given(point=POINTS, positions=PLACES)
def test_a_patch_with_its_own_values(
    load: Callable[[str], GPT2], point: str, positions: tuple[int, ...] | None
) -> None:
    model = load("fp32")
    plain = model.trace(TOKENS)
    model.intervene([patch_from(plain, point, positions or range(12))])
    # A folded norm is patched through its inverse, which rounds.
    assert_same(model.trace(TOKENS), plain, exact="ln_" not in point)


@QUICK
@given(point=POINTS, positions=PLACES)
def test_ablating_twice(
    load: Callable[[str], GPT2], point: str, positions: tuple[int, ...] | None
) -> None:
    model = load("fp32")
    off = Scale(point, 0.0, positions=positions)
    model.intervene([off])
    once = model.trace(TOKENS)
    model.intervene([off, off])
    assert_same(model.trace(TOKENS), once, exact=True)


# What stays as it was --------------------------------------------------------------------------


def test_leaving_restores_everything(load: Callable[[str], GPT2]) -> None:
    model = load("fp32")
    device = model.device

    def state() -> tuple[Any, ...]:
        device.trim()
        drain(model.encode(TOKENS, 0))
        before = device.draws
        drain(model.encode([*TOKENS, 7], LAST + 1))
        logits = model.logits()
        plans = [id(model.plan(plan)) for plan in ("prefill", "prefill_head", "decode")]
        use = {name: nbytes for name, nbytes in device.pool.bytes_by_use.items() if nbytes}
        return plans, device.draws - before, logits.tobytes(), use, device.pool.total

    drain(model.row_logits(TOKENS))
    model.trace(TOKENS)
    before = state()
    model.intervene(CASES["queries, keys and values scaled"].interventions)
    model.trace(TOKENS)
    assert state() != before
    model.intervene(())
    assert state() == before


def test_nothing_is_compiled_again(load: Callable[[str], GPT2]) -> None:
    model = load("fp32")

    def use(*interventions: Intervention) -> None:
        model.intervene(interventions)
        drain(model.encode(TOKENS, 0))
        drain(model.encode([*TOKENS, 7], LAST + 1))

    use(*ablate_heads([(1, 1)]))
    compiled, plan = model.device.programs.compiled, model.plan("decode")
    use(Scale("h.1.attn.z", 0.3, heads=(2,)))
    assert model.plan("decode") is plan
    use()
    use(*ablate_heads([(0, 0), (1, 3), (0, 2)]))
    use(Patch("h.1.attn.z", np.zeros((2, 60)), positions=(1, 8)))
    assert model.device.programs.compiled == compiled


def test_a_refused_intervention_leaves_those_before(load: Callable[[str], GPT2]) -> None:
    model = load("fp32")
    model.intervene(ablate_mlp(0))
    total = model.device.pool.total
    for bad in (Scale("h.9.mlp.out", 0.0), Scale("h.0.mlp.out", 0.0, heads=(0,))):
        with pytest.raises(OptionError):
            model.intervene([bad])
    assert (model.interventions[0].at, model.device.pool.total) == ("h.0.mlp.out", total)
