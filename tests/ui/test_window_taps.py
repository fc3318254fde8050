"""A tap: the pointer arrives, presses and leaves the button within one frame."""

from __future__ import annotations

from imgui_bundle import imgui

from gpt2gl_ui.marks import mark
from tests.ui.demo import Demo
from tests.ui.driver import Driver


def test_a_tap_counts_on_what_others_may_overlap(demo: Demo, driver: Driver) -> None:
    taps: list[str] = []

    def row() -> None:
        imgui.set_next_item_allow_overlap()
        if imgui.invisible_button("##row", (200, 40)):
            taps.append("row")
        mark("row")

    demo.draw_rest = row  # type: ignore[method-assign]
    driver.frame(2)
    for count in (1, 2):
        driver.pointer = driver.center("row")
        x, y = driver._place()
        for event in ("on_mouse_motion", "on_mouse_press", "on_mouse_release"):
            rest = (0, 0) if event == "on_mouse_motion" else (1, 0)
            driver.window.dispatch_event(event, x, y, *rest)
        driver.settle()
        assert len(taps) == count
        driver.move(1, 1)
