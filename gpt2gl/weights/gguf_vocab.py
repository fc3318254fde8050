"""The byte-level BPE vocabulary in the metadata of a GGUF file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpt2gl.config import shown
from gpt2gl.errors import WeightError
from gpt2gl.weights.checkpoint import TokenizerVocab

# Values of tokenizer.ggml.pre that split text as GPT-2 does; old converters wrote none.
GPT2_SPLITS = (None, "default", "gpt-2", "phi-2")

# Values of tokenizer.ggml.token_type.
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4


def read_vocab(
    metadata: Mapping[str, Any], vocab_size: int, path: Path
) -> TokenizerVocab | None:
    """The vocabulary, or None where the file has none of GPT-2's kind.

    Entries that only pad the table (type "unused") are left out.

    Raises:
        WeightError: lists of different lengths, repeated tokens, merges that are not pairs, or
            more tokens than the embedding has rows.
    """
    is_bpe = metadata.get("tokenizer.ggml.model") == "gpt2"
    if not is_bpe or metadata.get("tokenizer.ggml.pre") not in GPT2_SPLITS:
        return None
    tokens, merges = (_texts(metadata, name, path) for name in ("tokens", "merges"))
    kinds = metadata.get("tokenizer.ggml.token_type", [NORMAL] * len(tokens))
    if not isinstance(kinds, list) or len(kinds) != len(tokens) or len(tokens) > vocab_size:
        problem = "tokenizer.ggml.tokens does not fit token_type or the embedding"
        raise WeightError(f"{path}: {problem}: convert the model again")
    special = (CONTROL, USER_DEFINED)
    return TokenizerVocab(
        _unique(((tokens[i], i) for i, kind in enumerate(kinds) if kind == NORMAL), path),
        [_pair(merge, path) for merge in merges],
        _unique(((tokens[i], i) for i, kind in enumerate(kinds) if kind in special), path),
    )


def _texts(metadata: Mapping[str, Any], name: str, path: Path) -> list[str]:
    value = metadata.get(f"tokenizer.ggml.{name}")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        problem = f"tokenizer.ggml.{name} is missing or not a list of text"
        raise WeightError(f"{path}: {problem}: convert the model again")
    return value


def _unique(entries: Iterable[tuple[str, int]], path: Path) -> dict[str, int]:
    result: dict[str, int] = {}
    for text, token in entries:
        if result.setdefault(text, token) != token:
            problem = f"token {shown(text)} is given twice"
            raise WeightError(f"{path}: {problem}: convert the model again")
    return result


def _pair(merge: str, path: Path) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    if not left or not right or " " in right:
        raise WeightError(f"{path}: {shown(merge)} is not a merge: convert the model again")
    return left, right
