"""Packed weights on disk: made once, the same afterwards, and never in the way."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpt2gl import quantised_cache
from gpt2gl.gl.device import Device
from gpt2gl.models import gpt2_weights
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.quantised_file import Damaged, Piece, Reader, Writer
from gpt2gl.weights import open_checkpoint, random_checkpoint
from gpt2gl.weights.arrays import LazyTensor
from tests.checkpoints import tiny_config, tiny_weights, write_checkpoint
from tests.models import config as model_config
from tests.models import encoded

CONFIG = tiny_config(vocab_size=50, n_embd=36, n_layer=1)  # heads of 12, one int4 group and a rest
PADDED = tiny_config(vocab_size=50, n_embd=30, n_layer=1)  # heads of 10
PACKED = ("f16", "int8", "int4")
TOKENS = (3, 12, 0, 7)

Load = Callable[..., list[bytes]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache that keeps models of any size; its folder of packed weights."""
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(quantised_cache, "MIN_VALUES", 0)
    return tmp_path / "cache" / "quantised"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "model", CONFIG)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tensors that are read from checkpoints."""
    names: list[str] = []
    original = LazyTensor.read_rows

    def read_rows(self: LazyTensor, start: int, stop: int) -> Any:
        names.append(self.name)
        return original(self, start, stop)

    monkeypatch.setattr(LazyTensor, "read_rows", read_rows)
    return names


@pytest.fixture
def load(device: Device, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Uploads a model; returns the bytes of everything that goes onto the device."""
    uploaded: list[bytes] = []
    originals = (gpt2_weights.upload_packed, gpt2_weights.upload_rows)

    def upload_packed(device: Device, layout: Any, k: int, n: int, pieces: Any) -> Any:
        return originals[0](device, layout, k, n, map(seen, pieces))

    def seen(piece: Piece) -> Piece:
        uploaded.extend(part.tobytes() for part in piece[1:] if part is not None)
        return piece

    def upload_rows(device: Device, values: Any, use: str) -> Any:
        uploaded.append(values.tobytes())
        return originals[1](device, values, use)

    monkeypatch.setattr(gpt2_weights, "upload_packed", upload_packed)
    monkeypatch.setattr(gpt2_weights, "upload_rows", upload_rows)

    def load(folder: Path, layout: str = "int8") -> list[bytes]:
        uploaded.clear()
        with open_checkpoint(folder) as checkpoint:
            GPT2.load(device, checkpoint, layout)
        return list(uploaded)

    return load


def kept(cache: Path) -> list[Path]:
    """Files in the cache, under temporary names too."""
    return sorted(cache.iterdir()) if cache.is_dir() else []


def only(cache: Path) -> Path:
    (path,) = kept(cache)
    return path


# What is kept -----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", PACKED)
@pytest.mark.parametrize("config", [CONFIG, PADDED], ids=["plain heads", "padded heads"])
def test_the_second_load_uploads_the_same(
    tmp_path: Path, cache: Path, load: Load, reads: list[str], layout: str, config: dict[str, Any]
) -> None:
    folder = write_checkpoint(tmp_path / "model", config)
    first = load(folder, layout)
    before = only(cache).stat().st_mtime_ns
    reads.clear()
    assert load(folder, layout) == first
    assert set(reads) == {
        "wpe.weight",
        *(f"h.0.{ln}.{part}" for ln in ("ln_1", "ln_2") for part in ("weight", "bias")),
        *("ln_f.weight", "ln_f.bias"),
    }
    assert only(cache).stat().st_mtime_ns == before


def test_both_loads_compute_the_same(model: Path, device: Device) -> None:
    logits = []
    for _ in range(2):
        with open_checkpoint(model) as checkpoint:
            logits.append(encoded(GPT2.load(device, checkpoint, "int4"), TOKENS))
    assert np.isfinite(logits[0]).all()
    assert np.array_equal(*logits)


