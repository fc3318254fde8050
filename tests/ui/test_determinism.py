"""The same seed makes the same tokens wherever and however they are made."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gpt2gl.generation import Generation, Token
from gpt2gl.gl.context import Context, headless
from gpt2gl.sampling import Sampling
from gpt2gl_ui.engine import Engine

PROMPT = "Once upon a time"
OPTIONS = Generation(Sampling(seed=11, temperature=0.9, top_k=40, top_p=0.95), max_tokens=24)
ARGUMENTS = ("--seed", "11", "--temperature", "0.9", "--top-k", "40", "--top-p", "0.95")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine(Context(headless().window), lambda: None)
    made.load("storyteller", "int8")
    while made.work(time.monotonic() + 0.1):
        pass
    yield made
    made.close()


def in_window(engine: Engine, budget: float) -> list[int]:
    events: list[Any] = []
    assert engine.session is not None
    steps = engine.session.generate(PROMPT, OPTIONS)
    engine.start(steps, events.append, lambda error: None)
    while engine.work(time.monotonic() + budget):
        pass
    return [event.id for event in events if isinstance(event, Token)]


def test_window_command_line_and_inspector_agree(engine: Engine) -> None:
    assert engine.session is not None
    session = engine.session
    expected = [e.id for e in session.generate(PROMPT, OPTIONS) if isinstance(e, Token)]
    assert len(expected) == 24
    for budget in (0.0, 0.003, 0.5):
        assert in_window(engine, budget) == expected
    session.capture("attention", "residual", "mlp")
    try:
        assert in_window(engine, 0.003) == expected
    finally:
        session.capture()
    assert in_window(engine, 0.003) == expected
    assert from_command_line() == expected


def from_command_line() -> list[int]:
    command = [sys.executable, "-m", "gpt2gl", "generate", PROMPT, *ARGUMENTS, "--json"]
    command += ["--max-tokens", "24", "--precision", "int8", "--no-tune"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return [token["id"] for token in found["tokens"]]
