"""Where things lie in the cache.

    models/owner--name/       finished models, with a manifest
    downloads/owner--name/    what is being fetched, or was when something stopped it
    locks/owner--name.lock    held by the process that fetches or removes the model
    quantised/                weights in the layouts of the GPU, made from the models

Files are readable by their owner only.
"""

from __future__ import annotations

import errno
from pathlib import Path

import platformdirs

from gpt2gl.errors import CacheError
from gpt2gl.small_files import make_private_folder, shown_path, user_folder

VARIABLE = "GPT2GL_CACHE_DIR"


def cache_root() -> Path:
    """The folder in `GPT2GL_CACHE_DIR`, else `gpt2gl` in the user's cache folder. May not exist."""
    return user_folder(VARIABLE, lambda: platformdirs.user_cache_dir("gpt2gl", appauthor=False))


def models_root() -> Path:
    """The folder of finished models."""
    return cache_root() / "models"


def downloads_root() -> Path:
    """The folder of those that are not finished."""
    return cache_root() / "downloads"


def model_folder(model_id: str) -> Path:
    """Where a model lies when it is complete."""
    return models_root() / _folder_name(model_id)


def download_folder(model_id: str) -> Path:
    """Where a model lies until then."""
    return downloads_root() / _folder_name(model_id)


def lock_path(model_id: str) -> Path:
    """The file that the process at work on a model holds locked."""
    return cache_root() / "locks" / f"{_folder_name(model_id)}.lock"


def make_folder(path: Path) -> None:
    """Make a folder and those above it, of mode 0700; CacheError if that cannot be."""
    try:
        make_private_folder(path)
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> CacheError:
    """What to say of an error of the file system."""
    where = shown_path(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CacheError(
            f"{where}: {error.strerror}: make room and run it again, it goes on where it stopped"
        )
    return CacheError(
        f"{where}: cannot be written ({error.strerror}):"
        f" set {VARIABLE} to a folder that can be written"
    )


def _folder_name(model_id: str) -> str:
    return model_id.replace("/", "--")
