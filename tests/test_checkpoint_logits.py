"""Checkpoints in every form that `transformers` and llama.cpp write: the logits of their models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from gpt2gl.gl.device import Device
from gpt2gl.loading import find_checkpoint
from gpt2gl.models.gpt2 import GPT2
from gpt2gl_reference import gpt2_numpy
from tests.checkpoints import Arrays, tiny_config, tiny_weights
from tests.engine import assert_close, nmse
from tests.gguf_files import write_gguf
from tests.models import STD, check_logits, encoded

# The same for all that can be, so that they share compiled programs. The width is odd for an
# engine that works in fours of fours, and a head of 15 is no whole number of texels.
SIZES = {"vocab_size": 31, "n_positions": 16, "n_embd": 60, "n_layer": 2, "n_head": 4}
# Wide enough for inputs of the activation at which gelu and gelu_new differ.
WIDE_STD = 0.3
# Closer than the table asks: gelu and gelu_new are nearer to each other than it can tell.
LIMIT = 1e-11
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 30, 0]


@dataclass(frozen=True)
class Form:
    """How a checkpoint is made and saved."""

    config: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "GPT2LMHeadModel"
    dtype: torch.dtype = torch.float32
    save: Mapping[str, Any] = field(default_factory=dict)


FORMS = {
    "single": Form(),
    "sharded": Form(save={"max_shard_size": "100KB"}),
    "fp16": Form(dtype=torch.float16),
    "bf16": Form(dtype=torch.bfloat16),
    "sharded fp16": Form(dtype=torch.float16, save={"max_shard_size": "50KB"}),
    "untied": Form({"tie_word_embeddings": False}),
    "untied bf16": Form({"tie_word_embeddings": False}, dtype=torch.bfloat16),
    "without prefix": Form(kind="GPT2Model"),
    "gelu": Form({"activation_function": "gelu"}),
    "relu": Form({"activation_function": "relu"}),
    "silu": Form({"activation_function": "silu"}),
    "scaled by layer": Form({"scale_attn_by_inverse_layer_idx": True}),
    "not scaled": Form({"scale_attn_weights": False}),
    "upcast": Form({"reorder_and_upcast_attn": True}),
    "epsilon": Form({"layer_norm_epsilon": 1e-2}),
    "n_inner": Form({"n_inner": 100}),
}


def save(folder: Path, form: Form) -> Path:
    """A random model, none of whose biases is zero and none of whose gains is one."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(**SIZES, **form.config, bos_token_id=None, eos_token_id=None)
    model = getattr(transformers, form.kind)(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=WIDE_STD)
    model.to(form.dtype).save_pretrained(folder, **form.save)
    return folder


def in_transformers(folder: Path) -> Any:
    """Logits [V] after `TOKENS` of the model that `transformers` reads from the same files."""
    model = transformers.GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return model(torch.tensor([TOKENS])).logits[0, -1].numpy()


def on_device(device: Device, path: Path) -> Any:
    """Logits [V] after a prefill of `TOKENS`."""
    with find_checkpoint(str(path)) as checkpoint:
        return encoded(GPT2.load(device, checkpoint), TOKENS)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_saved_by_transformers(device: Device, tmp_path: Path, form: Form) -> None:
    folder = save(tmp_path, form)
    assert len(list(folder.glob("*.safetensors"))) > 1 or not form.save
    found, expected = on_device(device, folder), in_transformers(folder)
    check_logits("rgba32f", found, expected)
    assert_close(found, expected, LIMIT)


def test_the_forms_differ(tmp_path: Path) -> None:
    """Each switch of a configuration has its own logits, so that none is passed by ignoring it."""
    # Upcasting changes the order of computation only.
    same = ("upcast", "untied bf16")
    names = [name for name, form in FORMS.items() if form.config and name not in same]
    found = [in_transformers(save(tmp_path / name, FORMS[name])) for name in ["single", *names]]
    apart = [nmse(a, b) for i, a in enumerate(found) for b in found[:i]]
    assert min(apart) > 100 * LIMIT


# GGUF ---------------------------------------------------------------------------------------------

# Rows of Q8_0 are whole blocks of 32.
GGUF_CONFIG = tiny_config(**{**SIZES, "n_embd": 64})


def dequantised(weights: Arrays, kind: str) -> Arrays:
    """What `kind` keeps of the weights, computed from the definition of the format.

    Q8_0: each 32 values in a row share a float16 scale, their largest magnitude over 127.
    """
    return weights if kind == "F32" else {name: _q8_0(name, w) for name, w in weights.items()}


def _q8_0(name: str, weight: Any) -> Any:
    if weight.ndim == 1:
        return weight
    is_embedding = name.startswith(("wte", "wpe"))
    rows = weight if is_embedding else weight.T
    blocks = rows.reshape(-1, 32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / 127
    steps = np.round(np.divide(blocks, scale, where=scale > 0, out=np.zeros_like(blocks)))
    kept = (steps * scale.astype(np.float16).astype(np.float32)).reshape(rows.shape)
    return kept if is_embedding else kept.T


@pytest.mark.parametrize("kind", ["F32", "Q8_0"])
def test_written_by_the_gguf_package(device: Device, tmp_path: Path, kind: str) -> None:
    weights = {name: w * STD for name, w in tiny_weights(GGUF_CONFIG).items()}
    path = write_gguf(tmp_path / "model.gguf", GGUF_CONFIG, weights, kind)
    with find_checkpoint(str(path)) as checkpoint:
        config = checkpoint.config
    expected = gpt2_numpy.forward(dequantised(weights, kind), config, TOKENS)["logits"][-1]
    check_logits("rgba32f", on_device(device, path), expected)
