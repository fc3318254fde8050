"""The NumPy oracle against scalar formulas, a trained model's activations, and transformers."""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from gpt2gl_reference import gpt2_numpy as oracle
from gpt2gl_reference import gpt2_transformers as adapter

NANO_SORT = Path(__file__).parent / "data" / "gpt_nano_sort"
NANO_CONFIG = SimpleNamespace(**json.loads((NANO_SORT / "model" / "config.json").read_text()))
DTYPES = [np.float64, np.float32]

BLOCK_NAMES = [
    "ln_1", "attn.q", "attn.k", "attn.v", "attn.scores", "attn.probs", "attn.z", "attn.out",
    "resid_mid", "ln_2", "mlp.fc", "mlp.act", "mlp.out", "resid_post",
]  # fmt: skip

# Overrides of TINY, each with at least one number that is not a multiple of four.
TINY = {"vocab_size": 37, "n_positions": 19, "n_embd": 48, "n_layer": 3, "n_head": 3}
VARIANTS = {
    "default": {},
    "gelu": {"activation_function": "gelu", "n_inner": 50},
    "relu": {"activation_function": "relu", "n_embd": 60, "n_head": 4, "n_inner": 101},
    "silu": {"activation_function": "silu", "n_embd": 7, "n_head": 1, "n_layer": 1},
    "swish": {"activation_function": "swish", "n_embd": 10, "n_head": 5, "n_inner": 3},
    "gelu_pytorch_tanh": {"activation_function": "gelu_pytorch_tanh", "n_embd": 60, "n_head": 4},
    "unscaled": {"scale_attn_weights": False},
    "scaled_by_layer": {"scale_attn_by_inverse_layer_idx": True},
    "scaled_by_layer_only": {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True},
    "upcast": {"reorder_and_upcast_attn": True, "scale_attn_by_inverse_layer_idx": True},
    "untied": {"tie_word_embeddings": False, "n_embd": 60, "n_head": 4},
    "large_epsilon": {"layer_norm_epsilon": 0.1},
}


def canonical(tensors):
    return {name.removeprefix("transformer."): x for name, x in tensors.items()}


@pytest.fixture(scope="module")
def nano_sort():
    return canonical(load_file(NANO_SORT / "model" / "model.safetensors"))


@pytest.fixture(scope="module")
def partials():
    with np.load(NANO_SORT / "partials.npz") as file:
        return dict(file)


def make_model(seed=0, outlier=0.0, **overrides):
    """A GPT2LMHeadModel whose every parameter is random, so that none can be left out unnoticed.

    A deviation of 0.15 gives scores of a few units: attention neither uniform nor one key only.
    `outlier` is put on one feature of the position embedding: a large value in the residual stream.
    """
    options = TINY | {"bos_token_id": None, "eos_token_id": None} | overrides
    model = GPT2LMHeadModel(GPT2Config(**options, attn_implementation="eager")).eval()
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            centre = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
            values = rng.normal(centre, 0.15, tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(values))
        model.transformer.wpe.weight[:, 2] += outlier
    return model


def weights_of(model):
    weights = canonical({name: x.numpy() for name, x in model.state_dict().items()})
    if model.config.tie_word_embeddings:
        del weights["lm_head.weight"]
    return weights


def visible(name, tensor):
    """The part of a tensor that is compared: scores at key <= query, all of any other."""
    if not name.endswith("attn.scores"):
        return tensor
    n_query, n_key = tensor.shape[1:]
    return tensor[:, np.tri(n_query, n_key, n_key - n_query, dtype=bool)]


def assert_traces_equal(actual, expected, limit):
    """Every expected tensor, to `limit` times its largest magnitude, or 1 if that is smaller."""
    for name, wanted in expected.items():
        assert actual[name].shape == wanted.shape, name
        wanted = visible(name, wanted)
        error = np.max(np.abs(visible(name, actual[name]) - wanted))
        assert error <= limit * max(1.0, np.max(np.abs(wanted))), (name, error)


def test_erf_equals_math_erf():
    x = np.concatenate([np.linspace(-7, 7, 2801), [1e-300, -1e-8, 2.0, 300.0, np.inf]])
    expected = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(oracle.erf(x), expected, rtol=1e-14, atol=0)


@given(st.floats(allow_nan=False))
def test_erf_of_any_float_equals_math_erf(x):
    assert oracle.erf(np.array([x]))[0] == pytest.approx(math.erf(x), rel=1e-14, abs=0)


