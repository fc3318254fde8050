"""The model on the window's OpenGL context: loaded and run in slices between frames.

All work is generators that yield between bounded steps. `work` advances the one that is under way
until its deadline, never more than two steps ahead of the device, so that the next frame is not
queued behind a long one; how much a step does follows what steps take on this machine. Work of
the inspector is done aside: it gives way to any other.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpt2gl.errors import Gpt2glError
from gpt2gl.gl.context import Context
from gpt2gl.gl.fences import IN_FLIGHT, Fences
from gpt2gl.loading import READING, Loading
from gpt2gl.session import Session
from gpt2gl_ui.preparing import PREPARING, prepared_load

STEP_SECONDS = 0.004  # what one step should take, so that a frame is late by no more
SMALLEST_STEP, FIRST_STEP, LARGEST_STEP = 100_000, 1_000_000, 64_000_000  # fetches
# Slices that are looked at before steps change: one is late by whatever else the machine does.
JUDGED_SLICES = 12
WAIT_SECONDS = 0.004  # between two looks at a thread or a process that is waited for
CLOSED, LOADING, READY, FAILED = "closed", "loading", "ready", "failed"


@dataclass
class Job:
    """Work under way: its steps, what to do with each, and what to do at the end.

    `ended` gets None, or the error that ended it.
    """

    steps: Iterator[Any]
    on_step: Callable[[Any], None]
    ended: Callable[[Gpt2glError | None], None]


class Engine:
    """One model at a time, and one job at a time.

    Attributes:
        state: CLOSED, LOADING, READY or FAILED.
        name, precision: of the model that is there, comes, or could not be loaded.
        loading: how far a load is.
        error: why it failed.
        session: the model's, when ready.
        stepped: called with each step's result, after the job's own `on_step`.
        closing: called before a session is closed.
    """

    def __init__(self, context: Context, changed: Callable[[], None]) -> None:
        """`changed` is called whenever what can be seen of the engine changes."""
        self.context = context
        self.changed = changed
        self.state = CLOSED
        self.name = self.precision = ""
        self.loading = Loading(READING)
        self.error: Gpt2glError | None = None
        self.session: Session | None = None
        self.stepped: Callable[[Any], None] = lambda step: None
        self.closing: Callable[[], None] = lambda: None
        self._job: Job | None = None
        self._aside: Job | None = None
        self._fences = Fences()
        self._waits = False  # for a thread, so that there is nothing to do for now
        self._step_seconds: list[float] = []  # in the last slices

    @property
    def is_busy(self) -> bool:
        """Whether a job is under way, loading included; work aside does not count."""
        return self._job is not None

    @property
    def is_idle(self) -> bool:
        """Whether nothing at all is under way."""
        return self._job is None and self._aside is None

    # Loading -----------------------------------------------------------------------------------

    def load(self, name: str, precision: str) -> None:
        """Begin to load a model in place of the one that is there."""
        self.close()
        self.state, self.name, self.precision, self.error = LOADING, name, precision, None
        self.loading = Loading(READING)
        # Reading makes so many objects that all others would be looked through meanwhile.
        gc.freeze()
        steps = prepared_load(self.context, name, precision)
        self._job = Job(steps, self._loaded, self._load_ended)
        self.changed()

    def _loaded(self, step: Loading | Session) -> None:
        if isinstance(step, Session):
            self.session = step
            device = step.model.device
            device.fetches_per_draw = min(FIRST_STEP, device.fetches_per_draw)
            return
        self._waits = step.stage in (READING, PREPARING)
        if step != self.loading:
            self.loading = step
            self.changed()

    def _load_ended(self, error: Gpt2glError | None) -> None:
        self.state, self.error = (READY if error is None else FAILED), error
        # What a model and its tokenizer consist of stays, and takes long to look through for
        # what can be thrown away.
        gc.freeze()
        self.changed()

    # Running -----------------------------------------------------------------------------------

    def start(
        self,
        steps: Iterator[Any],
        on_step: Callable[[Any], None],
        ended: Callable[[Gpt2glError | None], None],
    ) -> None:
        """Begin a job of the session's; there must be none under way."""
        assert self._job is None
        self.stop_aside()
        self._job = Job(steps, on_step, ended)
        self.changed()

    def start_aside(
        self, steps: Iterator[Any], ended: Callable[[Gpt2glError | None], None]
    ) -> None:
        """Begin work that goes on while there is no job, and ends when one begins."""
        self.stop_aside()
        self._aside = Job(steps, lambda step: None, ended)
        self.changed()

    def stop_aside(self) -> None:
        """End the work aside where it is."""
        job, self._aside = self._aside, None
        if job is not None:
            with self.held():
                job.steps.close()  # type: ignore[attr-defined]
            job.ended(None)

    def stop(self) -> None:
        """End the job under way where it is; what it was to load is not loaded."""
        job, self._job = self._job, None
        if job is None:
            return
        self._take()
        job.steps.close()  # type: ignore[attr-defined]
        self._release()
        if self.state == LOADING:
            self._close_session()
            self.state = CLOSED
        else:
            job.ended(None)
        self.changed()

    def work(self, deadline: float) -> bool:
        """Advance the job until `deadline` (of `time.monotonic`); whether there is more to do."""
        if self.is_idle:
            return False
        start, steps = time.monotonic(), 0
        with self.held():
            ahead = self._steps_ahead()
            while (job := self._job or self._aside) is not None:
                if not self._fences.wait(deadline, ahead):
                    break
                spent = time.monotonic() - start
                if steps and start + spent + spent / steps > deadline:
                    break
                self._step(job)
                steps += 1
                if self._waits:
                    break
            self._fences.wait(deadline, ahead)
        if self._waits:
            time.sleep(min(WAIT_SECONDS, max(0.0, deadline - time.monotonic())))
        elif steps:
            self._adapt((time.monotonic() - start) / steps)
        return not self.is_idle

    def _steps_ahead(self) -> int:
        """How many steps may be under way when the next is begun: none where the processor draws,
        since reading a token's logits would wait for them past the deadline."""
        if self.session is not None and self.session.model.device.limits.is_software:
            return 0
        return IN_FLIGHT - 1

    def _step(self, job: Job) -> None:
        self._waits = False
        self._take()  # unless what ended the last job gave it back
        try:
            step = next(job.steps)
        except StopIteration:
            self._end(job, None)
        except Gpt2glError as error:
            self._end(job, error)
        else:
            self._fences.mark()
            job.on_step(step)
            self.stepped(step)

    def _end(self, job: Job, error: Gpt2glError | None) -> None:
        # First, since `ended` may start the next.
        if job is self._job:
            self._job = None
        else:
            self._aside = None
        job.ended(error)
        self.changed()

    def _adapt(self, seconds: float) -> None:
        """Make steps larger or smaller, rarely, since the calls of every pass are cut anew.

        What is usual among several slices counts. Only steps that take many times too long are
        made smaller before that.
        """
        if self.session is None:
            return
        device, size = self.session.model.device, self.session.model.device.fetches_per_draw
        self._step_seconds.append(seconds)
        if len(self._step_seconds) < (2 if seconds > 8 * STEP_SECONDS else JUDGED_SLICES):
            return
        usual = sorted(self._step_seconds)[len(self._step_seconds) // 2]
        self._step_seconds.clear()
        if usual > 1.25 * STEP_SECONDS:
            device.fetches_per_draw = max(min(size, SMALLEST_STEP), size // 2)
        elif usual < STEP_SECONDS / 3:
            device.fetches_per_draw = max(size, min(LARGEST_STEP, 2 * size))

    # The context -------------------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, the context is the model's; afterwards the window's."""
        self._take()
        try:
            yield
        finally:
            self._release()

    def _take(self) -> None:
        if self.session is not None:
            self.session.model.device.take()

    def _release(self) -> None:
        """Give the context back to the window."""
        owner: Any = self.context.owner
        if owner is not None:
            owner.end()

    def close(self) -> None:
        """End what is under way and free the model; safe to call twice."""
        self.stop_aside()
        self.stop()
        self._fences.close()
        self._close_session()
        self.state = CLOSED

    def _close_session(self) -> None:
        if self.session is not None:
            self.closing()
            self.session.close()
            self.session = None
            gc.unfreeze()
