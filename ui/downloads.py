"""Models that are fetched, checked and removed while the window stays usable.

Each job runs in a thread of its own and steps through one of the generators of `gpt2gl.hub`;
fetching is one model at a time, the others wait. What is paused, or was going on when the window
was closed or killed, stays in the cache and is gone on with. The states of jobs change in `poll`
only, which the window's thread calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread

from gpt2gl import quantised_cache
from gpt2gl.errors import DownloadError, Gpt2glError, ModelNotFound
from gpt2gl.hub import library
from gpt2gl.hub.events import Event, Pulled
from gpt2gl_ui.catalogue import Catalogue
from gpt2gl_ui.toasts import Toasts

PULL, VERIFY, REMOVE, DISCARD = "pull", "verify", "remove", "discard"
QUEUED, RUNNING, PAUSED, FAILED = "queued", "running", "paused", "failed"
PAUSE, CANCEL = "pause", "cancel"
# How often a running job asks for a frame, and how long closing waits for threads.
TELL_SECONDS, CLOSE_SECONDS = 0.2, 2.0


@dataclass
class Job:
    """Something that is done with a model.

    Attributes:
        name: as the person who asked wrote it.
        event: what came last from the generator.
        error: why it failed.
        wish: PAUSE or CANCEL, which its thread follows at the next event.
        bytes_there: what an earlier run has left of it.
    """

    name: str
    kind: str = PULL
    state: str = QUEUED
    event: Event | None = None
    error: Gpt2glError | None = None
    wish: str | None = None
    bytes_there: int = 0

    @property
    def is_done(self) -> bool:
        """Whether the model came to be there, whatever was wished meanwhile."""
        return isinstance(self.event, Pulled)


class Downloads:
    """What is under way with the models of the cache.

    Attributes:
        jobs: by the model's id, in the order in which they were asked for.
        catalogue: what there is, read again after each job.
    """

    def __init__(
        self, toasts: Toasts, wake: Callable[[], None], use: Callable[[str], None]
    ) -> None:
        """`wake` may be called from any thread; `use` is what a notice offers to do."""
        self.jobs: dict[str, Job] = {}
        self.catalogue = Catalogue(wake)
        self._toasts, self._wake, self._use = toasts, wake, use
        self._ended: SimpleQueue[tuple[Job, Gpt2glError | None]] = SimpleQueue()
        self._threads: list[Thread] = []
        self._told = 0.0

    # What can be asked for ---------------------------------------------------------------------

    def pull(self, name: str) -> None:
        """Fetch a model, go on with one that is not finished, or repair a damaged one."""
        job = self.job(name)
        there = job.bytes_there if job is not None else 0
        if job is None or job.state in (PAUSED, FAILED):
            self._add(Job(name, PULL, bytes_there=there))

    def verify(self, name: str) -> None:
        """Compare a model's files with their checksums."""
        self._add_unless_busy(Job(name, VERIFY))

    def remove(self, name: str) -> None:
        """Delete a model from the cache, with what is kept for the GPU's layouts of it."""
        self._add_unless_busy(Job(name, REMOVE))

    def pause(self, name: str) -> None:
        """Stop fetching; what has come stays."""
        job = self.job(name)
        if job is not None and job.kind == PULL:
            self._wish(job, PAUSE)

    def cancel(self, name: str) -> None:
        """Stop, and delete what has come of an unfinished model."""
        job = self.job(name)
        if job is None:
            return
        if job.state == RUNNING:
            self._wish(job, CANCEL)
        elif job.kind == PULL:
            self._add(Job(job.name, DISCARD))
        else:
            self._forget(job)

    def dismiss(self, name: str) -> None:
        """Take a failed job off the list."""
        job = self.job(name)
        if job is not None and job.state == FAILED:
            self._forget(job)

    def job(self, name: str) -> Job | None:
        """What is under way with a model."""
        return self.jobs.get(_key(name))

    def refresh(self) -> None:
        """Look again what is in the cache, unfinished models of earlier runs included."""
        self.catalogue.refresh()
        for unfinished in library.unfinished():
            if unfinished.id not in self.jobs:
                paused = Job(unfinished.id, PULL, PAUSED, bytes_there=unfinished.nbytes)
                self.jobs[unfinished.id] = paused

    # Running -----------------------------------------------------------------------------------

    def poll(self, watched: bool = False) -> None:
        """Take over what has ended, and begin what waits for it.

        Args:
            watched: whether jobs are on the screen, so that failures need no notice.
        """
        while not self._ended.empty():
            job, error = self._ended.get()
            self._take(job, error)
            if error is not None and not watched:
                self._toasts.show(str(error), kind="danger", seconds=12)
            self.refresh()
        self._start_waiting()

    def close(self) -> None:
        """Pause everything. A thread that waits for the network is left behind, to end with the
        process; what it has written is gone on with later."""
        for job in self.jobs.values():
            if job.state == RUNNING:
                job.wish = PAUSE
        end = time.monotonic() + CLOSE_SECONDS
        for thread in [*self._threads, *self.catalogue.threads]:
            thread.join(max(0.0, end - time.monotonic()))

    def _add(self, job: Job) -> None:
        self.jobs[_key(job.name)] = job
        self._start_waiting()
        self._wake()

    def _add_unless_busy(self, job: Job) -> None:
        there = self.job(job.name)
        if there is None or there.state == FAILED:
            self._add(job)

    def _wish(self, job: Job, wish: str) -> None:
        if job.state == RUNNING:
            job.wish = wish
        elif job.state == QUEUED:
            job.state = PAUSED
        self._wake()

    def _forget(self, job: Job) -> None:
        if self.jobs.get(_key(job.name)) is job:
            del self.jobs[_key(job.name)]
        self._wake()

    def _start_waiting(self) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for job in self.jobs.values():
            if job.state == QUEUED and not (job.kind == PULL and self._is_pulling()):
                job.state = RUNNING
                name = f"gpt2gl-{job.kind}"
                thread = Thread(target=self._run, args=(job,), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _is_pulling(self) -> bool:
        return any(job.kind == PULL and job.state == RUNNING for job in self.jobs.values())

    def _run(self, job: Job) -> None:
        """A job's thread."""
        error: Gpt2glError | None = None
        try:
            self._step_through(job)
        except Gpt2glError as problem:
            error = problem
        except Exception as problem:
            kind = type(problem).__name__
            error = DownloadError(f"{job.name}: unexpected {kind} ({problem}): try it again")
        self._ended.put((job, error))
        self._wake()

    def _step_through(self, job: Job) -> None:
        with closing(ACTIONS[job.kind](job.name)) as events:  # type: ignore[type-var]
            for event in events:
                job.event = event
                self._tell()
                if job.wish is not None:
                    break
        if job.wish == CANCEL and job.kind == PULL and not job.is_done:
            list(_discarding(job.name))

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told > TELL_SECONDS:
            self._told = now
            self._wake()

    def _take(self, job: Job, error: Gpt2glError | None) -> None:
        """A job's thread is at its end."""
        if error is not None:
            job.state, job.error = FAILED, error
        elif job.wish == PAUSE and not job.is_done:
            job.state, job.wish = PAUSED, None
        else:
            self._forget(job)
            if job.kind in _DONE and (job.wish is None or job.is_done):
                self._announce(job)

    def _announce(self, job: Job) -> None:
        action = "Use it" if job.kind == PULL else ""
        text, use = _DONE[job.kind].format(job.name), self._use
        self._toasts.show(text, kind="success", action=action, on_action=lambda: use(job.name))


_DONE: Mapping[str, str] = {
    PULL: "{} is here and checked",
    VERIFY: "{}: every file is as it was when it came",
    REMOVE: "Removed {}",
}


def _key(name: str) -> str:
    return library.cache_id(name) or name


def _pulling(name: str) -> Iterator[Event]:
    # The hub's client takes a while to import.
    from gpt2gl.hub.pull import pull

    return pull(name)


def _removing(name: str) -> Iterator[Event]:
    paths = [model.path for model in library.installed() if model.id == library.cache_id(name)]
    library.remove(name)
    for path in paths:
        quantised_cache.remove(path)
    yield from ()


def _discarding(name: str) -> Iterator[Event]:
    """Delete what came of a model, unless it is there as a whole."""
    if library.find(name) is None:
        try:
            library.remove(name)
        except ModelNotFound:
            return  # nothing had come
    yield from ()


ACTIONS: Mapping[str, Callable[[str], Iterator[Event]]] = {
    PULL: _pulling,
    VERIFY: library.verify,
    REMOVE: _removing,
    DISCARD: _discarding,
}
