"""Where chats lie on the disk.

    chats/ID.jsonl      one chat
    trash/ID.jsonl      a deleted one, for undo; removed for good after `TRASH_DAYS`
    damaged/ID.N.jsonl  a damaged file as it was, put aside before its chat was saved anew
    owner.lock          held by the instance that tidies up
    write.lock          held for the moment in which a chat is replaced

Folders and files can be read by their owner only.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from gpt2gl.errors import OptionError
from gpt2gl.small_files import shown_path, user_folder, write_whole

from .fields import CHAT_ID

VARIABLE = "GPT2GL_DATA_DIR"
SUFFIX = ".jsonl"
MAX_BYTES = 1 << 28
MAX_HEADER_BYTES = 1 << 20
TRASH_DAYS = 30
LOCK_SECONDS = 10
_DAY = 24 * 3600

# Modification time in nanoseconds, size, inode: another one means another content.
Stamp = tuple[int, int, int]


def data_root() -> Path:
    """The folder in `GPT2GL_DATA_DIR`, else the platform's for data of `gpt2gl`."""
    return user_folder(VARIABLE, lambda: platformdirs.user_data_dir("gpt2gl", appauthor=False))


@dataclass(frozen=True)
class Entry:
    """A file in the folder of chats."""

    path: Path
    stamp: Stamp


class Folder:
    """The files of one data folder; methods may be called from any thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.chats, self.trash, self.damaged = (root / n for n in ("chats", "trash", "damaged"))
        self._owner = FileLock(root / "owner.lock", mode=0o600)
        self._write = FileLock(root / "write.lock", mode=0o600, timeout=LOCK_SECONDS)

    def make(self) -> None:
        """Make the folders, of mode 0700; OptionError if that cannot be."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for each in (self.chats, self.trash, self.damaged):
                each.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OptionError(
                f"{shown_path(Path(error.filename or self.root))}: cannot be made"
                f" ({error.strerror}): set {VARIABLE} to a folder that can be written"
            ) from None

    def become_owner(self) -> bool:
        """Whether this instance is the only one, or the first of several."""
        try:
            self._owner.acquire(timeout=0)
        except (Timeout, OSError, NotImplementedError):
            return False
        return True

    def release(self) -> None:
        """Let another instance become the owner."""
        self._owner.release()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """No other instance replaces a chat meanwhile; OptionError if one never stops."""
        self.make()
        try:
            self._write.acquire()
        except Timeout:
            where = shown_path(self.root / "write.lock")
            raise OptionError(f"{where}: another gpt2gl holds it: close that one") from None
        except NotImplementedError:
            pass  # a file system without locks; the check of stamps remains
        try:
            yield
        finally:
            self._write.release()

    def path_of(self, chat_id: str) -> Path:
        """The file of a chat."""
        return self.chats / f"{chat_id}{SUFFIX}"

    def trash_path(self, chat_id: str) -> Path:
        """Where the file lies once the chat is deleted."""
        return self.trash / f"{chat_id}{SUFFIX}"

    def set_aside(self, chat_id: str) -> Path:
        """Keep a copy of a chat's damaged file; returns where it lies."""
        for n in itertools.count():
            place = self.damaged / f"{chat_id}.{n}{SUFFIX}"
            if not place.exists():
                break
        write_whole(place, read_chat_bytes(self.path_of(chat_id))[0])
        return place

    def entries(self) -> Iterator[Entry]:
        """Regular files with the name of a chat; none where there is no folder."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.chats) as found:
            for each in found:
                with contextlib.suppress(OSError):
                    state = each.stat()
                    if is_chat_name(each.name) and stat.S_ISREG(state.st_mode):
                        yield Entry(Path(each.path), _stamp(state))

    def strangers(self) -> list[str]:
        """Names in the folder of chats that are none of ours, apart from hidden ones."""
        try:
            names = os.listdir(self.chats)
        except OSError:
            return []
        return sorted(n for n in names if not n.startswith(".") and not is_chat_name(n))

    def tidy(self, now: float) -> None:
        """Remove chats deleted long ago, and what a killed process left half-written."""
        left_behind = [(path, _DAY) for path in self.chats.glob(".*")]
        deleted = [(path, TRASH_DAYS * _DAY) for path in self.trash.iterdir()]
        for path, age in (*left_behind, *deleted):
            with contextlib.suppress(OSError):
                if now - path.stat().st_mtime > age:
                    path.unlink()


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file, None where there is none."""
    try:
        return _stamp(path.stat())
    except OSError:
        return None


def read_header_line(path: Path) -> bytes:
    """The first line of a chat's file; OSError if it cannot be read."""
    with path.open("rb") as file:
        return file.readline(MAX_HEADER_BYTES)


def read_chat_bytes(path: Path) -> tuple[bytes, Stamp]:
    """A chat's file and its stamp.

    Raises:
        OptionError: it cannot be read or is far too large; names it.
    """
    where = shown_path(path)
    try:
        # Opening a named pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise OptionError(f"{where}: not a file: move it elsewhere")
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise OptionError(f"{where}: cannot be read ({error.strerror})") from None
    if len(data) > MAX_BYTES:
        raise OptionError(f"{where}: over {MAX_BYTES >> 20} MB: not a chat of gpt2gl")
    return data, _stamp(state)


def is_chat_name(name: str) -> bool:
    """Whether a file of this name may be a chat."""
    return name.endswith(SUFFIX) and CHAT_ID.fullmatch(name[: -len(SUFFIX)]) is not None


def _stamp(state: os.stat_result) -> Stamp:
    return state.st_mtime_ns, state.st_size, state.st_ino


def wall_clock() -> float:
    """Seconds since 1970, as files have them."""
    return time.time()