def test_erf_keeps_nan_sign_of_zero_and_dtype():
    result = oracle.erf(np.array([np.nan, -0.0, 0.5], dtype=np.float32))
    assert np.isnan(result[0])
    assert math.copysign(1, result[1]) == -1
    assert result.dtype == np.float32


def scalar_gelu_new(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def scalar_silu(x):
    return x / (1 + math.exp(-x))


SCALAR_ACTIVATIONS = {
    "gelu_new": scalar_gelu_new,
    "gelu_pytorch_tanh": scalar_gelu_new,
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "relu": lambda x: max(x, 0.0),
    "silu": scalar_silu,
    "swish": scalar_silu,
}


@pytest.mark.parametrize("name", oracle.ACTIVATIONS)
def test_activation_equals_its_scalar_formula(name):
    x = np.linspace(-40, 40, 801)
    expected = [SCALAR_ACTIVATIONS[name](float(value)) for value in x]
    np.testing.assert_allclose(oracle.ACTIVATIONS[name](x), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", oracle.ACTIVATIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_activation_of_large_values_is_x_or_zero(name, dtype):
    x = np.array([-5000.0, -200.0, 200.0, 5000.0], dtype=dtype)
    with np.errstate(over="raise", invalid="raise"):
        y = oracle.ACTIVATIONS[name](x)
    np.testing.assert_allclose(y, [0, 0, 200, 5000], rtol=0, atol=1e-30)
    assert y.dtype == dtype


def test_layernorm_equals_its_scalar_formula():
    rng = np.random.default_rng(1)
    x, weight, bias = rng.normal(3, 2, (4, 7)), rng.normal(size=7), rng.normal(size=7)
    expected = np.empty_like(x)
    for t, j in itertools.product(range(4), range(7)):
        mean = sum(x[t]) / 7
        variance = sum((value - mean) ** 2 for value in x[t]) / 7
        expected[t, j] = (x[t, j] - mean) / math.sqrt(variance + 0.01) * weight[j] + bias[j]
    np.testing.assert_allclose(oracle.layernorm(x, weight, bias, 0.01), expected, rtol=1e-12)


def test_layernorm_of_a_constant_row_is_the_bias():
    bias = np.arange(5.0)
    row = oracle.layernorm(np.full((1, 5), 3000.0), np.ones(5), bias, 1e-5)
    np.testing.assert_array_equal(row[0], bias)


def test_linear_is_in_out_with_optional_bias():
    x, weight = np.array([[1.0, 10.0]]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(oracle.linear(x, weight), [[41, 52, 63]])
    np.testing.assert_array_equal(oracle.linear(x, weight, np.array([1, 0, -1])), [[42, 52, 62]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_sums_to_one_and_does_not_overflow(dtype):
    x = np.array([[1e4, 1e4 - 1, -1e4], [0.0, 0.0, 0.0]], dtype=dtype)
    with np.errstate(over="raise", invalid="raise"):
        probs = oracle.softmax(x)
    first = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(probs, [[first, 1 - first, 0], [1 / 3] * 3], rtol=1e-6)
    assert probs.dtype == dtype


def test_heads_split_in_consecutive_features_and_join_back():
    x = np.arange(24.0).reshape(2, 12)
    heads = oracle.split_heads(x, 3)
    np.testing.assert_array_equal(heads[1], [[4, 5, 6, 7], [16, 17, 18, 19]])
    np.testing.assert_array_equal(oracle.join_heads(heads), x)


@pytest.mark.parametrize(("n_query", "n_key"), [(1, 1), (4, 4), (1, 5), (3, 7)])
def test_attention_equals_its_scalar_formula(n_query, n_key):
    n_head, head_dim, scale = 2, 3, 0.7
    rng = np.random.default_rng(n_key)
    q = rng.normal(size=(n_query, 6))
    k, v = rng.normal(size=(2, n_key, 6))
    scores, probs, z = oracle.attention(q, k, v, n_head, scale)
    assert scores.shape == probs.shape == (n_head, n_query, n_key)
    for h, t in itertools.product(range(n_head), range(n_query)):
        cut = slice(h * head_dim, (h + 1) * head_dim)
        dots = [scale * math.fsum(q[t, cut] * k[s, cut]) for s in range(n_key)]
        np.testing.assert_allclose(scores[h, t], dots, rtol=1e-12)
        n_seen = n_key - n_query + t + 1
        total = math.fsum(math.exp(dot) for dot in dots[:n_seen])
        expected = [math.exp(dot) / total for dot in dots[:n_seen]]
        np.testing.assert_allclose(probs[h, t, :n_seen], expected, rtol=1e-12)
        assert not probs[h, t, n_seen:].any()
        np.testing.assert_allclose(z[t, cut], expected @ v[:n_seen, cut], rtol=1e-11)


def test_a_masked_key_has_no_weight_however_large_its_score():
    scores = np.zeros((1, 2, 2))
    scores[0, 0, 1] = 1e30
    np.testing.assert_array_equal(oracle.causal_softmax(scores)[0], [[1, 0], [0.5, 0.5]])
    assert scores[0, 0, 1] == 1e30


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", range(3))
def test_oracle_equals_nano_sort_partials(nano_sort, partials, row, dtype):
    tokens = partials["tokens"][row].tolist()
    trace = oracle.forward(nano_sort, NANO_CONFIG, tokens, dtype)
    expected = {name: x[row] for name, x in partials.items() if name != "tokens"}
    assert len(expected) == 19
    for name, wanted in expected.items():
        assert trace[name].dtype == dtype, name
        assert trace[name].shape == wanted.shape, name
        error = np.abs(visible(name, trace[name]) - visible(name, wanted))
        assert np.max(error) <= 1e-5, name


def test_adapter_reads_a_folder_and_equals_nano_sort_partials(partials):
    trace = adapter.trace(NANO_SORT / "model", partials["tokens"][1].tolist())
    expected = {name: x[1] for name, x in partials.items() if name != "tokens"}
    assert_traces_equal(trace, expected, 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_greedy_sorts(nano_sort, dtype):
    # 17 and 3 have no common factor, so every letter occurs at every place.
    inputs = list(itertools.product(range(3), repeat=6))[::17]
    for letters in inputs:
        assert oracle.greedy(nano_sort, NANO_CONFIG, letters, 6, dtype) == sorted(letters)


def test_greedy_takes_the_lowest_of_equal_ids(nano_sort):
    indifferent = nano_sort | {"lm_head.weight": np.zeros((3, 48))}
    assert oracle.greedy(indifferent, NANO_CONFIG, [2, 1], 3) == [0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_oracle_equals_transformers(variant, dtype):
    model = make_model(seed=len(variant), **VARIANTS[variant])
    config = model.config
    tokens = np.random.default_rng(5).integers(0, config.vocab_size, 13).tolist()
    expected = adapter.trace_model(model, tokens)
    actual = oracle.forward(weights_of(model), config, tokens, dtype)
    blocks = [f"h.{i}.{name}" for i in range(config.n_layer) for name in BLOCK_NAMES]
    assert list(actual) == list(expected) == ["embed", *blocks, "ln_f", "logits"]
    assert {x.dtype for x in actual.values()} == {np.dtype(dtype)}
    assert {x.dtype for x in expected.values()} == {np.dtype(np.float32)}
    assert_traces_equal(actual, expected, 1e-5)


@pytest.mark.parametrize("n_tokens", [1, 19])
def test_oracle_equals_transformers_at_the_ends_of_the_context(n_tokens):
    model = make_model(n_embd=60, n_head=4)
    tokens = list(range(n_tokens))
    expected = adapter.trace_model(model, tokens)
    assert_traces_equal(oracle.forward(weights_of(model), model.config, tokens), expected, 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_oracle_equals_transformers_with_outliers_in_the_residual_stream(dtype):
    model = make_model(outlier=3000.0)
    expected = adapter.trace_model(model, [1, 2, 3, 4, 5])
    assert np.max(np.abs(expected["h.2.resid_post"])) > 2900
    actual = oracle.forward(weights_of(model), model.config, [1, 2, 3, 4, 5], dtype)
    assert_traces_equal(actual, expected, 2e-5)


def test_scores_of_transformers_give_its_probabilities():
    trace = adapter.trace_model(make_model(scale_attn_by_inverse_layer_idx=True), [3, 1, 4, 1, 5])
    for i in range(3):
        probs = oracle.causal_softmax(trace[f"h.{i}.attn.scores"])
        np.testing.assert_allclose(probs, trace[f"h.{i}.attn.probs"], atol=1e-5)


def test_tracing_leaves_no_hook_behind():
    model = make_model()
    adapter.trace_model(model, [1])
    hooks = [(*m._forward_hooks.values(), *m._forward_pre_hooks.values()) for m in model.modules()]
    assert adapter.__name__ not in {hook.__module__ for hook in itertools.chain(*hooks)}


def test_adapter_refuses_training_mode():
    with pytest.raises(ValueError, match=r"^the model is in training mode: call its eval\(\)"):
        adapter.trace_model(make_model().train(), [1])


def test_adapter_refuses_attention_that_hides_its_weights():
    model = make_model()
    model.set_attn_implementation("sdpa")
    with pytest.raises(ValueError, match='attn_implementation="eager"'):
        adapter.trace_model(model, [1])


def test_adapter_refuses_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model folder .*absent"):
        adapter.trace(tmp_path / "absent", [0])


def test_adapter_refuses_a_folder_that_lacks_weights(tmp_path):
    tensors = load_file(NANO_SORT / "model" / "model.safetensors")
    del tensors["transformer.h.1.ln_2.bias"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    (tmp_path / "config.json").write_bytes((NANO_SORT / "model" / "config.json").read_bytes())
    with pytest.raises(ValueError, match=r"lacks 1 weights, the first is .*h\.1\.ln_2\.bias$"):
        adapter.trace(tmp_path, [0])


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_adapter_names_a_missing_package_in_one_line(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        adapter.trace(NANO_SORT / "model", [0])
    assert str(caught.value) == f"the package {package} is needed: pip install 'gpt2gl[test]'"


@pytest.fixture(scope="module")
def cached_model():
    model = make_model(n_embd=60, n_head=4, scale_attn_by_inverse_layer_idx=True)
    return weights_of(model), model.config


@settings(max_examples=25, deadline=None)
@given(cuts=st.sets(st.integers(1, 12)))
def test_passes_with_a_cache_equal_one_full_pass(cached_model, cuts):
    tokens = [7, 0, 36, 11, 5, 5, 2, 30, 19, 1, 8, 8, 23]
    full = oracle.forward(*cached_model, tokens)
    past = None
    for start, stop in itertools.pairwise([0, *sorted(cuts), len(tokens)]):
        trace = oracle.forward(*cached_model, tokens[start:stop], past=past)
        assert_traces_equal(trace, rows_of(full, start, stop), 1e-12)
        past = oracle.kv_cache(trace, past)
    assert set(past) == {f"h.{i}.attn.{kind}" for i in range(3) for kind in "kv"}
    assert_traces_equal(past, {name: full[name] for name in past}, 1e-12)


def rows_of(trace, start, stop):
    """The rows of tokens start to stop - 1, with the keys up to the last of them."""
    return {
        name: x[:, start:stop, :stop] if x.ndim == 3 else x[start:stop] for name, x in trace.items()
    }


def test_a_cache_is_read_in_the_dtype_of_the_pass(cached_model):
    past = oracle.kv_cache(oracle.forward(*cached_model, [1, 2, 3]))
    trace = oracle.forward(*cached_model, [4], np.float32, past)
    assert {x.dtype for x in trace.values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "no tokens: give at least one"),
        ([0, -1], "token -1 is outside the vocabulary of 3"),
        ([3], "token 3 is outside the vocabulary of 3"),
        ([0] * 12, "12 tokens are more than 11 positions"),
    ],
)
def test_bad_tokens_are_refused(nano_sort, tokens, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        oracle.forward(nano_sort, NANO_CONFIG, tokens)
    with pytest.raises(ValueError, match=f"^{message}$"):
        adapter.trace(NANO_SORT / "model", tokens)


def test_a_full_cache_is_refused(nano_sort):
    past = oracle.kv_cache(oracle.forward(nano_sort, NANO_CONFIG, [0] * 11))
    with pytest.raises(ValueError, match=r"^12 tokens are more than 11 positions$"):
        oracle.forward(nano_sort, NANO_CONFIG, [0], past=past)


def test_a_missing_weight_is_named(nano_sort):
    rest = {name: x for name, x in nano_sort.items() if name != "h.1.mlp.c_fc.bias"}
    with pytest.raises(KeyError, match=r"h\.1\.mlp\.c_fc\.bias"):
        oracle.forward(rest, NANO_CONFIG, [0])
