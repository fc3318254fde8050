"""What `pull` and its relatives yield while they work.

Events come often enough for a window to draw between them, and work stops where the generator is
closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Contacting:
    """The hub is asked about a model."""

    model: str
    endpoint: str


@dataclass(frozen=True)
class Waiting:
    """Another process fetches the same model; its turn comes first."""

    model: str


@dataclass(frozen=True)
class Downloading:
    """Bytes arrive.

    Attributes:
        file: the one that is coming now.
        done, total: bytes of all files of the model, those of earlier runs included.
        seconds: since this run's download began.
        received: bytes that came over the network in this run.
    """

    file: str
    done: int
    total: int
    seconds: float
    received: int

    @property
    def bytes_per_second(self) -> float:
        """Mean speed of this run; 0 before anything has come."""
        return self.received / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At that speed; None while it is unknown."""
        speed = self.bytes_per_second
        return (self.total - self.done) / speed if speed > 0 else None


@dataclass(frozen=True)
class Checking:
    """A file's bytes are compared with its checksum; `done` of `total` bytes of it are read."""

    file: str
    done: int
    total: int


@dataclass(frozen=True)
class Retrying:
    """Something failed that may pass; the next attempt is in `seconds`."""

    reason: str
    attempt: int
    seconds: float


@dataclass(frozen=True)
class Pulled:
    """The end: the model lies in `folder`; `fetched` is False where it was there already."""

    model: str
    folder: Path
    fetched: bool


Event = Contacting | Waiting | Downloading | Checking | Retrying | Pulled
