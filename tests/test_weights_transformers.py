"""Checkpoints as `transformers` itself writes them, tensor by tensor against its state dict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from gpt2gl.weights import open_checkpoint

SHAPES = {
    "odd": {"vocab_size": 31, "n_positions": 11, "n_embd": 15, "n_layer": 3, "n_head": 5},
    "nano": {"vocab_size": 3, "n_positions": 11, "n_embd": 48, "n_layer": 2, "n_head": 3},
    "inner": {"vocab_size": 17, "n_positions": 5, "n_embd": 20, "n_layer": 1, "n_head": 4}
    | {"n_inner": 33},
    "square": {"vocab_size": 20, "n_positions": 20, "n_embd": 20, "n_layer": 2, "n_head": 1}
    | {"n_inner": 20},
}


def make(kind: str = "GPT2LMHeadModel", **sizes: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(**sizes)
    model = getattr(transformers, kind)(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)  # so that no bias is zero and no gain is one
    return model


def assert_equal(folder: Path, model: Any, head: bool) -> None:
    state = {n.removeprefix("transformer."): t for n, t in model.state_dict().items()}
    if not head:
        state.pop("lm_head.weight", None)
    with open_checkpoint(folder) as checkpoint:
        assert set(checkpoint.tensors) == set(state)
        for name, tensor in checkpoint.tensors.items():
            np.testing.assert_array_equal(tensor.read(), state[name].float().numpy(), err_msg=name)


@pytest.mark.parametrize("sizes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_shapes_and_dtypes(tmp_path: Path, sizes: dict[str, int], dtype: str) -> None:
    model = make(**sizes).to(getattr(torch, dtype))
    model.save_pretrained(tmp_path)
    assert_equal(tmp_path, model, head=False)


def test_shards(tmp_path: Path) -> None:
    model = make(**SHAPES["nano"])
    model.save_pretrained(tmp_path, max_shard_size="40KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    assert_equal(tmp_path, model, head=False)


def test_untied(tmp_path: Path) -> None:
    model = make(**SHAPES["odd"], tie_word_embeddings=False)
    model.save_pretrained(tmp_path)
    assert not torch.equal(model.lm_head.weight, model.transformer.wte.weight)
    assert_equal(tmp_path, model, head=True)


def test_without_the_language_model_head_and_prefix(tmp_path: Path) -> None:
    model = make("GPT2Model", **SHAPES["odd"])
    model.save_pretrained(tmp_path)
    assert_equal(tmp_path, model, head=False)


def test_every_config_switch_comes_through(tmp_path: Path) -> None:
    switches = {
        "activation_function": "relu",
        "layer_norm_epsilon": 1e-3,
        "scale_attn_weights": False,
        "scale_attn_by_inverse_layer_idx": True,
        "reorder_and_upcast_attn": True,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    model = make(**SHAPES["odd"], **switches)
    model.save_pretrained(tmp_path)
    with open_checkpoint(tmp_path) as checkpoint:
        for name, value in switches.items():
            assert getattr(checkpoint.config, name) == value, name
