"""The inspector on a conversation with a real model, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpt2gl.gl.device import Device
from gpt2gl.loading import load_steps
from gpt2gl.session import Session
from gpt2gl_ui.inspector import tab_attention
from gpt2gl_ui.inspector.inspector import ATTENTION
from tests.ui.fakes import Stage, give_model, staged

PATIENCE = 60.0
SAID = "Once upon a time there was a girl named Lily."
OPTIONS = {"seed": 1, "max_tokens": 4, "sidebar_open": False, "temperature": 0.0}


@contextmanager
def inspected(folder: Path, size: tuple[int, int] = (780, 640)) -> Iterator[Stage]:
    """The storyteller, and a conversation of one answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpt2gl_ui.inspector.tab_intervene.NEW_TOKENS", 3)
        with staged(folder, patch, size=size, whole=True) as made:
            app = made.app
            with app.engine.held():
                *_, session = load_steps("storyteller", "int8", app.engine.context)
            assert isinstance(session, Session)
            give_model(app, session)
            for name, value in OPTIONS.items():
                app.set(name, value)
            assert app.talk.send(SAID)
            rest(made)
            yield made
            app.inspector.changes.reset()
            app.set("inspector_open", False)
            rest(made)
            app.engine.closing()
            session.close()


def rest(stage: Stage) -> None:
    """Work and frames until there is nothing to do."""
    start, quiet = time.monotonic(), 0
    while quiet < 3:
        assert time.monotonic() - start < PATIENCE, stage.app.inspector.jobs.running
        while stage.app.work(time.monotonic() + 1.0):
            pass
        stage.driver.frame()
        quiet = quiet + 1 if stage.app.engine.is_idle else 0


def open_panel(stage: Stage) -> None:
    """The panel, with nothing chosen."""
    inspector = stage.app.inspector
    inspector.changes.reset()
    inspector.text.show(None)
    inspector.tab, inspector.selected, inspector.stepper = ATTENTION, None, None
    stage.app.state.kept("inspector.attention", tab_attention.Chosen).opened = None
    stage.app.state.inspector_full = False
    stage.app.set("inspector_open", True)
    rest(stage)


def session_of(stage: Stage) -> Session:
    session = stage.app.inspector.session
    assert session is not None
    return session


def show(stage: Stage, tab: str) -> None:
    stage.driver.click(f"inspector.{tab}")
    rest(stage)
    assert stage.app.inspector.tab == tab


def reads_counted(patch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the device was asked for numbers."""
    reads = [0]
    read = Device.read_texels

    def counted(self: Device, *arguments: Any) -> Any:
        reads[0] += 1
        return read(self, *arguments)

    patch.setattr(Device, "read_texels", counted)
    return lambda: reads[0]
