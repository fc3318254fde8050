"""Notices: how long they stay, how many there are, what their buttons do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpt2gl_ui import widgets
from gpt2gl_ui.toasts import MOST, Toasts
from tests.ui.imgui_frames import Frames, frames


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def toasts(clock: Clock) -> Toasts:
    return Toasts(clock)


@pytest.fixture
def run() -> Iterator[Frames]:
    with frames() as made:
        yield made


def test_a_notice_goes_away(toasts: Toasts, clock: Clock) -> None:
    assert toasts.seconds_to_change() is None
    toasts.show("Saved", seconds=4)
    toasts.show("Exported", seconds=9)
    assert toasts.seconds_to_change() == pytest.approx(4)
    clock.now += 5
    assert [toast.text for toast in toasts.visible()] == ["Exported"]
    assert toasts.seconds_to_change() == pytest.approx(4)
    clock.now += 5
    assert toasts.visible() == []
    assert toasts.seconds_to_change() is None


def test_one_with_an_action_stays_longer(toasts: Toasts) -> None:
    toasts.show("Saved")
    toasts.show("Deleted", action="Undo")
    first, second = toasts.visible()
    assert second.expires > first.expires


def test_the_oldest_makes_room(toasts: Toasts) -> None:
    for number in range(MOST + 2):
        toasts.show(str(number))
    assert [toast.text for toast in toasts.visible()] == ["2", "3", "4"]


def test_undo(toasts: Toasts, run: Frames) -> None:
    undone: list[str] = []
    toasts.show("Deleted", action="Undo", on_action=lambda: undone.append("chat"))
    run.run(toasts.draw, 2)
    run.click(toasts.draw, "toast.1.action")
    assert undone == ["chat"]
    assert toasts.visible() == []


def test_it_stays_over_a_window_that_is_clicked(toasts: Toasts, run: Frames) -> None:
    undone: list[str] = []
    toasts.show("Deleted", action="Undo", on_action=lambda: undone.append("chat"))

    def view() -> None:
        toasts.draw()
        widgets.button("Under", name="under")

    run.run(view, 2)
    assert run.marks["under"][1] < run.marks["toast.1"][1]
    run.click(view, "under")
    run.click(view, "toast.1.action")
    assert undone == ["chat"]


def test_close(toasts: Toasts, run: Frames) -> None:
    toasts.show("One", kind="danger")
    toasts.show("Two", kind="success")
    run.run(toasts.draw, 2)
    run.click(toasts.draw, "toast.1.close")
    assert [toast.text for toast in toasts.visible()] == ["Two"]


def test_they_stack_inside_the_window(toasts: Toasts, run: Frames) -> None:
    toasts.show("short")
    toasts.show("a very long line " * 20, action="Undo")
    run.run(toasts.draw, 2)
    (_, upper, _, height), (x, lower, width, _) = run.marks["toast.1"], run.marks["toast.2"]
    assert upper + height < lower
    assert lower + height <= 600
    assert x >= 0
    assert x + width <= 800
