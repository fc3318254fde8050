"""What becomes of errors: a notice, a crash report, a fresh start, but never a lost chat."""

from __future__ import annotations

import platform
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path

from gpt2gl import __version__
from gpt2gl.errors import ContextLost, Gpt2glError
from gpt2gl.small_files import write_whole

# As many unexpected errors in this time mean that going on is no use.
MOST, SECONDS = 5, 10.0
REPORTS = "crashes"
KEPT = 20


class Failures:
    """Takes the errors that nobody else did.

    Attributes:
        last_report: the newest crash report of this run.
        lost: whether the OpenGL context is lost, so that only a new process helps.
        fatal: the error after which the window had to close.
    """

    def __init__(
        self, root: Path, describe: Callable[[], str], notify: Callable[[str], None]
    ) -> None:
        """`root` is the data folder; `describe` says what draws; `notify` shows a line."""
        self.root = root / REPORTS
        self.last_report: Path | None = None
        self.lost = False
        self.fatal: BaseException | None = None
        self._describe = describe
        self._notify = notify
        self._times: deque[float] = deque(maxlen=MOST)

    def take(self, error: BaseException) -> bool:
        """Note an error; whether the window can go on."""
        if isinstance(error, ContextLost):
            self.lost = True
            self._write(error)
            return False
        if isinstance(error, Gpt2glError):
            self._notify(str(error))
            return True
        self._write(error)
        where = f" A report is in {self.last_report}." if self.last_report else ""
        self._notify(f"Something went wrong: {type(error).__name__}.{where}")
        self._times.append(time.monotonic())
        full = len(self._times) == MOST
        if full and self._times[-1] - self._times[0] < SECONDS:
            self.fatal = error
            return False
        return True

    def _write(self, error: BaseException) -> None:
        """A report of the error: no text of a chat, nothing that is sent anywhere."""
        lines = (
            f"gpt2gl {__version__}, Python {sys.version.split()[0]}, {platform.platform()}",
            self._describe(),
            time.strftime("%Y-%m-%d %H:%M:%S"),
            "".join(traceback.format_exception(error)),
        )
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{time.monotonic_ns() % 10**6}.txt"
            write_whole(self.root / name, "\n".join(lines).encode(errors="replace"))
            self.last_report = self.root / name
            for old in sorted(self.root.glob("crash-*.txt"))[:-KEPT]:
                old.unlink()
        except (OSError, Gpt2glError):
            self.last_report = None