def test_a_file_is_its_owners_alone(cache: Path, load: Load, model: Path) -> None:
    load(model)
    assert stat.S_IMODE(only(cache).stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


@pytest.mark.parametrize("layout", ["r32f", "rgba32f"])
def test_layouts_without_packing_are_not_kept(
    cache: Path, load: Load, model: Path, layout: str
) -> None:
    load(model, layout)
    assert kept(cache) == []


def test_random_and_small_models_are_not_kept(
    cache: Path, device: Device, load: Load, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    GPT2.load(device, random_checkpoint(model_config(), seed=1), "int8")
    monkeypatch.undo()
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(cache.parent))
    with open_checkpoint(model) as checkpoint:
        GPT2.load(device, checkpoint, "int8")
    assert kept(cache) == []


def test_an_interrupted_load_keeps_nothing(cache: Path, device: Device, model: Path) -> None:
    with open_checkpoint(model) as checkpoint:
        steps = GPT2.load_steps(device, checkpoint, "int8")
        next(steps)
        next(steps)
        steps.close()  # type: ignore[attr-defined]
    assert kept(cache) == []


# Which file belongs to a model ------------------------------------------------------------------


def test_every_layout_has_its_file(cache: Path, load: Load, model: Path) -> None:
    for layout in PACKED:
        load(model, layout)
    assert len(kept(cache)) == len(PACKED)


def other_weights(folder: Path) -> None:
    write_checkpoint(folder, CONFIG, tiny_weights(CONFIG, seed=9))


def other_weights_of_old_date(folder: Path) -> None:
    before = (folder / "model.safetensors").stat()
    other_weights(folder)
    os.utime(folder / "model.safetensors", ns=(before.st_atime_ns, before.st_mtime_ns))


def other_heads(folder: Path) -> None:
    write_checkpoint(folder, {**CONFIG, "n_head": 6})


@pytest.mark.parametrize("change", [other_weights, other_weights_of_old_date, other_heads])
def test_a_changed_model_is_packed_anew(
    cache: Path, load: Load, model: Path, change: Callable[[Path], None]
) -> None:
    load(model)
    before = only(cache)
    change(model)
    changed = load(model)
    assert only(cache).name != before.name, "the file of the old model is gone"
    shutil.rmtree(cache)
    assert load(model) == changed


def test_files_of_models_that_are_gone_are_deleted(
    tmp_path: Path, cache: Path, load: Load, model: Path
) -> None:
    gone = write_checkpoint(tmp_path / "gone", CONFIG)
    load(gone)
    shutil.rmtree(gone)
    load(model)
    assert only(cache).name.startswith(quantised_cache._path_key(model))


def test_remove_frees_one_model(tmp_path: Path, cache: Path, load: Load, model: Path) -> None:
    other = write_checkpoint(tmp_path / "other", CONFIG)
    load(other)
    rest = kept(cache)
    load(model)
    load(model, "int4")
    sizes = {path: path.stat().st_size for path in kept(cache)}
    assert quantised_cache.remove(model) == sum(sizes.values()) - sizes[rest[0]]
    assert kept(cache) == rest
    assert quantised_cache.remove(model) == 0


def test_large_files_are_hashed_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised_cache, "WHOLE_BYTES", 100)
    monkeypatch.setattr(quantised_cache, "BLOCK_BYTES", 10)
    spans = list(quantised_cache._sampled(1001))
    assert len(spans) == quantised_cache.BLOCKS
    assert spans[0] == (0, 10)
    assert spans[-1] == (991, 10)
    assert sum(count for _, count in quantised_cache._sampled(100)) == 100


# What can go wrong ------------------------------------------------------------------------------


def truncated(raw: bytes) -> bytes:
    return raw[:-1]


def flipped(at: float) -> Callable[[bytes], bytes]:
    def flip(raw: bytes) -> bytes:
        i = int(at * (len(raw) - 1))
        return raw[:i] + bytes([raw[i] ^ 64]) + raw[i + 1 :]

    return flip


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "header only": lambda raw: raw[:64],
    "truncated": truncated,
    "longer": lambda raw: raw + b"\0",
    "another format": lambda raw: b"{}" * 100,
    "magic": flipped(0.0),
    "first array": flipped(64.5 / 10_000),
    "middle": flipped(0.4),
    "index": flipped(1.0),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_made_anew(
    cache: Path, load: Load, model: Path, damage: Callable[[bytes], bytes]
) -> None:
    expected = load(model)
    path = only(cache)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    # What was uploaded before the damage was met may come twice.
    assert set(load(model)) >= set(expected)
    load(model)
    assert only(cache).read_bytes() == good


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 1 << 20), bits=st.integers(1, 255))
def test_no_flipped_bit_is_believed(tmp_path: Path, at: int, bits: int) -> None:
    """A reader gives what was written or says that the file is damaged."""
    path = tmp_path / "file"
    texels = np.arange(40, dtype=np.int32).reshape(5, 2, 4)
    write(path, texels)
    raw = bytearray(path.read_bytes())
    raw[at % len(raw)] ^= bits
    path.write_bytes(raw)
    try:
        found = [piece.texels.tobytes() for piece in Reader(path).pieces("w")]
    except Damaged:
        return
    assert found == [texels.tobytes()]


def write(path: Path, texels: Any) -> None:
    writer = Writer(path.parent, "model")
    writer.add("w", Piece(0, texels, None))
    writer.store(path)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32])
def test_arrays_come_back_as_they_were(tmp_path: Path, dtype: type[Any]) -> None:
    texels = np.arange(24, dtype=dtype).reshape(3, 2, 4)
    scales = np.linspace(-1, 1, 12, dtype=np.float32)[None]
    writer = Writer(tmp_path, "model")
    for first in (0, 12):
        writer.add("w", Piece(first, texels + first, scales))
    writer.store(tmp_path / "file")
    pieces = list(Reader(tmp_path / "file").pieces("w"))
    assert [piece.first for piece in pieces] == [0, 12]
    assert pieces[1].texels.dtype == dtype
    assert np.array_equal(pieces[1].texels, texels + 12)
    assert np.array_equal(pieces[1].scales, scales)


def test_a_folder_that_cannot_be_made(cache: Path, load: Load, model: Path) -> None:
    cache.parent.write_text("a file")
    assert load(model) == load(model)
    assert cache.parent.read_text() == "a file"


@pytest.mark.parametrize("method", ["add", "store"])
def test_a_full_disk(
    cache: Path, load: Load, model: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    expected = load(model)
    shutil.rmtree(cache)
    with monkeypatch.context() as patch:
        patch.setattr(Writer, method, full_disk(getattr(Writer, method), 3))
        assert load(model) == expected
        if method == "add":
            assert kept(cache) == []
    load(model)
    assert only(cache).suffix == ".bin"


def full_disk(original: Callable[..., None], at: int) -> Callable[..., None]:
    calls = iter(range(1 << 30))

    def fail(self: Writer, *arguments: Any) -> None:
        if next(calls) >= at or len(arguments) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(self, *arguments)

    return fail


def test_a_file_that_vanishes_between_two_loads(cache: Path, load: Load, model: Path) -> None:
    expected = load(model)
    only(cache).unlink()
    assert load(model) == expected
