"""Which files of a repository are needed: its weights in one form, and the small ones beside."""

from __future__ import annotations

import re
from collections.abc import Collection

from gpt2gl.errors import DownloadError

CONFIG = "config.json"
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
SUPPORT = (
    CONFIG,
    "dialogue.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "encoder.json",
    "vocab.bpe",
)
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors", re.ASCII)
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")


def needed_files(names: Collection[str], model_id: str) -> list[str]:
    """The names to fetch, small files first; never pickled weights, which can run code when read.

    Raises:
        DownloadError: there are no weights of a known form, or there is no config to them.
    """
    weights = _weights(names, model_id)
    if weights[0].endswith(".gguf"):
        return weights
    if CONFIG not in names:
        raise DownloadError(f"{model_id} has no {CONFIG}: choose a model in Hugging Face layout")
    return [name for name in SUPPORT if name in names] + weights


def _weights(names: Collection[str], model_id: str) -> list[str]:
    if SINGLE in names:
        return [SINGLE]
    shards = sorted(filter(_SHARD.fullmatch, names))
    if INDEX in names and shards:
        return [INDEX, *shards]
    ggufs = [name for name in names if name.lower().endswith(".gguf") and "/" not in name]
    if len(ggufs) == 1:
        return ggufs
    raise DownloadError(f"{model_id} {_why_not(names, ggufs)}")


def _why_not(names: Collection[str], ggufs: Collection[str]) -> str:
    if ggufs:
        return f"has {len(ggufs)} GGUF files: fetch one of them yourself and give its path"
    if any(name.endswith(_PICKLES) for name in names):
        return (
            "has only pickled weights, which can run code when read:"
            " save it with transformers as safetensors and give that folder"
        )
    return f"has no {SINGLE}: choose a model with safetensors weights"
