"""When to draw, when to let the engine work, and when to sleep.

An iteration is: events, a frame when something changed, then a slice of work that ends in time
for the next frame. With neither to do, the process sleeps until an event or a thread wakes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pyglet
import pyglet.app
from pyglet import gl

from gpt2gl_ui.backend import Backend
from gpt2gl_ui.frame_times import FrameTimes
from gpt2gl_ui.window import Window

FRAME = 1 / 60
# Frames closer than this are put off. Less than FRAME, so that a display's own rhythm of 60 Hz,
# which `flip` waits for, is not missed by a hair.
CLOSEST = FRAME - 0.003
RESERVE = 0.0015
SHORTEST_WORK = 0.004
# Where the processor draws there is no display's rhythm to miss, and each frame takes from the
# work: frames are further apart while there is work, and it gets as long as drawing, up to FAIR.
SOFTWARE_FRAME = 1 / 50
FAIR = 0.008
# imgui takes up to three frames until an input's consequences are on the screen.
SETTLING_FRAMES = 3
# When imgui's tooltips appear after the pointer came to rest.
HOVER_DELAYS = (0.2, 0.45, 0.75)

Handler = Callable[[Exception], None]


class FrameLoop:
    """Draws when asked to; calls `work(deadline)` in every iteration.

    `work` returns whether it has more to do; `deadline` is in `clock`'s seconds
    (time.monotonic). `on_error` gets what `draw`, `work` or an event handler raised; left alone
    it raises it again. `on_frame` is called after each frame.
    """

    def __init__(
        self,
        window: Window,
        backend: Backend,
        draw: Callable[[], None],
        work: Callable[[float], bool] = lambda deadline: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.window, self.backend = window, backend
        self.stats = FrameTimes()
        self.frame_number = 0
        self.on_error: Handler = _raise
        self.on_frame: Callable[[], None] = lambda: None
        self.clock, self._draw, self._work = clock, draw, work
        self._frames = SETTLING_FRAMES
        self._animated_until = 0.0
        self._later: list[float] = []
        self._last_start = 0.0
        self._busy = False
        self._stopped = False
        self._woken = threading.Event()
        # Where the processor draws, a frame costs all of its time. Elsewhere GL calls and `flip`
        # may be waiting for the display, which would take time from the engine for nothing.
        self._software = window.is_software
        self._built = 0.0
        backend.on_input = self._on_input

    def request(self, frames: int = 1) -> None:
        """Draw at least this many frames more."""
        self._frames = max(self._frames, frames)

    def wake(self) -> None:
        """Something changed: draw until imgui has settled."""
        self.request(SETTLING_FRAMES)

    def request_at(self, moment: float) -> None:
        """Draw a frame at a moment of the clock."""
        self._later.append(moment)

    def animate_until(self, moment: float) -> None:
        """Draw at the full rate until a moment of the clock."""
        self._animated_until = max(self._animated_until, moment)

    def wake_from_thread(self) -> None:
        """`wake`, from any thread."""
        if not self._woken.is_set():
            self._woken.set()
            pyglet.app.platform_event_loop.notify()

    def move_to(self, window: Window) -> None:
        """Go on in another window; the old one is the caller's to close, afterwards."""
        self.backend.move_to(window)
        self.window, self._software = window, window.is_software
        self.wake()

    def run(self) -> None:
        """Until `stop`. An error that `on_error` took does not end it."""
        self._stopped = False
        pyglet.app.event_loop = _EventLoop(self)
        while not self._stopped:
            self.guard(lambda: pyglet.app.run(None))

    def stop(self) -> None:
        """Leave `run` after this iteration."""
        self._stopped = True
        pyglet.app.event_loop.exit()

    def step(self) -> float | None:
        """One iteration; returns how long nothing needs doing, None for until an event."""
        if self._woken.is_set():
            self._woken.clear()
            self.wake()
        drew = self._is_dirty() and self._is_time() and self._frame()
        worked = not self._stopped and bool(self.guard(lambda: self._work(self._deadline(drew))))
        self._busy = worked or self._is_dirty()
        return 0.0 if worked else self._rest()

    def guard(self, action: Callable[[], Any]) -> Any:
        """What `action` returns, or None after `on_error` took what it raised."""
        try:
            return action()
        except Exception as error:
            self.on_error(error)
            return None

    def _frame(self) -> bool:
        start = self.clock()
        if self._busy:
            self.stats.add_interval(start - self._last_start)
        self._last_start = start
        self._frames = max(0, self._frames - 1)
        self._later = [moment for moment in self._later if moment > start]
        self.window.switch_to()
        if not self.guard(self._build):
            self.backend.abandon_frame()
            return False
        self.window.flip()
        if self._software:
            # A surface without a screen leaves the drawing to whoever waits next: the engine.
            gl.glFinish()
        self.stats.add_cost((self.clock() if self._software else self._built) - start)
        self.frame_number += 1
        self.on_frame()
        return True

    def _build(self) -> bool:
        self.backend.new_frame()
        self._draw()
        self._built = self.clock()
        self.backend.render()
        return True

    def _deadline(self, drew: bool) -> float:
        """After a frame the next one is assumed; it has to begin a period after this one did."""
        now = self.clock()
        if not drew and not self._is_dirty():
            return now + FRAME - RESERVE
        start, least = self._last_start, SHORTEST_WORK
        if drew and self._software:
            least = max(least, min(now - start, FAIR))
        elif drew:
            start = now - self.stats.recent_cost()
        period = SOFTWARE_FRAME if self._software else FRAME
        return max(start + period - RESERVE, now + least)

    def _is_dirty(self) -> bool:
        now = self.clock()
        due = any(moment <= now for moment in self._later)
        return due or self._frames > 0 or self._animated_until > now or self.backend.wants_frame

    def _is_time(self) -> bool:
        return self.clock() - self._last_start >= CLOSEST

    def _rest(self) -> float | None:
        now = self.clock()
        if self._is_dirty():
            return max(0.0, self._last_start + CLOSEST - now)
        return max(0.0, min(self._later) - now) if self._later else None

    def _on_input(self) -> None:
        self.wake()
        now = self.clock()
        self._later = [now + delay for delay in HOVER_DELAYS]


class _EventLoop(pyglet.app.EventLoop):
    """pyglet's loop, which handles events and waits, with our iteration in the middle."""

    def __init__(self, loop: FrameLoop) -> None:
        super().__init__()
        self._loop = loop

    def idle(self) -> float | None:
        self.clock.call_scheduled_functions(self.clock.update_time())
        ours, scheduled = self._loop.step(), self.clock.get_sleep_time(True)
        return min((each for each in (ours, scheduled) if each is not None), default=None)


def _raise(error: Exception) -> None:
    raise error
