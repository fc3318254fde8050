"""One process at a time works on a model; the lock goes with the process, however it ends."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from gpt2gl.errors import CacheError
from gpt2gl.hub.events import Event, Waiting
from gpt2gl.hub.paths import cannot_write, lock_path, make_folder
from gpt2gl.small_files import shown_path

TICK = 0.2


def wait_for_lock(model_id: str) -> Generator[Event, None, FileLock]:
    """Yield `Waiting` until this process has the model's lock; return it, to be released.

    Raises:
        CacheError: the cache cannot be written.
    """
    while True:
        try:
            return _acquire(model_id)
        except Timeout:
            yield Waiting(model_id)
            time.sleep(TICK)


@contextmanager
def locked(model_id: str) -> Iterator[None]:
    """Hold the model's lock; CacheError if another process has it."""
    try:
        lock = _acquire(model_id)
    except Timeout:
        raise CacheError(
            f"another process works on {model_id}: wait until it is done, then run this again"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _acquire(model_id: str) -> FileLock:
    path = lock_path(model_id)
    make_folder(path.parent)
    # A window may drive a generator from another thread than the one that began it.
    lock = FileLock(path, timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except OSError as error:
        if isinstance(error, Timeout):
            raise
        raise cannot_write(path, error) from None
    except NotImplementedError:
        raise _no_locks(path) from None
    return lock


def _no_locks(path: Path) -> CacheError:
    return CacheError(
        f"{shown_path(path)}: the file system has no locks: set GPT2GL_CACHE_DIR to a local folder"
    )
