"""Writing in the background, so that a slow or full disk never holds up the window."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gpt2gl.config import shown
from gpt2gl.errors import Gpt2glError

Job = Callable[[], None]
# What is being saved, and what stands in the way of it; None when it has gone through after all.
Report = Callable[[str, str | None], None]
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0


class Writer:
    """One thread that runs jobs in order, one for each key: a newer job replaces a waiting one.

    A job that fails with `Gpt2glError` or `OSError` stays and is tried again, first after a
    second, then ever more rarely. `report` is called from the thread when a key begins to fail,
    fails in another way, or recovers.
    """

    def __init__(self, report: Report, first_pause: float = FIRST_PAUSE) -> None:
        self._report = report
        self._first_pause = first_pause
        self._pause = first_pause
        self._jobs: dict[str, Job] = {}
        self._failures: dict[str, str] = {}
        # Keys whose waiting job must not run unless the running one went through.
        self._followers: set[str] = set()
        self._running: str | None = None
        self._retry_at = 0.0
        # Rounds of work so far, and up to which one failing keys do not pause.
        self._rounds = self._hurried = 0
        self._closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def put(self, key: str, job: Job, *, after_waiting: bool = False) -> None:
        """Run `job` soon, instead of the waiting job of that key, or after it.

        Raises:
            RuntimeError: the writer was closed.
        """
        with self._changed:
            if self._closed:
                raise RuntimeError("the writer is closed")
            waiting = self._jobs.pop(key, None)
            if after_waiting and waiting is not None:
                job = _both(waiting, job)
            elif after_waiting and self._running == key:
                self._followers.add(key)
            else:
                self._followers.discard(key)
            self._jobs[key] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def pending(self) -> frozenset[str]:
        """Keys whose newest job has not gone through yet."""
        with self._changed:
            running = [] if self._running is None else [self._running]
            return frozenset((*self._jobs, *running))

    def failures(self) -> dict[str, str]:
        """Keys that fail at present, and why."""
        with self._changed:
            return dict(self._failures)

    def flush(self, timeout: float) -> bool:
        """Try every job at once, failing ones too; whether all went through within `timeout` s."""
        until = time.monotonic() + timeout
        with self._changed:
            # A round that is under way may have begun before the newest job came.
            enough = self._rounds + 2
            self._hurried = max(self._hurried, enough)
            self._changed.notify_all()
            while self._busy() and self._rounds < enough and time.monotonic() < until:
                self._changed.wait(max(0.0, until - time.monotonic()))
            return not self._busy()

    def close(self, timeout: float) -> bool:
        """Flush and end the thread; whether everything was written."""
        done = self.flush(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout if done else 0.1)
        return done

    def _busy(self) -> bool:
        return bool(self._jobs) or self._running is not None

    def _work(self) -> None:
        while (keys := self._await_keys()) is not None:
            failed = [key for key in keys if not self._run(key)]
            with self._changed:
                self._rounds += 1
                self._retry_at = time.monotonic() + self._pause
                self._pause = min(2 * self._pause, LONGEST_PAUSE) if failed else self._first_pause
                self._changed.notify_all()

    def _await_keys(self) -> list[str] | None:
        """The keys to work on now, or None when the writer is closed."""
        with self._changed:
            while not self._closed:
                late = self._rounds < self._hurried or time.monotonic() >= self._retry_at
                keys = [key for key in self._jobs if late or key not in self._failures]
                if keys:
                    return keys
                pause = self._retry_at - time.monotonic() if self._jobs else None
                self._changed.wait(pause)
            return None

    def _run(self, key: str) -> bool:
        with self._changed:
            job = self._jobs.pop(key)
            self._running = key
        problem = _problem_of(job)
        with self._changed:
            if problem is not None:
                self._keep(key, job)
            self._followers.discard(key)
            self._running = None
            before = self._note(key, problem)
            self._changed.notify_all()
        if problem != before:
            self._report(key, problem)
        return problem is None

    def _keep(self, key: str, job: Job) -> None:
        newer = self._jobs.get(key)
        if newer is None:
            self._jobs[key] = job
        elif key in self._followers:
            self._jobs[key] = _both(job, newer)

    def _note(self, key: str, problem: str | None) -> str | None:
        before = self._failures.pop(key, None)
        if problem is not None:
            self._failures[key] = problem
        return before


def _both(first: Job, second: Job) -> Job:
    def run() -> None:
        first()
        second()

    return run


def _problem_of(job: Job) -> str | None:
    try:
        job()
    except Gpt2glError as error:
        return str(error)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return f"{what}: check the folder and the room on the disk"
    except Exception as error:  # a fault of ours must not end the thread that saves everything
        return f"cannot be saved ({type(error).__name__}: {shown(str(error), 120)}): export it"
    return None
