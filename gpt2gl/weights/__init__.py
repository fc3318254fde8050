"""Reading model weights: one reader per file format, one canonical form for the engine.

A new format is one new module and one row of `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from gpt2gl.config import shown
from gpt2gl.errors import ModelNotFound, WeightError
from gpt2gl.weights.arrays import LazyTensor
from gpt2gl.weights.checkpoint import Checkpoint, StoredCheckpoint, TokenizerVocab, fit
from gpt2gl.weights.gguf import read_gguf
from gpt2gl.weights.random import random_checkpoint
from gpt2gl.weights.safetensors import INDEX_NAME, SINGLE_NAME, read_sharded, read_single

__all__ = [
    "FORMATS",
    "Checkpoint",
    "LazyTensor",
    "StoredCheckpoint",
    "TokenizerVocab",
    "open_checkpoint",
    "random_checkpoint",
]

# End of the file's name -> reader. Each reader returns tensors as stored; `fit` does the rest.
FORMATS: Mapping[str, Callable[[Path], StoredCheckpoint]] = {
    ".safetensors": read_single,
    ".safetensors.index.json": read_sharded,
    ".gguf": read_gguf,
}

# Looked for in a folder, in the order of `transformers`.
FOLDER_FILES = (SINGLE_NAME, INDEX_NAME)

_PICKLES = (".bin", ".pt", ".pth", ".ckpt")


def open_checkpoint(path: Path) -> Checkpoint:
    """Open a model for reading; no tensor data is read yet.

    Args:
        path: a folder in Hugging Face layout (`config.json` and `model.safetensors`, or shards
            with `model.safetensors.index.json`), one `.safetensors` file with its
            `config.json` beside it, or a `.gguf` file.

    Raises:
        ModelNotFound: nothing is at `path`.
        ConfigError: the config is missing, unreadable, or not a GPT-2 model's.
        WeightError: the weights are damaged, of an unknown format, or do not fit the config.
    """
    if not os.path.exists(path):
        raise ModelNotFound(f"{path}: no such file or folder: check the path")
    weights = _weights_in(path) if path.is_dir() else path
    stored = _reader(weights)(weights)
    try:
        return fit(stored, path)
    except BaseException:
        stored.close()
        raise


def _weights_in(folder: Path) -> Path:
    names = _names_in(folder)
    for name in FOLDER_FILES:
        if name in names:
            return folder / name
    found = [name for name in names if name.endswith((*_PICKLES, *FORMATS))]
    if not found:
        raise WeightError(f"{folder}: no weights: a model folder needs {' or '.join(FOLDER_FILES)}")
    raise WeightError(f"{folder}: no {SINGLE_NAME}, but {shown(found[0])}: {_advice(found[0])}")


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        reason = error.strerror
        raise WeightError(f"{folder}: cannot be read ({reason}): check permissions") from None


def _advice(name: str) -> str:
    if name.endswith(_PICKLES):
        return "pickled weights can run code when read, convert them to safetensors"
    return "give the path of that file instead of the folder"


def _reader(path: Path) -> Callable[[Path], StoredCheckpoint]:
    for suffix, reader in FORMATS.items():
        if path.name.lower().endswith(suffix):
            return reader
    advice = _advice(path.name) if path.suffix in _PICKLES else "convert it to safetensors"
    raise WeightError(f"{path}: unknown weight format, known are {', '.join(FORMATS)}: {advice}")
