"""A model from the disk as one of the cache: copied, checked, found by name from then on."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

from gpt2gl.config import shown
from gpt2gl.errors import OptionError, WeightError
from gpt2gl.hub.digests import digest_of
from gpt2gl.hub.events import Downloading, Event, Pulled
from gpt2gl.hub.files import INDEX, SINGLE, SUPPORT
from gpt2gl.hub.folders import delete_folder, publish
from gpt2gl.hub.known import KNOWN, is_local_name
from gpt2gl.hub.locks import wait_for_lock
from gpt2gl.hub.manifest import FileRecord, Manifest
from gpt2gl.hub.paths import cannot_write, download_folder, make_folder, model_folder
from gpt2gl.resources import embedded_models
from gpt2gl.small_files import read_object
from gpt2gl.weights import open_checkpoint

CHUNK = 1 << 22


def import_model(path: Path, name: str | None = None) -> Iterator[Event]:
    """Copy a model into the cache; the last event is `Pulled`.

    Args:
        path: a model folder, a `.safetensors` or a `.gguf` file, as `gpt2gl.load` takes it.
        name: what to call it; by default as the folder or file, without suffix.

    Raises:
        ModelNotFound, ConfigError, WeightError: it cannot be opened as a model.
        OptionError: the name is taken, or cannot be one.
        CacheError: the cache cannot be written.
    """
    chosen = name if name is not None else _own_name(path)
    _check_name(chosen)
    # Refuses what could not be run.
    open_checkpoint(path).close()
    lock = yield from wait_for_lock(chosen)
    try:
        yield from _import(path, chosen)
    finally:
        lock.release()


def _import(path: Path, name: str) -> Iterator[Event]:
    final, folder = model_folder(name), download_folder(name)
    if final.exists():
        raise OptionError(f"{name} is in the cache already: choose another --name, or remove it")
    delete_folder(folder)
    make_folder(folder)
    sources = _sources(path)
    try:
        yield from _copy_all(sources, folder)
        records = []
        for target in sources:
            copied = folder / target
            digest = yield from digest_of(copied)
            records.append(FileRecord(target, copied.stat().st_size, digest))
    except BaseException:
        delete_folder(folder)
        raise
    publish(folder, final, Manifest(name, str(path.absolute()), "", "", tuple(records)))
    yield Pulled(name, final, fetched=True)


def _own_name(path: Path) -> str:
    resolved = path.absolute()
    return resolved.name if path.is_dir() else resolved.stem


def _check_name(name: str) -> None:
    if not is_local_name(name):
        rule = "letters, digits, single -, _ and ., 64 at most"
        raise OptionError(f"--name is {shown(name)}; allowed: {rule}")
    if name in KNOWN or name in embedded_models():
        raise OptionError(f"--name is {name}, which is a known model: choose another")


def _sources(path: Path) -> dict[str, Path]:
    """Name in the cache -> file, for what belongs to a model that opens."""
    if not path.is_dir() and path.name.lower().endswith(".gguf"):
        return {"model.gguf": path}
    folder = path if path.is_dir() else path.parent
    found = {name: folder / name for name in SUPPORT if (folder / name).is_file()}
    index = path if path.name.endswith(".index.json") else folder / INDEX
    if path.is_dir() and (folder / SINGLE).exists():
        return {**found, SINGLE: folder / SINGLE}
    if path.is_dir() or index == path:
        shards = sorted(set(read_object(index, WeightError)["weight_map"].values()))
        return {**found, INDEX: index, **{name: folder / name for name in shards}}
    return {**found, SINGLE: path}


def _copy_all(sources: dict[str, Path], folder: Path) -> Iterator[Event]:
    total = sum(source.stat().st_size for source in sources.values())
    done = 0
    for name, source in sources.items():
        done = yield from _copy(source, folder / name, done, total)


def _copy(source: Path, target: Path, done: int, total: int) -> Generator[Event, None, int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with source.open("rb") as file, os.fdopen(os.open(target, flags, 0o600), "wb") as copy:
            while chunk := file.read(CHUNK):
                copy.write(chunk)
                done += len(chunk)
                yield Downloading(target.name, done, total, 0.0, 0)
            copy.flush()
            os.fsync(copy.fileno())
    except OSError as error:
        raise cannot_write(target, error) from None
    return done
