"""The safetensors reader: damaged headers, damaged indexes, links that lead elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpt2gl.errors import WeightError
from gpt2gl.weights import open_checkpoint
from gpt2gl.weights.arrays import MappedFile
from gpt2gl.weights.safetensors import read_header
from tests.checkpoints import (
    save_arrays,
    tiny_config,
    tiny_weights,
    write_checkpoint,
    write_index,
)

Header = dict[str, Any]
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def write(path: Path, header: Header | bytes, data: bytes = b"", length: int | None = None) -> Path:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(raw) if length is None else length).to_bytes(8, "little") + raw + data)
    return path


def entry(shape: object = (2,), dtype: object = "F32", offsets: object = (0, 8)) -> Header:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def refusal(path: Path) -> str:
    with pytest.raises(WeightError) as caught:
        read_header(MappedFile(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 300
    return message


def test_reads_what_the_official_library_writes(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones((), np.int64)}
    save_arrays(tmp_path / "x.safetensors", arrays)
    found = read_header(MappedFile(tmp_path / "x.safetensors"))
    assert {n: (a.shape, a.dtype) for n, a in found.items()} == {
        "a": ((2, 3), "F32"),
        "b": ((), "I64"),
    }
    np.testing.assert_array_equal(found["a"].floats(()), arrays["a"])


def test_empty_tensors_and_padding_of_the_header(tmp_path: Path) -> None:
    header = json.dumps({"a": entry(), "b": entry([0, 5], "F16", [8, 8])}).encode() + b"   "
    found = read_header(MappedFile(write(tmp_path / "x", header, bytes(8))))
    assert found["b"].floats(()).shape == (0, 5)


def test_empty_and_short_files(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"")
    with pytest.raises(WeightError, match="the file is empty"):
        MappedFile(path)
    path.write_bytes(b"1234567")
    assert "file is 7 bytes, too short" in refusal(path)


def test_truncated_file_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"a": entry([1000], offsets=[0, 4000])}, bytes(3999))
    size = path.stat().st_size
    assert f"file is {size} bytes, header promises {size + 1}: download it again" in refusal(path)


def test_truncated_header_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "x", b"{}", length=500)
    assert "file is 10 bytes, header promises at least 508: download it again" in refusal(path)


def test_bytes_after_the_last_tensor_are_refused(tmp_path: Path) -> None:
    assert "header promises" in refusal(write(tmp_path / "x", {"a": entry()}, bytes(9)))


@pytest.mark.parametrize("length", [100_000_001, 2**62, 2**64 - 1])
def test_absurd_header_length(tmp_path: Path, length: int) -> None:
    message = refusal(write(tmp_path / "x", b"{}", length=length))
    assert f"header length {length}" in message


@pytest.mark.parametrize(
    "header", [b"", b"{", b"[]", b"null", b"\xff\xff", b'{"a":1,"a":2}', b"[" * 50_000]
)
def test_damaged_json(tmp_path: Path, header: bytes) -> None:
    assert "JSON" in refusal(write(tmp_path / "x", header)) or header == b'{"a":1,"a":2}'


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (3, "needs dtype, shape and data_offsets"),
        ({"dtype": "F32", "shape": [2]}, "needs dtype, shape and data_offsets"),
        (entry(dtype="F128"), "unknown dtype 'F128'"),
        (entry(dtype=["F32"]), "unknown dtype ['F32']"),
        (entry(dtype=None), "unknown dtype None"),
        (entry("2"), "impossible shape '2'"),
        (entry([-2]), "impossible shape [-2]"),
        (entry([2.0]), "impossible shape [2.0]"),
        (entry([True, 2]), "impossible shape [True, 2]"),
        (entry([1] * 9), "impossible shape"),
        (entry([2**63]), "impossible shape"),
        (entry([2**62]), "does not fill data_offsets [0, 8]"),
        (entry([2**62, 2**62, 4]), "does not fill data_offsets"),
        (entry([3]), "does not fill data_offsets [0, 8]"),
        (entry(dtype="F64"), "does not fill data_offsets [0, 8]"),
        (entry(offsets=[8, 0]), "bad data_offsets [8, 0]"),
        (entry(offsets=[-8, 0]), "bad data_offsets [-8, 0]"),
        (entry(offsets=[0]), "bad data_offsets [0]"),
        (entry(offsets=[0, 8, 8]), "bad data_offsets"),
        (entry(offsets=None), "bad data_offsets None"),
        (entry(offsets=[0, 10**400]), "bad data_offsets"),
        (entry(offsets=[2**62, 2**62 + 8]), "header promises"),
        (entry(offsets=[8, 16]), "header promises"),
    ],
)
def test_damaged_entries(tmp_path: Path, bad: Any, reason: str) -> None:
    message = refusal(write(tmp_path / "x", {"weight\n": bad}, bytes(8)))
    assert reason in message
    assert r"weight\n" in message or reason == "header promises"


def test_overlapping_tensors(tmp_path: Path) -> None:
    header = {"a": entry([3], offsets=[0, 12]), "b": entry([2], offsets=[8, 16])}
    assert "'a' and 'b' overlap" in refusal(write(tmp_path / "x", header, bytes(16)))


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "model", shards=2)


def index_refusal(folder: Path) -> str:
    with pytest.raises(WeightError) as caught:
        open_checkpoint(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message
    return message


def weight_map(folder: Path) -> dict[str, Any]:
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    return dict(index["weight_map"])


def test_missing_shard(sharded: Path) -> None:
    (sharded / SECOND).unlink()
    message = index_refusal(sharded)
    assert f"{SECOND}: no such file: the model is incomplete" in message


def test_truncated_shard(sharded: Path) -> None:
    shard = sharded / SECOND
    shard.write_bytes(shard.read_bytes()[:-100])
    assert "header promises" in index_refusal(sharded)


@pytest.mark.parametrize(
    "shard",
    [
        "../model.safetensors",
        "/etc/model.safetensors",
        "sub/model.safetensors",
        "..\\model.safetensors",
        "C:model.safetensors",
        "model.bin",
        "a\nb.safetensors",
        "\0.safetensors",
        "\ud800.safetensors",
        "",
        3,
        None,
    ],
)
def test_shard_names_that_leave_the_folder(sharded: Path, shard: object) -> None:
    write_index(sharded, {**weight_map(sharded), "ln_f.bias": shard})
    assert "is not a plain .safetensors file name" in index_refusal(sharded)


def test_too_long_shard_name(sharded: Path) -> None:
    write_index(sharded, {**weight_map(sharded), "ln_f.bias": "a" * 5000 + ".safetensors"})
    assert "no such file" in index_refusal(sharded)


@pytest.mark.parametrize("value", [None, [], {}, "x"])
def test_index_without_map(sharded: Path, value: Any) -> None:
    write_index(sharded, value)
    assert "no weight_map" in index_refusal(sharded)


def test_oversized_index(sharded: Path) -> None:
    with (sharded / "model.safetensors.index.json").open("ab") as file:
        file.truncate(100_000_001)
    assert "too large for an index" in index_refusal(sharded)


def test_index_and_shards_must_agree(sharded: Path) -> None:
    names = weight_map(sharded)
    moved = {**names, "wte.weight": SECOND}
    assert names["wte.weight"] == FIRST
    write_index(sharded, moved)
    assert "tensors that the index does not name here: wte.weight" in index_refusal(sharded)
    write_index(sharded, {**names, "h.7.extra": SECOND})
    assert "missing tensors that the index names: h.7.extra" in index_refusal(sharded)


def move_and_link(shard: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shard.rename(target)
    shard.symlink_to(target)


@pytest.mark.skipif(os.name == "nt", reason="Windows gives links only to administrators")
@pytest.mark.parametrize(
    "place", [lambda f: f.parent / "elsewhere.safetensors", lambda f: f / "sub" / FIRST]
)
def test_links_out_of_the_folder_are_refused(sharded: Path, place: Callable[[Path], Path]) -> None:
    move_and_link(sharded / FIRST, place(sharded))
    assert "a link that leads out of the model's folder" in index_refusal(sharded)


@pytest.mark.skipif(os.name == "nt", reason="Windows gives links only to administrators")
def test_link_loops_are_refused(sharded: Path) -> None:
    (sharded / FIRST).unlink()
    (sharded / FIRST).symlink_to(FIRST)
    assert FIRST in index_refusal(sharded)


@pytest.mark.skipif(os.name == "nt", reason="Windows gives links only to administrators")
def test_links_of_the_hub_cache_are_followed(tmp_path: Path) -> None:
    repository = tmp_path / "models--gpt2"
    folder = write_checkpoint(repository / "snapshots" / "abc", shards=2)
    for i, shard in enumerate([FIRST, SECOND]):
        move_and_link(folder / shard, repository / "blobs" / f"hash{i}")
    with open_checkpoint(folder) as checkpoint:
        expected = tiny_weights(tiny_config())["wte.weight"]
        np.testing.assert_array_equal(checkpoint.tensors["wte.weight"].read(), expected)
