"""When frames are drawn and work is done."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from gpt2gl_ui.frame_loop import (
    CLOSEST,
    FAIR,
    FRAME,
    RESERVE,
    SHORTEST_WORK,
    SOFTWARE_FRAME,
    FrameLoop,
)
from gpt2gl_ui.frame_times import FrameTimes
from gpt2gl_ui.testhook import TestHook
from tests.ui.driver import Driver


class Loop:
    """A FrameLoop over the demo's window that draws nothing, with its clock in the test's hand."""

    def __init__(self, demo: Any) -> None:
        self.clock = demo.backend._clock
        self.drawn, self.deadlines, self.more = 0, [0.0][:0], False
        self.draw_seconds = 0.0
        self.loop = FrameLoop(demo.window, demo.backend, self.draw, self.work, self.clock)
        self.loop._software = True

    def draw(self) -> None:
        self.drawn += 1
        self.clock.advance(self.draw_seconds)

    def work(self, deadline: float) -> bool:
        self.deadlines.append(deadline - self.clock.now)
        return self.more

    def rest(self) -> None:
        """Until nothing is to be drawn."""
        while self.loop.step() is not None:
            self.clock.advance(FRAME)
        self.clock.advance(1)
        self.drawn = 0
        self.deadlines.clear()


@pytest.fixture
def idle(demo: Any) -> Loop:
    made = Loop(demo)
    made.rest()
    return made


def test_idle_draws_nothing_and_waits_for_events(idle: Loop) -> None:
    idle.clock.advance(100)
    assert idle.loop.step() is None
    assert idle.drawn == 0


def test_requested_frames_are_drawn_one_per_sixtieth(idle: Loop) -> None:
    idle.loop.request(3)
    assert idle.loop.step() == pytest.approx(CLOSEST)
    idle.loop.step()
    assert idle.drawn == 1
    for _ in range(5):
        idle.clock.advance(FRAME)
        idle.loop.step()
    assert idle.drawn == 3


def test_input_draws_until_imgui_has_settled(idle: Loop) -> None:
    idle.loop.window.dispatch_event("on_mouse_motion", 5, 5, 0, 0)
    for _ in range(200):
        idle.clock.advance(FRAME)
        rest = idle.loop.step()
    assert rest is None
    assert 3 <= idle.drawn <= 8


def test_sleeps_exactly_until_a_frame_asked_for(idle: Loop) -> None:
    idle.loop.request_at(idle.clock.now + 5)
    assert idle.loop.step() == pytest.approx(5)
    idle.clock.advance(5)
    idle.loop.step()
    assert idle.drawn == 1
    assert idle.loop.step() is None


def test_animation_draws_at_the_full_rate(idle: Loop) -> None:
    idle.loop.animate_until(idle.clock.now + 1)
    for _ in range(120):
        idle.clock.advance(FRAME)
        idle.loop.step()
    assert idle.drawn in (59, 60)


def test_work_alone_draws_nothing(idle: Loop) -> None:
    idle.more = True
    assert [idle.loop.step() for _ in range(5)] == [0.0] * 5
    assert idle.drawn == 0
    assert idle.deadlines == pytest.approx([FRAME - RESERVE] * 5)


def test_work_ends_in_time_for_a_frame_that_had_to_wait(idle: Loop) -> None:
    idle.more = True
    idle.loop.request(2)
    idle.loop.step()
    idle.clock.advance(0.005)
    idle.loop.step()
    assert idle.drawn == 1
    assert idle.deadlines[1] == pytest.approx(SOFTWARE_FRAME - RESERVE - 0.005)


@pytest.mark.parametrize(
    ("software", "draw_seconds", "left"),
    [
        (False, 0.004, FRAME - RESERVE - 0.004),
        (False, 0.05, SHORTEST_WORK),
        (True, 0.002, SOFTWARE_FRAME - RESERVE - 0.002),
        (True, 0.014, FAIR),
        (True, 0.05, FAIR),
    ],
)
def test_work_gets_what_drawing_leaves(
    idle: Loop, software: bool, draw_seconds: float, left: float
) -> None:
    idle.more, idle.draw_seconds, idle.loop._software = True, draw_seconds, software
    idle.loop.request()
    idle.loop.step()
    assert idle.drawn == 1
    assert idle.deadlines == pytest.approx([left])


def test_on_a_display_with_rhythm_waiting_for_it_takes_nothing_from_work(idle: Loop) -> None:
    """Where the GPU draws, `flip` returns when the display took the frame: a new one begins."""
    idle.more, idle.draw_seconds, idle.loop._software = True, 0.002, False
    idle.loop.window.flip = lambda: idle.clock.advance(0.012)
    idle.loop.request()
    idle.loop.step()
    del idle.loop.window.flip
    assert idle.deadlines == pytest.approx([FRAME - RESERVE - 0.002])


def test_intervals_are_recorded_while_busy_only(idle: Loop) -> None:
    idle.loop.stats.clear()
    for busy in (True, True, True, False):
        idle.more = busy
        idle.loop.request()
        idle.loop.step()
        idle.clock.advance(0.020)
    idle.clock.advance(60)
    idle.loop.request()
    idle.loop.step()
    interval = idle.loop.stats.interval
    assert (interval.count, interval.max) == (3, pytest.approx(0.020))
    assert idle.loop.stats.cost.count == 5


def test_spread() -> None:
    times = FrameTimes()
    assert times.interval.count == 0
    for milliseconds in range(1, 101):
        times.add_cost(milliseconds / 1000)
    assert times.cost.p50 == pytest.approx(0.050)
    assert times.cost.p95 == pytest.approx(0.095)
    assert (times.cost.max, times.recent_cost()) == (0.1, 0.1)


def test_errors_reach_the_handler_and_the_window_lives_on(demo: Any) -> None:
    found: list[Exception] = []
    fails = [True]

    def draw() -> None:
        imgui.begin("left open")
        if fails[0]:
            raise RuntimeError("drawing failed")
        imgui.end()

    def work(deadline: float) -> bool:
        raise RuntimeError("working failed")

    loop = FrameLoop(demo.window, demo.backend, draw, work, demo.backend._clock)
    loop.on_error = found.append
    loop.step()
    assert [str(each) for each in found] == ["drawing failed", "working failed"]
    fails[0] = False
    found.clear()
    demo.backend._clock.advance(1)
    loop.step()
    assert [str(each) for each in found] == ["working failed"]
    assert loop.frame_number == 1


def test_without_a_handler_errors_are_raised(idle: Loop) -> None:
    def work(deadline: float) -> bool:
        raise RuntimeError("failed")

    idle.loop._work = work
    with pytest.raises(RuntimeError, match="failed"):
        idle.loop.step()


def test_run_sleeps_until_a_thread_wakes_it(demo: Any) -> None:
    """With pyglet's own event loop and real time; ends only if the wake-up arrives."""
    woken = threading.Event()
    drawn: list[bool] = []

    def draw() -> None:
        drawn.append(woken.is_set())
        if woken.is_set():
            loop.stop()

    def wake() -> None:
        woken.set()
        loop.wake_from_thread()

    loop = FrameLoop(demo.window, demo.backend, draw)
    timer = threading.Timer(0.3, wake)
    timer.start()
    loop.run()
    timer.join()
    assert drawn[-1]
    assert len(drawn) < 12


