"""Moves of whole model folders, so that a finished model appears and disappears at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpt2gl.hub.digests import is_intact
from gpt2gl.hub.events import Event
from gpt2gl.hub.manifest import Manifest, write_manifest
from gpt2gl.hub.paths import cannot_write, make_folder


def publish(folder: Path, final: Path, manifest: Manifest) -> None:
    """Make a finished folder a model of the cache, without what does not belong to it.

    Raises:
        CacheError: the cache cannot be written.
    """
    wanted = {record.name for record in manifest.files}
    make_folder(final.parent)
    with _moving(folder):
        for stray in set(os.listdir(folder)) - wanted:
            _delete(folder / stray)
        write_manifest(folder, manifest)
        os.rename(folder, final)
        sync_folder(final.parent)


def take_back(final: Path, folder: Path) -> None:
    """Turn a model of the cache into an unfinished one; CacheError if that cannot be."""
    make_folder(folder.parent)
    with _moving(final):
        _delete(folder)
        os.rename(final, folder)


def delete_folder(folder: Path) -> None:
    """Delete an unfinished model; CacheError if that cannot be."""
    with _moving(folder):
        _delete(folder)


def intact_files(folder: Path, manifest: Manifest) -> Generator[Event, None, bool]:
    """Whether every file of the manifest has its size and digest."""
    return not (yield from damaged_files(folder, manifest))


def damaged_files(folder: Path, manifest: Manifest) -> Generator[Event, None, list[str]]:
    """Names of the files that are missing or have other bytes than the manifest says."""
    damaged = []
    for record in manifest.files:
        if not (yield from is_intact(folder / record.name, record)):
            damaged.append(record.name)
    return damaged


def sync_folder(folder: Path) -> None:
    """Make a rename durable; Windows cannot open folders and does not need it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder; 0 where there is none, or it vanishes meanwhile."""
    try:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:
        return 0


@contextmanager
def _moving(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
