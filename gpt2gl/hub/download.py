"""One file from the hub: bytes into a `.part` file that any later attempt continues.

Beside `NAME.part` lies `NAME.part.json` with the digest that the finished file must have; a part
of another version is thrown away. The final name appears only when size and digest are right.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

from huggingface_hub import constants, get_session, hf_raise_for_status
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

from gpt2gl.errors import CacheError, DownloadError
from gpt2gl.hub.digests import is_intact
from gpt2gl.hub.events import Downloading, Event
from gpt2gl.hub.failures import TryAgain, hub_errors, persistent
from gpt2gl.hub.manifest import FileRecord
from gpt2gl.hub.paths import cannot_write
from gpt2gl.small_files import read_object, write_whole

# How often a file is fetched whose bytes turn out wrong: damage on disk or on the way may pass.
WRONG_BYTES_LIMIT = 2

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


@dataclass
class Meter:
    """Counts the bytes of all files of a model."""

    total: int
    finished: int = 0
    received: int = 0
    start: float = field(default_factory=time.monotonic)

    def event(self, file: str, position: int) -> Downloading:
        """The state when `position` bytes of a file are there."""
        seconds = time.monotonic() - self.start
        return Downloading(file, self.finished + position, self.total, seconds, self.received)


@dataclass(frozen=True)
class Transfer:
    """A file to fetch: its record, its address, the folder it goes to."""

    model_id: str
    record: FileRecord
    url: str
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / self.record.name

    @property
    def part(self) -> Path:
        return self.folder / f"{self.record.name}.part"

    @property
    def note(self) -> Path:
        return self.folder / f"{self.record.name}.part.json"

    def bytes_there(self) -> int:
        """Bytes that need not be fetched, if they prove right."""
        return _size(self.path) or _size(self.part)


def fetch(transfer: Transfer, meter: Meter) -> Iterator[Event]:
    """Bring one file under its final name, from whatever of it is there.

    Raises:
        DownloadError: the hub does not give it, or gives wrong bytes.
        CacheError: it cannot be written.
    """
    record = transfer.record
    if not (yield from is_intact(transfer.path, record)):
        with _writing(transfer.path):
            transfer.path.unlink(missing_ok=True)
            _forget_other_version(transfer)
        yield from _fetch_right_bytes(transfer, meter)
    meter.finished += record.size
    yield meter.event(record.name, 0)


def _fetch_right_bytes(transfer: Transfer, meter: Meter) -> Iterator[Event]:
    for _ in range(WRONG_BYTES_LIMIT):
        yield from persistent(lambda: _receive(transfer, meter), lambda: _size(transfer.part))
        if (yield from is_intact(transfer.part, transfer.record)):
            with _writing(transfer.path):
                _finish(transfer)
            return
        _discard(transfer)
    raise DownloadError(
        f"{transfer.model_id}: the bytes of {transfer.record.name} are not those that"
        f" {constants.ENDPOINT} promises: try again later, or set HF_ENDPOINT to another mirror"
    )


def _receive(transfer: Transfer, meter: Meter) -> Generator[Event, None, None]:
    """Append what one request brings to the part."""
    size, offset = transfer.record.size, _size(transfer.part)
    if offset == size and transfer.part.exists():
        return
    with hub_errors(transfer.model_id), _request(transfer, offset) as response:
        if response.status_code == 416:
            _discard(transfer)
            raise TryAgain(f"{transfer.record.name}: the server has not the rest of it")
        hf_raise_for_status(response)
        position = _first_byte(response, offset, size)
        with _opened(transfer.part, position) as file:
            for chunk in response.iter_bytes():
                position += len(chunk)
                if position > size:
                    _discard(transfer)
                    raise TryAgain(f"{transfer.record.name}: more than the {size} bytes promised")
                _write(file, chunk, transfer.part)
                meter.received += len(chunk)
                yield meter.event(transfer.record.name, position)
    if position < size:
        raise TryAgain(
            f"{transfer.record.name}: the connection ended {size - position} bytes early"
        )


def _request(transfer: Transfer, offset: int) -> Any:
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    timeout = constants.HF_HUB_DOWNLOAD_TIMEOUT
    return get_session().stream("GET", transfer.url, headers=headers, timeout=timeout)


def _first_byte(response: Any, offset: int, size: int) -> int:
    """Where in the file the answer begins: servers may ignore a range and send all of it."""
    if response.status_code != 206:
        return 0
    found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if found is None or int(found[1]) != offset or found[2] not in (str(size), "*"):
        raise TryAgain(f"the server sent another range than bytes {offset} to {size}")
    return offset


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


@contextlib.contextmanager
def _opened(part: Path, position: int) -> Iterator[FileIO]:
    """The part, cut to `position` bytes, open at its end."""
    with _writing(part):
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        file = FileIO(os.open(part, flags, 0o600), "r+")
        file.truncate(position)
        file.seek(position)
    with file:
        yield file


def _write(file: FileIO, data: bytes, path: Path) -> None:
    rest = memoryview(data)
    with _writing(path):
        while rest:
            rest = rest[file.write(rest) or 0 :]


def _forget_other_version(transfer: Transfer) -> None:
    """Throw a part away that is of other bytes than the wanted, and note which those are."""
    wanted = asdict(transfer.record)
    try:
        known = read_object(transfer.note, CacheError) == wanted
    except (OSError, CacheError):
        known = False
    if not known or _size(transfer.part) > transfer.record.size:
        transfer.part.unlink(missing_ok=True)
        write_whole(transfer.note, json.dumps(wanted).encode())


def _discard(transfer: Transfer) -> None:
    with contextlib.suppress(OSError):
        os.truncate(transfer.part, 0)


def _finish(transfer: Transfer) -> None:
    handle = os.open(transfer.part, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(transfer.part, transfer.path)
    transfer.note.unlink(missing_ok=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
