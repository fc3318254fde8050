"""Reader of safetensors files, single or sharded, in a Hugging Face model folder.

Format: https://huggingface.co/docs/safetensors (u64 length of a JSON header, the header, then
the data). The header is checked in full before any tensor is touched.
"""

from __future__ import annotations

import math
import os.path
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpt2gl.config import ModelConfig, parse_json_object, shown
from gpt2gl.errors import WeightError
from gpt2gl.weights.arrays import MappedArray, MappedFile, StoredArray, listed
from gpt2gl.weights.checkpoint import StoredCheckpoint

SINGLE_NAME = "model.safetensors"
INDEX_NAME = "model.safetensors.index.json"

MAX_HEADER_BYTES = 100_000_000  # the limit of the official library
MAX_DIMENSIONS = 8
MAX_SIZE = 1 << 63

# Bits of one element. Types that cannot be converted are here as well: a file may hold them for
# tensors that are not used, such as masks.
DTYPE_BITS: Mapping[str, int] = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}


def read_single(path: Path) -> StoredCheckpoint:
    """Open one `.safetensors` file with its `config.json` beside it."""
    config = ModelConfig.from_file(path.parent / "config.json")
    file = MappedFile(path)
    return StoredCheckpoint(config, read_header(file), path.parent, close=file.close)


def read_sharded(path: Path) -> StoredCheckpoint:
    """Open the shards that a `model.safetensors.index.json` names, with `config.json` beside."""
    config = ModelConfig.from_file(path.parent / "config.json")
    shard_of = _weight_map(path)
    files: list[MappedFile] = []
    arrays: dict[str, StoredArray] = {}
    for shard in sorted(set(shard_of.values())):
        files.append(MappedFile(_shard_path(path, shard)))
        found = read_header(files[-1])
        _check_shard(found, {n for n, s in shard_of.items() if s == shard}, files[-1].path)
        arrays.update(found)
    return StoredCheckpoint(config, arrays, path.parent, close=lambda: _close_all(files))


def read_header(file: MappedFile) -> dict[str, MappedArray]:
    """Every tensor of one file, by the name in the file.

    Raises:
        WeightError: the header or a tensor's place in the file is damaged, or the file is
            shorter or longer than its header says.
    """
    start, header = _parse(file)
    header.pop("__metadata__", None)
    arrays = {name: _entry(file, name, entry, start) for name, entry in header.items()}
    spans = sorted((a.offset, _end(a), n) for n, a in arrays.items() if _end(a) > a.offset)
    _check_overlap(spans, file.path)
    promised = max((end for _, end, _ in spans), default=start)
    if promised != file.size:
        sizes = f"file is {file.size} bytes, header promises {promised}"
        raise WeightError(f"{file.path}: {sizes}: download it again")
    return arrays


def _parse(file: MappedFile) -> tuple[int, dict[str, Any]]:
    if file.size < 8:
        raise WeightError(f"{file.path}: file is {file.size} bytes, too short: download it again")
    (length,) = struct.unpack_from("<Q", file.data)
    if length > MAX_HEADER_BYTES:
        problem = f"header length {length} is over {MAX_HEADER_BYTES}"
        raise WeightError(f"{file.path}: {problem}: this is not a safetensors file")
    if 8 + length > file.size:
        sizes = f"file is {file.size} bytes, header promises at least {8 + length}"
        raise WeightError(f"{file.path}: {sizes}: download it again")
    return 8 + length, parse_json_object(file.data[8 : 8 + length], str(file.path), WeightError)


def _entry(file: MappedFile, name: str, entry: object, start: int) -> MappedArray:
    where = f"{file.path}: tensor {shown(name, 80)}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise WeightError(f"{where}: needs dtype, shape and data_offsets: download the file again")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        raise WeightError(f"{where}: unknown dtype {shown(dtype)}: store the model as F32 or F16")
    if not _is_sizes(shape) or len(shape) > MAX_DIMENSIONS:
        raise WeightError(f"{where}: impossible shape {shown(shape)}: download the file again")
    if not _is_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise WeightError(f"{where}: bad data_offsets {shown(offsets)}: download the file again")
    array = MappedArray(file, tuple(shape), dtype, start + offsets[0])
    if _end(array) - start != offsets[1]:
        needs = f"shape {shown(shape)} of {dtype} does not fill data_offsets {shown(offsets)}"
        raise WeightError(f"{where}: {needs}: download the file again")
    return array


def _is_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < MAX_SIZE for n in value)


def _end(array: MappedArray) -> int:
    return array.offset + -(-math.prod(array.shape) * DTYPE_BITS[array.dtype] // 8)


def _check_overlap(spans: Iterable[tuple[int, int, str]], path: Path) -> None:
    previous_end, previous_name = 0, ""
    for begin, end, name in spans:
        if begin < previous_end:
            both = f"tensors {shown(previous_name, 80)} and {shown(name, 80)} overlap"
            raise WeightError(f"{path}: {both}: download the file again")
        previous_end, previous_name = end, name


def _weight_map(path: Path) -> dict[str, str]:
    file = MappedFile(path)
    if file.size > MAX_HEADER_BYTES:
        raise WeightError(f"{path}: {file.size} bytes is too large for an index: download it again")
    shard_of = parse_json_object(file.data[:], str(path), WeightError).get("weight_map")
    if not isinstance(shard_of, dict) or not shard_of:
        raise WeightError(f"{path}: no weight_map: download the index again")
    for shard in shard_of.values():
        if not isinstance(shard, str) or not _is_plain_name(shard):
            problem = f"shard {shown(shard)} is not a plain .safetensors file name"
            raise WeightError(f"{path}: {problem}: use an index that names files beside it")
    return shard_of


def _is_plain_name(name: str) -> bool:
    return name.endswith(".safetensors") and name.isprintable() and not set(name) & set("/\\:")


def _shard_path(index: Path, shard: str) -> Path:
    folder = Path(os.path.realpath(index.parent))
    # The Hub's cache keeps snapshots/<revision>/ as links into blobs/ of the same model.
    blobs = [folder.parent.parent / "blobs"] if folder.parent.name == "snapshots" else []
    path = index.parent / shard
    if Path(os.path.realpath(path)).parent not in (folder, *blobs):
        raise WeightError(f"{path}: a link that leads out of the model's folder: copy the file in")
    return path


def _check_shard(found: Iterable[str], named: set[str], path: Path) -> None:
    present = set(found)
    problems = {
        "missing tensors that the index names": sorted(named - present),
        "tensors that the index does not name here": sorted(present - named),
    }
    parts = [f"{kind}: {listed(names)}" for kind, names in problems.items() if names]
    if parts:
        raise WeightError(f"{path}: {'; '.join(parts)}: download index and shards again")


def _close_all(files: Iterable[MappedFile]) -> None:
    for file in files:
        file.close()
