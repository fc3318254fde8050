"""Convert llm-viz's gpt-nano-sort JSON files into the test fixture tests/data/gpt_nano_sort.

Usage: python tools/convert_nano_sort.py MODEL.json PARTIALS.json OUT_FOLDER

Writes OUT_FOLDER/model/{config.json,model.safetensors} in the layout of a Hugging Face GPT-2 folder
and OUT_FOLDER/partials.npz. Each JSON file is one object: `config`, and per tensor
{"shape": [...], "dtype": "torch.float32", "data": base64 of little-endian values in C order}.
"""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

Array = npt.NDArray[np.float32]

# minGPT keeps these as nn.Linear [out, in]; GPT-2 checkpoints as Conv1D [in, out].
TRANSPOSED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")

# Causal masks, stored among the weights.
BUFFERS = (".attn.bias",)

# Name in the partials file -> name in a trace. Inner stages exist for block 0 only.
TRACE_NAMES = {
    "x": "embed",
    "ln1": "h.0.ln_1",
    "q": "h.0.attn.q",
    "k": "h.0.attn.k",
    "v": "h.0.attn.v",
    "att": "h.0.attn.scores",
    "attSm": "h.0.attn.probs",
    "y": "h.0.attn.z",
    "yProj": "h.0.attn.out",
    "attnResid": "h.0.resid_mid",
    "ln2": "h.0.ln_2",
    "fc": "h.0.mlp.fc",
    "gelu": "h.0.mlp.act",
    "mlp": "h.0.mlp.out",
    "block0": "h.0.resid_post",
    "block1": "h.1.resid_post",
    "block2": "h.2.resid_post",
    "ln_f": "ln_f",
    "lm_head": "logits",
}
SPLIT_INTO_HEADS = ("q", "k", "v")


def main() -> None:
    parser = argparse.ArgumentParser(description="Convert gpt-nano-sort into the test fixture.")
    parser.add_argument("model", type=Path, help="gpt-nano-sort-model.json")
    parser.add_argument("partials", type=Path, help="gpt-nano-sort-t0-partials.json")
    parser.add_argument("out", type=Path, help="folder to write model/ and partials.npz into")
    args = parser.parse_args()
    config, weights = read_json(args.model)
    _, activations = read_json(args.partials)
    write_model(args.out / "model", config, weights)
    np.savez_compressed(args.out / "partials.npz", **convert_partials(activations))


def read_json(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The `config` object and the tensors of one file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    config = content.pop("config")
    return config, {name: decode(tensor) for name, tensor in content.items()}


def decode(tensor: dict[str, Any]) -> Array:
    if tensor["dtype"] != "torch.float32":
        raise ValueError(f"dtype {tensor['dtype']}: only torch.float32 is known")
    values = np.frombuffer(base64.b64decode(tensor["data"]), "<f4")
    shaped: Array = values.reshape(tensor["shape"])
    return shaped


def write_model(folder: Path, config: dict[str, Any], weights: dict[str, Array]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(convert_config(config), indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    content = save(convert_weights(weights), metadata={"format": "pt"})
    (folder / "model.safetensors").write_bytes(content)


def convert_config(config: dict[str, Any]) -> dict[str, Any]:
    """The minGPT config in the names of a GPT-2 `config.json`; what minGPT fixes is spelt out."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config["vocab_size"],
        "n_positions": config["block_size"],
        "n_embd": config["n_embd"],
        "n_layer": config["n_layer"],
        "n_head": config["n_head"],
        "n_inner": None,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": None,
    }


def convert_weights(weights: dict[str, Array]) -> dict[str, Array]:
    kept = {name: w for name, w in weights.items() if not name.endswith(BUFFERS)}
    return {
        name: np.ascontiguousarray(w.T if name.endswith(TRANSPOSED) else w)
        for name, w in kept.items()
    }


def convert_partials(activations: dict[str, Array]) -> dict[str, Any]:
    """Activations by trace name with a leading batch axis, and the `tokens` that gave them."""
    joined = {
        name: join_heads(x) if name in SPLIT_INTO_HEADS else x for name, x in activations.items()
    }
    traced = {trace_name: joined[name] for name, trace_name in TRACE_NAMES.items()}
    return {"tokens": activations["idx"].astype(np.int64), **traced}


def join_heads(x: Array) -> Array:
    """[batch, head, position, D] -> [batch, position, head * D]."""
    batch, _, positions, _ = x.shape
    joined: Array = x.transpose(0, 2, 1, 3).reshape(batch, positions, -1)
    return joined


if __name__ == "__main__":
    main()
