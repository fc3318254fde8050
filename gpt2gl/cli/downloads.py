"""What people see of a download: a bar with speed and time left on a terminal, else one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from gpt2gl.hub.events import (
    Checking,
    Contacting,
    Downloading,
    Event,
    Pulled,
    Retrying,
    Waiting,
)

MEGABYTE = 1e6


class DownloadView:
    """Takes the events of `gpt2gl.hub` and shows them on stderr; use it in a `with` block."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._begun = False

    def __enter__(self) -> DownloadView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def show(self, event: Event) -> None:
        """Show one event."""
        if sys.stderr.isatty():
            self._bar().update(0, **_STATES[type(event)](event))
        elif isinstance(event, Downloading) and not self._begun and event.done < event.total:
            self._begun = True
            rest = event.total - event.done
            print(f"gpt2gl: fetching {_megabytes(rest)}", file=sys.stderr)

    def close(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _bar(self) -> Any:
        if self._progress is None:
            self._progress = _new_bar()
        return self._progress


def _new_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
    console = Console(stderr=True, highlight=False, markup=False)
    progress = Progress(*columns, console=console, transient=True)
    progress.add_task("", total=None, state="")
    progress.start()
    return progress


def _contacting(event: Any) -> dict[str, Any]:
    return {"description": event.model, "total": None, "state": f"asking {event.endpoint}"}


def _waiting(event: Any) -> dict[str, Any]:
    return {"description": event.model, "total": None, "state": "another process is fetching it"}


def _downloading(event: Any) -> dict[str, Any]:
    parts = [f"{event.done / MEGABYTE:.1f} of {_megabytes(event.total)}"]
    if event.seconds_left is not None:
        parts.append(f"{event.bytes_per_second / MEGABYTE:.1f} MB/s")
        parts.append(f"{_clock(event.seconds_left)} left")
    numbers = {"completed": event.done, "total": event.total}
    return {"description": event.file, "state": ", ".join(parts), **numbers}


def _checking(event: Any) -> dict[str, Any]:
    numbers = {"completed": event.done, "total": event.total}
    return {"description": event.file, "state": "checking", **numbers}


def _retrying(event: Any) -> dict[str, Any]:
    return {"state": f"{event.reason}; again in {event.seconds:.0f} s"}


def _pulled(event: Any) -> dict[str, Any]:
    return {"description": event.model, "state": "done"}


_STATES: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    Contacting: _contacting,
    Waiting: _waiting,
    Downloading: _downloading,
    Checking: _checking,
    Retrying: _retrying,
    Pulled: _pulled,
}


def _megabytes(count: int) -> str:
    return f"{count / MEGABYTE:.1f} MB"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
