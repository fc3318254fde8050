"""Damaged model files: whatever is in them, opening ends in a model or in one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl.errors import Gpt2glError
from gpt2gl.weights import open_checkpoint
from tests.checkpoints import tiny_config, tiny_weights, write_checkpoint
from tests.gguf_files import MERGES, TOKEN_TYPES, TOKENS, write_gguf

CONFIG = tiny_config(vocab_size=6, n_positions=3, n_embd=4, n_layer=1, n_head=2)
WEIGHTS = tiny_weights(CONFIG)
TOKENIZER = {"model": "gpt2", "tokens": TOKENS, "token_type": TOKEN_TYPES, "merges": MERGES}
INDEX = "model.safetensors.index.json"

cases = partial(settings, deadline=None, database=None)

odd_numbers = st.sampled_from([-1, 0, 1, 3, 2**31, 2**62, 2**63, 2**64, 10**400, 0.5, 1e308])
odd_texts = st.sampled_from(["", "F16", "I8", "BF16", "../x", "\0", "\n", "\ud800", "x" * 99])
odd_values = st.recursive(
    odd_numbers | odd_texts | st.sampled_from([None, True, False]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=2),
    max_leaves=4,
)
# Where (as a fraction of the length), how many bytes go, and what comes in their place.
byte_edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=9)), min_size=1, max_size=3
)


def edit_bytes(raw: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for place, removed, added in edits:
        at = int(place * len(raw))
        raw = raw[:at] + added + raw[at + removed :]
    return raw


def edit_json(value: Any, choose: Callable[[Any], Any]) -> Any:
    """Replace one value somewhere in a JSON tree, drop it, or rename its key."""
    if not isinstance(value, dict | list) or not value or choose(st.integers(0, 4)) == 0:
        return choose(odd_values)
    if isinstance(value, list):
        i = choose(st.integers(0, len(value) - 1))
        return [*value[:i], edit_json(value[i], choose), *value[i + 1 :]]
    key = choose(st.sampled_from(sorted(value)))
    rest = {k: v for k, v in value.items() if k != key}
    if choose(st.integers(0, 4)) == 0:
        return rest
    return {**rest, key: edit_json(value[key], choose)}


def opens_or_says_why(path: Path) -> None:
    try:
        with open_checkpoint(path) as checkpoint:
            for tensor in checkpoint.tensors.values():
                assert tensor.read().shape == tensor.shape
    except Gpt2glError as error:
        message = str(error)
        assert message.isprintable()
        assert str(path.parent) in message
        assert len(message) < 1200


def check(path: Path, raw: bytes) -> None:
    path.unlink()  # a file that is still mapped must not change
    path.write_bytes(raw)
    opens_or_says_why(path.parent if path.suffix != ".gguf" else path)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = write_checkpoint(tmp_path_factory.mktemp("single"), CONFIG, WEIGHTS)
    path = folder / "model.safetensors"
    return path, path.read_bytes()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = write_checkpoint(tmp_path_factory.mktemp("sharded"), CONFIG, WEIGHTS, shards=2)
    return folder / INDEX, (folder / INDEX).read_bytes()


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = write_checkpoint(tmp_path_factory.mktemp("config"), CONFIG, WEIGHTS)
    return folder / "config.json", json.dumps(CONFIG).encode()


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    write_gguf(path, CONFIG, WEIGHTS, tokenizer=TOKENIZER)
    return path, path.read_bytes()


@cases(max_examples=100)
@given(edits=byte_edits)
def test_safetensors_bytes(single: tuple[Path, bytes], edits: Any) -> None:
    path, raw = single
    check(path, edit_bytes(raw, edits))


@cases(max_examples=200)
@given(data=st.data())
def test_safetensors_header(single: tuple[Path, bytes], data: st.DataObject) -> None:
    path, raw = single
    length = int.from_bytes(raw[:8], "little")
    header = json.dumps(edit_json(json.loads(raw[8 : 8 + length]), data.draw)).encode()
    check(path, len(header).to_bytes(8, "little") + header + raw[8 + length :])


@cases(max_examples=50)
@given(edits=byte_edits)
def test_index_bytes(index: tuple[Path, bytes], edits: Any) -> None:
    path, raw = index
    check(path, edit_bytes(raw, edits))


@cases(max_examples=100)
@given(data=st.data())
def test_index_values(index: tuple[Path, bytes], data: st.DataObject) -> None:
    path, raw = index
    check(path, json.dumps(edit_json(json.loads(raw), data.draw)).encode())


@cases(max_examples=50)
@given(edits=byte_edits)
def test_config_bytes(config: tuple[Path, bytes], edits: Any) -> None:
    path, raw = config
    check(path, edit_bytes(raw, edits))


@cases(max_examples=100)
@given(name=st.sampled_from(sorted(CONFIG)), value=odd_values)
def test_config_values(config: tuple[Path, bytes], name: str, value: Any) -> None:
    path, _ = config
    check(path, json.dumps(CONFIG | {name: value}).encode())


@cases(max_examples=150)
@given(edits=byte_edits)
def test_gguf_bytes(gguf: tuple[Path, bytes], edits: Any) -> None:
    path, raw = gguf
    check(path, edit_bytes(raw, edits))


@cases(max_examples=100)
@given(at=st.floats(0, 1), value=st.sampled_from([0, 1, 2**16, 2**31, 2**32, 2**62, 2**64 - 1]))
def test_gguf_numbers(gguf: tuple[Path, bytes], at: float, value: int) -> None:
    path, raw = gguf
    header = raw.index(b"output_norm.bias")
    place = int(at * header)
    check(path, raw[:place] + value.to_bytes(8, "little") + raw[place + 8 :])
