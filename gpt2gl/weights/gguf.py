"""Reader of GGUF files of architecture gpt2, plain and quantised.

Tensor names and metadata keys are those of llama.cpp's converter. GGUF holds matrices as
[out, in] and no activation name; llama.cpp runs gpt2 with tanh GELU (`gelu_new`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpt2gl.config import ModelConfig, shown
from gpt2gl.errors import WeightError
from gpt2gl.weights.arrays import Floats, Index, MappedArray, MappedFile, StoredArray
from gpt2gl.weights.checkpoint import StoredCheckpoint
from gpt2gl.weights.gguf_guard import check_header
from gpt2gl.weights.gguf_vocab import read_vocab

if TYPE_CHECKING:
    from pathlib import Path

    from gguf import GGUFReader
    from gguf.gguf_reader import ReaderTensor

PLAIN_TYPES = ("F64", "F32", "F16", "BF16")
QUANTISED_TYPES = (
    "Q8_0",
    "Q4_0",
    "Q4_1",
    "Q5_0",
    "Q5_1",
    "Q2_K",
    "Q3_K",
    "Q4_K",
    "Q5_K",
    "Q6_K",
)

GLOBAL_NAMES: Mapping[str, str] = {
    "token_embd.weight": "wte.weight",
    "position_embd.weight": "wpe.weight",
    "output_norm.weight": "ln_f.weight",
    "output_norm.bias": "ln_f.bias",
    "output.weight": "lm_head.weight",
}
BLOCK_NAMES: Mapping[str, str] = {
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")

# config.json field -> metadata key.
CONFIG_KEYS: Mapping[str, str] = {
    "n_positions": "gpt2.context_length",
    "n_embd": "gpt2.embedding_length",
    "n_inner": "gpt2.feed_forward_length",
    "n_layer": "gpt2.block_count",
    "n_head": "gpt2.attention.head_count",
    "layer_norm_epsilon": "gpt2.attention.layer_norm_epsilon",
}
OPTIONAL_KEYS: Mapping[str, str] = {
    "bos_token_id": "tokenizer.ggml.bos_token_id",
    "eos_token_id": "tokenizer.ggml.eos_token_id",
}


def read_gguf(path: Path) -> StoredCheckpoint:
    """Open a GGUF file of architecture gpt2; config and vocabulary come from its metadata.

    `tokenizer_vocab` is None where the file has no vocabulary of GPT-2's kind (byte-level BPE
    with GPT-2's split of text).
    """
    file = MappedFile(path)
    check_header(file)
    reader = _reader(file)
    metadata = _metadata(reader, path)
    if metadata.get("general.architecture") != "gpt2":
        found = shown(metadata.get("general.architecture"))
        raise WeightError(f"{path}: architecture is {found}: only gpt2 models can be run")
    arrays = {_canonical(t.name): _stored(file, t) for t in reader.tensors}
    config = _config(metadata, arrays, path)
    vocab = read_vocab(metadata, config.vocab_size, path)
    return StoredCheckpoint(config, arrays, None, vocab, file.close)


@dataclass(frozen=True)
class QuantisedArray:
    """An array in blocks of quantised values along its last axis."""

    file: MappedFile
    shape: tuple[int, ...]
    dtype: str
    offset: int

    @property
    def convertible(self) -> bool:
        return self.dtype in QUANTISED_TYPES

    def floats(self, index: Index) -> Floats:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
        from gguf.quants import dequantize

        kind = GGMLQuantizationType[self.dtype]
        values, size = GGML_QUANT_SIZES[kind]  # of one block: how many values, how many bytes
        index = index + (slice(None),) * (len(self.shape) - len(index))
        start, stop, _ = index[-1].indices(self.shape[-1])
        first, last = start // values, -(-stop // values)
        stored = self.file.view(np.uint8, self._byte_shape(values, size), self.offset)
        window = (*index[:-1], slice(first, last))
        part = stored[window]  # [..., blocks, bytes of a block]
        with np.errstate(over="ignore", invalid="ignore"):  # damaged scales give inf and NaN
            flat = dequantize(np.ascontiguousarray(part).reshape(-1, size), kind)
        floats: Floats = flat.reshape((*part.shape[:-2], part.shape[-2] * values))
        return floats[..., start - first * values : stop - first * values]

    def _byte_shape(self, values: int, size: int) -> tuple[int, ...]:
        return (*self.shape[:-1], self.shape[-1] // values, size)


def _reader(file: MappedFile) -> GGUFReader:
    from gguf import GGUFReader

    try:
        return GGUFReader(file.path)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        problem = shown(str(error), 120)[1:-1]
        damage = f"damaged or incomplete GGUF ({problem})"
        raise WeightError(f"{file.path}: {damage}: download it again") from None


def _metadata(reader: GGUFReader, path: Path) -> dict[str, Any]:
    try:
        return {name: f.contents() for name, f in reader.fields.items() if not _is_counter(name)}
    except ValueError:
        raise WeightError(f"{path}: metadata is not UTF-8: download the file again") from None


def _is_counter(name: str) -> bool:
    return name.startswith("GGUF.")


def _canonical(name: str) -> str:
    block = _BLOCK.fullmatch(name)
    if block is None:
        return GLOBAL_NAMES.get(name, name)
    layer, part, kind = block.groups()
    return f"h.{layer}.{BLOCK_NAMES[part]}.{kind}" if part in BLOCK_NAMES else name


def _stored(file: MappedFile, tensor: ReaderTensor) -> StoredArray:
    shape = tuple(int(n) for n in reversed(tensor.shape))
    dtype = tensor.tensor_type.name
    kind = MappedArray if dtype in PLAIN_TYPES else QuantisedArray
    return kind(file, shape, dtype, tensor.data_offset)


def _config(
    metadata: Mapping[str, Any], arrays: Mapping[str, StoredArray], path: Path
) -> ModelConfig:
    missing = [key for key in CONFIG_KEYS.values() if key not in metadata]
    embedding = arrays.get("wte.weight")
    if missing or embedding is None or not embedding.shape:
        lacks = ", ".join(missing) or "token_embd.weight"
        raise WeightError(f"{path}: {lacks} is missing: convert the model again")
    raw: dict[str, Any] = {name: metadata[key] for name, key in CONFIG_KEYS.items()}
    raw.update({name: metadata.get(key) for name, key in OPTIONAL_KEYS.items()})
    if isinstance(raw["layer_norm_epsilon"], float):
        # Stored as float32: the shortest decimal is the number that was meant, e.g. 1e-05.
        raw["layer_norm_epsilon"] = float(str(np.float32(raw["layer_norm_epsilon"])))
    raw.update(model_type="gpt2", vocab_size=embedding.shape[0], activation_function="gelu_new")
    return ModelConfig.from_dict(raw, str(path))
