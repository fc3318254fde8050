"""Random models: seeded, lazy, and with the outliers of trained ones when asked for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gpt2gl.config import ModelConfig
from gpt2gl.errors import OptionError
from gpt2gl.weights import random
from gpt2gl.weights.names import expected_shapes
from gpt2gl.weights.random import outlier_features, random_checkpoint

TINY = ModelConfig(vocab_size=301, n_positions=20, n_embd=48, n_layer=3, n_head=3)


def test_has_the_tensors_of_the_config() -> None:
    checkpoint = random_checkpoint(TINY, 1)
    assert {n: t.shape for n, t in checkpoint.tensors.items()} == expected_shapes(TINY)
    for name, tensor in checkpoint.tensors.items():
        array = tensor.read()
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert array.shape == tensor.shape
        gain = name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight"))
        assert abs(array.mean() - gain) < 0.02
        assert 0.01 < array.std() < 0.03


def test_untied_models_have_a_head() -> None:
    untied = ModelConfig(vocab_size=30, n_embd=12, n_head=3, tie_word_embeddings=False)
    tensors = random_checkpoint(untied, 1).tensors
    assert tensors["lm_head.weight"].shape == (30, 12)
    assert not np.array_equal(tensors["lm_head.weight"].read(), tensors["wte.weight"].read())


def test_same_seed_same_values_in_any_order() -> None:
    first, second = (random_checkpoint(TINY, 7).tensors for _ in range(2))
    forward = {n: t.read() for n, t in first.items()}
    backward = {n: second[n].read() for n in reversed(list(second))}
    for name, array in forward.items():
        np.testing.assert_array_equal(array, backward[name])


def test_every_tensor_and_every_seed_differ() -> None:
    tensors = random_checkpoint(TINY, 7).tensors
    one, two = (tensors[f"h.{i}.attn.c_proj.weight"].read() for i in range(2))
    other = random_checkpoint(TINY, 8).tensors["h.0.attn.c_proj.weight"].read()
    assert not np.any(one == two)
    assert not np.any(one == other)


@pytest.mark.parametrize("outliers", [False, True])
def test_rows_equal_the_whole(monkeypatch: pytest.MonkeyPatch, outliers: bool) -> None:
    monkeypatch.setattr(random, "BLOCK_VALUES", 48 * 10)
    tensor = random_checkpoint(TINY, 3, outliers=outliers).tensors["wte.weight"]
    whole = tensor.read()
    for start, stop in [(0, 1), (5, 15), (10, 20), (9, 31), (299, 301), (301, 301)]:
        np.testing.assert_array_equal(tensor.read_rows(start, stop), whole[start:stop])
    assert len(np.unique(whole, axis=0)) == 301


def test_standard_deviation() -> None:
    tensor = random_checkpoint(TINY, 1, std=0.5).tensors["h.0.mlp.c_fc.weight"]
    assert abs(tensor.read().std() - 0.5) < 0.02
    zeros = random_checkpoint(TINY, 1, std=0).tensors["wte.weight"].read()
    assert not zeros.any()


def test_nothing_is_made_before_it_is_read() -> None:
    config = ModelConfig.gpt2("gpt2-xl")
    tracemalloc.start()
    checkpoint = random_checkpoint(config, 1)
    checkpoint.tensors["wte.weight"].read_rows(50_000, 50_010)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16e6


def test_outliers_reach_several_thousand_at_every_position() -> None:
    features = list(outlier_features(TINY, 5))
    tensors = random_checkpoint(TINY, 5, outliers=True).tensors
    residual = tensors["wpe.weight"].read() + tensors["wte.weight"].read()[:20]  # [T, n_embd]
    residual = residual + sum(tensors[f"h.{i}.mlp.c_proj.bias"].read() for i in range(3))
    assert len(set(features)) == 3
    assert np.all(residual[0, features] > 2500)
    assert np.all(residual[:, features[0]] > 2000)
    others = np.delete(residual, features, axis=1)
    assert np.abs(others).max() < 10


def test_outliers_in_a_narrow_model() -> None:
    narrow = ModelConfig(vocab_size=5, n_positions=4, n_embd=2, n_layer=1, n_head=1)
    assert len(outlier_features(narrow, 1)) == 2
    assert random_checkpoint(narrow, 1, outliers=True).tensors["wpe.weight"].read().max() == 3000


@pytest.mark.parametrize(("seed", "std"), [(-1, 0.02), (1, -1.0), (1, np.inf), (1, np.nan)])
def test_impossible_options(seed: int, std: float) -> None:
    with pytest.raises(OptionError, match=r"^(seed|std) is "):
        random_checkpoint(TINY, seed, std)