def test_run_survives_an_error_in_an_event_handler(demo: Any) -> None:
    import pyglet

    found: list[Exception] = []
    loop = FrameLoop(demo.window, demo.backend, lambda: None)

    def note(error: Exception) -> None:
        found.append(error)
        pyglet.clock.schedule_once(lambda dt: loop.stop(), 0)

    def fail(dt: float) -> None:
        raise RuntimeError("in a handler")

    loop.on_error = note
    pyglet.clock.schedule_once(fail, 0)
    loop.run()
    assert [str(each) for each in found] == ["in a handler"]


def test_state_file_is_written_after_each_frame(demo: Any, driver: Driver, tmp_path: Path) -> None:
    hook = TestHook(demo.loop, tmp_path / "state.json")
    hook.app_state = lambda: {"text": "日本"}
    driver.hook = hook
    driver.frame()
    driver.window.dispatch_event("on_deactivate")
    driver.frame()
    state = json.loads(hook.path.read_text(encoding="utf-8"))  # type: ignore[union-attr]
    assert state["frame"] == demo.loop.frame_number
    assert (state["size"], state["scale"], state["focused"]) == ([640, 480], 1.0, False)
    assert state["app"] == {"text": "日本"}
    assert state["marks"]["press"][2] > 10
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_no_state_file_unless_asked(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPT2GL_UI_STATE", raising=False)
    assert TestHook(demo.loop).path is None
