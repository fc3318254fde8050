"""One pass at a time through the computation of a text."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

from gpt2gl.errors import Gpt2glError
from gpt2gl.gl.call import Call, Prepared, Step
from gpt2gl.gl.program import expand
from gpt2gl.profiling import shape_of
from gpt2gl.session import Session


@dataclass(frozen=True)
class Done:
    """A pass that was drawn: its tensor's name if it has one, and how long the device took."""

    index: int
    prepared: Prepared
    shape: str
    n_rows: int
    ms: float

    @property
    def call(self) -> Call:
        return self.prepared.call

    @property
    def label(self) -> str:
        return self.call.label or self.call.operation.name


class Stepper:
    """Holds the computation where it is; the textures are those of the last of `passes`."""

    def __init__(self, session: Session, tokens: tuple[int, ...]) -> None:
        self.session, self.tokens = session, tokens
        self.passes: list[Done] = []
        self.is_done = False
        self.names = [
            prepared.call.label or prepared.call.operation.name
            for prepared in session.model.plan("trace")
        ]
        self._steps = session.pass_steps(tokens, self._on_pass)
        self._still: Callable[[], None] | None = None
        self._seconds = 0.0  # of the pass under way

    @property
    def is_gone(self) -> bool:
        """Whether the model has begun another text, so that this cannot go on."""
        try:
            if self._still is not None:
                self._still()
        except Gpt2glError:
            return True
        return False

    @property
    def last(self) -> Done | None:
        return self.passes[-1] if self.passes else None

    def advance_steps(self, count: int) -> Generator[None, None, None]:
        """Draw so many passes more, or as many as there are."""
        end = len(self.passes) + count
        while len(self.passes) < end and not self.is_done:
            self._next()
            yield

    def _next(self) -> None:
        """One bounded draw, or word that a pass is whole; the device is idle before and after."""
        device = self.session.model.device
        device.finish()
        start = time.perf_counter()
        try:
            next(self._steps)
        except StopIteration:
            self.is_done = True
        device.finish()
        self._seconds += time.perf_counter() - start

    def _on_pass(self, prepared: Prepared, step: Step) -> None:
        self._still = self._still or self.session.hold()
        ms, self._seconds = 1e3 * self._seconds, 0.0
        shape = shape_of(prepared, step, self.session.model.device.fetches_per_draw)
        self.passes.append(Done(len(self.passes), prepared, shape, step.n_rows, ms))
        if len(self.passes) == len(self.names):
            self.is_done = True


def shader_of(call: Call) -> str:
    """The source of a pass as it is compiled, without the values that are filled in."""
    return expand(call.operation.shader, call.defines).text
