"""Fetching a model: asked for once, put together in a folder of its own, then given its name."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from pathlib import Path

from gpt2gl.config import ModelConfig, shown
from gpt2gl.errors import CacheError, ModelNotFound
from gpt2gl.hub.download import Meter, Transfer, fetch
from gpt2gl.hub.events import Event, Pulled
from gpt2gl.hub.failures import persistent
from gpt2gl.hub.files import CONFIG
from gpt2gl.hub.folders import intact_files, publish, take_back
from gpt2gl.hub.known import KNOWN, hub_id
from gpt2gl.hub.locks import wait_for_lock
from gpt2gl.hub.manifest import Manifest, read_manifest
from gpt2gl.hub.paths import cache_root, cannot_write, download_folder, make_folder, model_folder
from gpt2gl.hub.remote import RemoteModel, describe
from gpt2gl.small_files import shown_path

# Kept free on the disk beside the model.
SPARE_BYTES = 16 << 20


def pull(name: str) -> Generator[Event, None, None]:
    """Fetch a model into the cache; the last event is `Pulled`.

    What an earlier run left is continued. A model that is there already is compared with its
    checksums, and only its damaged files are fetched again. The generator may be closed at any
    event.

    Args:
        name: a known model, or `owner/name` on the hub.

    Raises:
        ModelNotFound: there is no such model, or the name cannot be one of the hub's.
        DownloadError: it cannot be fetched.
        ConfigError: it is not a GPT-2.
        CacheError: the cache cannot be written, or is full.
    """
    model_id = hub_id(name)
    if model_id is None:
        raise ModelNotFound(
            f"{shown(name)} is no model of the hub: give owner/name, or one of {', '.join(KNOWN)}"
        )
    lock = yield from wait_for_lock(model_id)
    try:
        yield from _pull(model_id)
    finally:
        lock.release()


def _pull(model_id: str) -> Generator[Event, None, None]:
    final, folder = model_folder(model_id), download_folder(model_id)
    if final.exists():
        manifest = read_manifest(final)
        if manifest is not None and (yield from intact_files(final, manifest)):
            yield Pulled(model_id, final, fetched=False)
            return
        take_back(final, folder)
    remote = yield from persistent(lambda: describe(model_id), lambda: 0)
    make_folder(folder)
    yield from _fetch_all(remote, folder)
    manifest = Manifest(model_id, remote.source, remote.commit, remote.licence, remote.files)
    publish(folder, final, manifest)
    yield Pulled(model_id, final, fetched=True)


def _fetch_all(remote: RemoteModel, folder: Path) -> Generator[Event, None, None]:
    transfers = [Transfer(remote.id, file, remote.url(file), folder) for file in remote.files]
    _require_space(transfers, folder)
    meter = Meter(sum(file.size for file in remote.files))
    for transfer in transfers:
        yield from fetch(transfer, meter)
        if transfer.record.name == CONFIG:
            # Before gigabytes of weights that could not be run.
            ModelConfig.from_file(transfer.path)


def _require_space(transfers: list[Transfer], folder: Path) -> None:
    missing = sum(max(0, each.record.size - each.bytes_there()) for each in transfers)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise cannot_write(folder, error) from None
    if missing + SPARE_BYTES > free:
        raise CacheError(
            f"{shown_path(cache_root())}: {missing / 1e6:.0f} MB are to come and"
            f" {free / 1e6:.0f} MB are free: make room, or set GPT2GL_CACHE_DIR to another disk"
        )
