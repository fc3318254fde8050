"""The models in the cache: found, listed, checked and removed, all without a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpt2gl.config import shown
from gpt2gl.errors import ModelNotFound, VerificationError
from gpt2gl.hub.events import Event
from gpt2gl.hub.folders import damaged_files, delete_folder, folder_bytes, take_back
from gpt2gl.hub.known import hub_id, is_local_name
from gpt2gl.hub.locks import locked
from gpt2gl.hub.manifest import Manifest, read_manifest
from gpt2gl.hub.paths import download_folder, downloads_root, model_folder, models_root


@dataclass(frozen=True)
class Installed:
    """A model in the cache."""

    folder: Path
    manifest: Manifest

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def path(self) -> Path:
        """What to open: the folder, or the GGUF file in it."""
        ggufs = [r.name for r in self.manifest.files if r.name.lower().endswith(".gguf")]
        return self.folder / ggufs[0] if ggufs else self.folder

    @property
    def is_complete(self) -> bool:
        """Whether every file is there and has its size; `verify` looks at the bytes."""
        return all(_has_size(self.folder / r.name, r.size) for r in self.manifest.files)


def find(name: str) -> Installed | None:
    """The model of that name in the cache, if it is there and complete.

    Args:
        name: a known model, `owner/name`, or the name of an imported model.
    """
    model_id = cache_id(name)
    found = _read(model_folder(model_id)) if model_id is not None else None
    return found if found is not None and found.is_complete else None


def installed() -> list[Installed]:
    """Every model in the cache, in order of their ids."""
    root = models_root()
    folders = sorted(root.iterdir()) if root.is_dir() else []
    return [model for folder in folders if (model := _read(folder)) is not None]


@dataclass(frozen=True)
class Unfinished:
    """What is there of a model of the hub whose download was interrupted, or is under way."""

    id: str
    nbytes: int


def unfinished() -> list[Unfinished]:
    """Every unfinished model in the cache, in order of their ids; `pull` goes on with them."""
    root = downloads_root()
    folders = sorted(root.iterdir()) if root.is_dir() else []
    ids = {folder: hub_id(folder.name.replace("--", "/")) for folder in folders}
    return [Unfinished(id, folder_bytes(folder)) for folder, id in ids.items() if id is not None]


def verify(name: str) -> Iterator[Event]:
    """Read every file of a model in the cache and compare it with its checksum.

    Raises:
        ModelNotFound: it is not in the cache.
        VerificationError: names the files that are damaged or missing.
    """
    model = _require(name)
    damaged = yield from damaged_files(model.folder, model.manifest)
    if damaged:
        advice = f"run 'gpt2gl models pull {name}'" if hub_id(name) else "remove and import it anew"
        raise VerificationError(
            f"{name}: {', '.join(damaged)} not as it was when it came: {advice}"
        )


def remove(name: str) -> int:
    """Remove a model from the cache, and what is there of an unfinished download of it.

    Returns the bytes that were freed.

    Raises:
        ModelNotFound: neither is there.
        CacheError: another process works on it, or it cannot be deleted.
    """
    model_id = cache_id(name)
    if model_id is None or not _exists(model_id):
        raise _not_here(name)
    final, unfinished = model_folder(model_id), download_folder(model_id)
    with locked(model_id):
        freed = folder_bytes(final) + folder_bytes(unfinished)
        if final.exists():
            take_back(final, unfinished)
        delete_folder(unfinished)
    return freed


def cache_id(name: str) -> str | None:
    """The id under which a model of that name would lie in the cache."""
    return hub_id(name) or (name if is_local_name(name) else None)


def _exists(model_id: str) -> bool:
    return model_folder(model_id).exists() or download_folder(model_id).exists()


def _require(name: str) -> Installed:
    model_id = cache_id(name)
    found = _read(model_folder(model_id)) if model_id is not None else None
    if found is None:
        raise _not_here(name)
    return found


def _not_here(name: str) -> ModelNotFound:
    return ModelNotFound(f"{shown(name)} is not in the cache: 'gpt2gl models' lists what is")


def _read(folder: Path) -> Installed | None:
    manifest = read_manifest(folder)
    return Installed(folder, manifest) if manifest is not None else None


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
