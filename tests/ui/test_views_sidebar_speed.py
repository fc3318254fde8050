"""How fast an answer comes, as the status line tells it."""

from __future__ import annotations

import pytest

from gpt2gl_ui.speed import Speed
from tests.ui.driver import Clock


def test_speed_looks_back_and_leaves_the_first_token_out() -> None:
    clock = Clock()
    speed = Speed(clock)
    assert (speed.live, speed.average, speed.first_token_seconds) == (0.0, 0.0, None)
    clock.advance(3)
    for _ in range(11):
        speed.token()
        clock.advance(0.1)
    assert speed.first_token_seconds == pytest.approx(3)
    assert speed.average == pytest.approx(10)
    for _ in range(10):
        clock.advance(0.9)
        speed.token()
    assert speed.live == pytest.approx(1 / 0.9)
    assert speed.n_tokens == 21
