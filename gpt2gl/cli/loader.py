"""Loading with a progress bar, for people who wait."""

from __future__ import annotations

import sys
import time
from typing import Any

import typer

from gpt2gl.cli.downloads import DownloadView
from gpt2gl.loading import load
from gpt2gl.session import Session

PATIENCE_SECONDS = 1.0


class _Bar:
    """A progress bar on a terminal's stderr that appears once loading has taken a while."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.progress: Any = None

    def update(self, fraction: float) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self.start < PATIENCE_SECONDS:
            return
        if self.progress is None:
            self.progress = _rich_bar()
        self.progress.update(0, completed=fraction)

    def close(self) -> None:
        if self.progress is not None:
            self.progress.stop()


def _rich_bar() -> Any:
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=True)
    progress.add_task("loading", total=1.0)
    progress.start()
    return progress


def announce_software(session: Session) -> None:
    """Say on stderr that the CPU draws, to whoever expects a GPU."""
    limits = session.model.device.limits
    if limits.is_software:
        typer.echo(f"{limits.renderer}: software rendering, the CPU draws", err=True)


def load_with_progress(model: str, precision: str, tune: bool = True) -> Session:
    """`gpt2gl.load`, with a bar when it takes over a second, and one while it downloads."""
    bar = _Bar()
    try:
        with DownloadView() as view:
            session = load(model, precision, tune=tune, progress=bar.update, on_download=view.show)
    finally:
        bar.close()
    for notice in session.notices:
        typer.echo(f"gpt2gl: {notice}", err=True)
    return session
