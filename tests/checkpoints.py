"""Tiny GPT-2 checkpoints on disk, in the variants that different programs write.

Files are written with the official `safetensors` library, so that the project's own reader is
compared with somebody else's writer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from gpt2gl.weights.names import TRANSPOSABLE

Arrays = dict[str, npt.NDArray[Any]]

TINY: Mapping[str, Any] = {
    "model_type": "gpt2",
    "vocab_size": 13,
    "n_positions": 7,
    "n_embd": 12,
    "n_layer": 2,
    "n_head": 3,
}

def tiny_config(**changes: Any) -> dict[str, Any]:
    """`config.json` of a model with 2 layers of width 12, with `changes`."""
    return {**TINY, **changes}


def tiny_weights(config: Mapping[str, Any], seed: int = 0, *, untied: bool = False) -> Arrays:
    """Random float32 weights by canonical name, in Conv1D orientation.

    Values have few bits, so that they are exact in float16 and bfloat16 as well.
    """
    e, inner = config["n_embd"], config.get("n_inner") or 4 * config["n_embd"]
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (config["vocab_size"], e),
        "wpe.weight": (config["n_positions"], e),
    }
    for i in range(config["n_layer"]):
        h = f"h.{i}"
        shapes |= {f"{h}.ln_1.weight": (e,), f"{h}.ln_1.bias": (e,)}
        shapes |= {f"{h}.attn.c_attn.weight": (e, 3 * e), f"{h}.attn.c_attn.bias": (3 * e,)}
        shapes |= {f"{h}.attn.c_proj.weight": (e, e), f"{h}.attn.c_proj.bias": (e,)}
        shapes |= {f"{h}.ln_2.weight": (e,), f"{h}.ln_2.bias": (e,)}
        shapes |= {f"{h}.mlp.c_fc.weight": (e, inner), f"{h}.mlp.c_fc.bias": (inner,)}
        shapes |= {f"{h}.mlp.c_proj.weight": (inner, e), f"{h}.mlp.c_proj.bias": (e,)}
    shapes |= {"ln_f.weight": (e,), "ln_f.bias": (e,)}
    if untied:
        shapes["lm_head.weight"] = shapes["wte.weight"]
    random = np.random.default_rng(seed)
    return {
        name: (random.integers(-127, 128, shape) / 64).astype(np.float32)
        for name, shape in shapes.items()
    }


def linear(weights: Arrays) -> Arrays:
    """The same model as nn.Linear writes it: matrices of the blocks are [out, in]."""
    return {n: a.T if n.endswith(TRANSPOSABLE) else a for n, a in weights.items()}


def prefixed(weights: Arrays, prefix: str = "transformer.") -> Arrays:
    """The same tensors under other names; `lm_head` stays outside `transformer.`"""
    outer = prefix.removesuffix("transformer.")
    return {(outer if n.startswith("lm_head") else prefix) + n: a for n, a in weights.items()}


def without_biases(weights: Arrays) -> Arrays:
    """What nanoGPT's `bias=False` leaves."""
    return {n: a for n, a in weights.items() if not n.endswith(".bias")}


def save_arrays(path: Path, arrays: Arrays, dtype: str = "float32") -> None:
    """One safetensors file; float arrays become `dtype`, integers and booleans stay."""
    whole = {name: np.array(array, order="C") for name, array in arrays.items()}
    if dtype == "bfloat16":
        _save_bfloat16(path, whole)
        return
    floats = {n: a.astype(dtype) for n, a in whole.items() if a.dtype.kind == "f"}
    save_file({**whole, **floats}, path, {"format": "pt"})


def _save_bfloat16(path: Path, arrays: Arrays) -> None:
    # NumPy has no bfloat16.
    import torch
    from safetensors import torch as safetensors_torch

    tensors = {n: torch.from_numpy(a).to(torch.bfloat16) for n, a in arrays.items()}
    safetensors_torch.save_file(tensors, path)


def write_checkpoint(
    folder: Path,
    config: Mapping[str, Any] = TINY,
    arrays: Arrays | None = None,
    *,
    dtype: str = "float32",
    shards: int = 1,
) -> Path:
    """A model folder in Hugging Face layout; returns it. Default weights: `tiny_weights`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    arrays = tiny_weights(config) if arrays is None else arrays
    if shards == 1:
        save_arrays(folder / "model.safetensors", arrays, dtype)
    else:
        _write_shards(folder, arrays, dtype, shards)
    return folder


def _write_shards(folder: Path, arrays: Arrays, dtype: str, shards: int) -> None:
    weight_map: dict[str, str] = {}
    for i in range(shards):
        name = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        part = dict(list(arrays.items())[i::shards])
        save_arrays(folder / name, part, dtype)
        weight_map.update(dict.fromkeys(part, name))
    write_index(folder, weight_map)


def write_index(folder: Path, weight_map: Mapping[str, Any]) -> None:
    """The index of a sharded model."""
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
