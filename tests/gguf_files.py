"""Tiny GGUF files, written with the official `gguf` package as llama.cpp's converter does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import QuantError, quantize

from tests.checkpoints import Arrays, linear

GGUF_NAMES: Mapping[str, str] = {
    "wte.weight": "token_embd.weight",
    "wpe.weight": "position_embd.weight",
    "ln_f": "output_norm",
    "lm_head.weight": "output.weight",
    "h.": "blk.",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
    "ln_1": "attn_norm",
    "ln_2": "ffn_norm",
}
TOKENS = ["a", "b", "c", "ab", "<|endoftext|>", "[PAD5]"]
TOKEN_TYPES = [*[TokenType.NORMAL] * 4, TokenType.CONTROL, TokenType.UNUSED]
MERGES = ["a b"]


def gguf_name(name: str) -> str:
    for ours, theirs in GGUF_NAMES.items():
        name = name.replace(ours, theirs)
    return name


def write_gguf(
    path: Path,
    config: Mapping[str, Any],
    weights: Arrays,
    kind: str = "F32",
    *,
    arch: str = "gpt2",
    tokenizer: Mapping[str, Any] | None = None,
) -> Path:
    """A GGUF model; matrices are stored as `kind` where their width allows it, vectors as F32.

    K-quants have no quantiser in Python: their bytes are random.
    """
    writer = GGUFWriter(path, arch)
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(config.get("n_inner") or 4 * config["n_embd"])
    writer.add_block_count(config["n_layer"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(1e-5)
    for key, value in (tokenizer or {}).items():
        add_tokenizer_value(writer, key, value)
    for name, array in linear(weights).items():
        data, stored = stored_form(np.ascontiguousarray(array), kind)
        writer.add_tensor(gguf_name(name), data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_tokenizer_value(writer: GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, str):
        writer.add_string(f"tokenizer.ggml.{key}", value)
    elif isinstance(value, Sequence):
        writer.add_array(f"tokenizer.ggml.{key}", value)
    else:
        writer.add_uint32(f"tokenizer.ggml.{key}", value)


def stored_form(array: Any, kind: str) -> tuple[Any, GGMLQuantizationType]:
    stored = GGMLQuantizationType[kind] if array.ndim > 1 else GGMLQuantizationType.F32
    if kind in ("I8", "F64") and array.ndim > 1:
        return array.astype({"I8": np.int8, "F64": np.float64}[kind]), stored
    try:
        return quantize(array, stored), stored
    except QuantError:
        return array, GGMLQuantizationType.F32
    except NotImplementedError:
        return random_blocks(array.shape, stored), stored


def random_blocks(shape: tuple[int, ...], kind: GGMLQuantizationType) -> Any:
    from gguf.quants import quant_shape_to_byte_shape

    size = quant_shape_to_byte_shape(shape, kind)
    return np.random.default_rng(0).integers(0, 256, size, np.uint8)
