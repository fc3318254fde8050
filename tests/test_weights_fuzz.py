"""Damaged model files: whatever is in them, opening ends in a model or in one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import strategies as st

from gpt2gl.errors import Gpt2glError
from gpt2gl.weights import open_checkpoint
from tests.checkpoints import tiny_config, tiny_weights, write_checkpoint
from tests.gguf_files import MERGES, TOKEN_TYPES, TOKENS, write_gguf
from tests.mutations import (
    Damage,
    Draw,
    Mutation,
    any_bytes,
    any_value,
    fuzz_tests,
    odd_values,
    works_or_says_why,
)

CONFIG = tiny_config(vocab_size=6, n_positions=3, n_embd=4, n_layer=1, n_head=2)
WEIGHTS = tiny_weights(CONFIG)
TOKENIZER = {"model": "gpt2", "tokens": TOKENS, "token_type": TOKEN_TYPES, "merges": MERGES}
INDEX = "model.safetensors.index.json"


def open_all(path: Path) -> None:
    with open_checkpoint(path) as checkpoint:
        for tensor in checkpoint.tensors.values():
            assert tensor.read().shape == tensor.shape


def check(path: Path, raw: bytes) -> None:
    path.unlink()  # a file that is still mapped must not change
    path.write_bytes(raw)
    model = path.parent if path.suffix != ".gguf" else path
    works_or_says_why(lambda: open_all(model), Gpt2glError, str(model.parent))


def header_value(raw: bytes, draw: Draw) -> bytes:
    """A safetensors file whose header has something replaced or dropped."""
    length = int.from_bytes(raw[:8], "little")
    header = any_value(raw[8 : 8 + length], draw)
    return len(header).to_bytes(8, "little") + header + raw[8 + length :]


def config_value(raw: bytes, draw: Draw) -> bytes:
    """A configuration with one field replaced."""
    config = json.loads(raw)
    return json.dumps(config | {draw(st.sampled_from(sorted(config))): draw(odd_values)}).encode()


def gguf_number(raw: bytes, draw: Draw) -> bytes:
    """A GGUF file with a number written anywhere in front of its tensors."""
    value = draw(st.sampled_from([0, 1, 2**16, 2**31, 2**32, 2**62, 2**64 - 1]))
    place = int(draw(st.floats(0, 1)) * raw.index(b"output_norm.bias"))
    return raw[:place] + value.to_bytes(8, "little") + raw[place + 8 :]


# Which file, and what happens to it.
MUTATIONS: dict[str, tuple[str, Mutation]] = {
    "safetensors bytes": ("model.safetensors", any_bytes),
    "safetensors header": ("model.safetensors", header_value),
    "index bytes": (INDEX, any_bytes),
    "index values": (INDEX, any_value),
    "config bytes": ("config.json", any_bytes),
    "config values": ("config.json", config_value),
    "gguf bytes": ("m.gguf", any_bytes),
    "gguf numbers": ("m.gguf", gguf_number),
}


@pytest.fixture
def intact(tmp_path_factory: pytest.TempPathFactory, mutation: tuple[str, Mutation]) -> Path:
    """The file before, in a model of its own."""
    name, _ = mutation
    folder = tmp_path_factory.mktemp("model")
    if name == "m.gguf":
        return write_gguf(folder / name, CONFIG, WEIGHTS, tokenizer=TOKENIZER)
    return write_checkpoint(folder, CONFIG, WEIGHTS, shards=2 if name == INDEX else 1) / name


@pytest.fixture
def damage(intact: Path, mutation: tuple[str, Mutation]) -> Damage:
    """Damages the intact file anew each time, and opens it."""
    raw = intact.read_bytes()
    return lambda draw: check(intact, mutation[1](raw, draw))


test_damaged_models, test_many_more_damaged_models = fuzz_tests(MUTATIONS)
