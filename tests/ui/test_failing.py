"""Errors nobody expected, a lost context, a window that closes and comes back."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpt2gl.errors import ContextLost, DeviceError, Gpt2glError, OptionError
from gpt2gl_ui import main
from gpt2gl_ui.failing import MOST, Failures
from tests.ui.fakes import FakeSession, Stage, staged


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    monkeypatch.setenv(main.RESTARTS, "0")
    with staged(tmp_path, monkeypatch, FakeSession()) as made:
        made.app.loop.on_error = made.app._on_error
        yield made


@pytest.fixture
def failures(tmp_path: Path) -> Failures:
    return Failures(tmp_path, lambda: "a renderer", lambda text: None)


def reports(folder: Path) -> list[Path]:
    return sorted(folder.glob("crashes/crash-*.txt"))


def test_an_unexpected_error_leaves_a_private_report_without_anybodys_text(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no way")

    stage.say("My secret")
    with monkeypatch.context() as patch:
        patch.setattr(stage.app.toasts, "seconds_to_change", fail)
        stage.driver.frame()
    stage.driver.frame()
    report = stage.app.failures.last_report
    assert report is not None
    text = report.read_text()
    assert "ZeroDivisionError: no way" in text
    assert "storyteller" in text
    assert "My secret" not in text
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert any("ZeroDivisionError" in toast.text for toast in stage.app.toasts.visible())


def test_errors_of_ours_are_shown_and_not_reported(failures: Failures, tmp_path: Path) -> None:
    assert failures.take(OptionError("a value"))
    assert reports(tmp_path) == []


def test_an_error_that_keeps_coming_back_ends_the_window(failures: Failures) -> None:
    goes_on = [failures.take(ValueError(str(i))) for i in range(MOST)]
    assert goes_on == [True] * (MOST - 1) + [False]
    assert isinstance(failures.fatal, ValueError)


def test_no_disk_for_a_report_is_no_further_error(tmp_path: Path) -> None:
    (tmp_path / "crashes").write_text("in the way")
    shown: list[str] = []
    failures = Failures(tmp_path, lambda: "", shown.append)
    assert failures.take(ValueError())
    assert failures.last_report is None
    assert shown == ["Something went wrong: ValueError."]


def test_a_lost_context_is_noticed_while_nothing_is_generated(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.say("Hello")
    with monkeypatch.context() as patch:
        patch.setattr("gpt2gl_ui.app.gl", SimpleNamespace(glGetError=lambda: 0x0507))
        stage.driver.frame(2)
    assert stage.app.failures.lost
    assert stage.app.loop._stopped
    assert stage.app.writer.flush(5)
    saved = list(stage.app.shelf.store.folder.chats.glob("*.jsonl"))
    assert any(b"Once upon" in path.read_bytes() for path in saved)


def test_a_lost_context_while_an_answer_is_written_keeps_the_answer(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> Iterator[Any]:
        yield from FakeSession()._events(1)
        raise ContextLost("gone")

    monkeypatch.setattr(stage.session, "generate", lost)
    stage.app.talk.send("Hello")
    stage.driver.until(lambda: stage.app.failures.lost, "the loss is noticed")
    assert stage.app.talk.chat.path()[1].text == "Once upon a time."


class Stopped(Exception):
    """In place of a new process."""


def test_after_a_loss_the_program_starts_anew_a_few_times(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def start(program: str, arguments: list[str]) -> None:
        started.append(arguments)
        raise Stopped

    monkeypatch.setattr(os, "execv", start)
    monkeypatch.setattr(sys, "argv", ["gpt2gl", "chat", "--model", "x"])
    stage.app.failures.lost = True
    for _ in range(main.MOST_RESTARTS):
        with pytest.raises(Stopped):
            main._after(stage.app)
    with pytest.raises(DeviceError, match="was lost 4 times"):
        main._after(stage.app)
    assert started == [[sys.executable, "-m", "gpt2gl", "chat", "--model", "x"]] * 3
    main._greet(stage.app)
    assert "driver was reset" in stage.app.toasts.visible()[-1].text


def test_a_fatal_error_is_one_line_that_names_the_report(stage: Stage) -> None:
    for i in range(MOST):
        stage.app.failures.take(ValueError(str(i)))
    with pytest.raises(Gpt2glError, match="ValueError kept coming back") as caught:
        main._after(stage.app)
    assert str(stage.app.failures.last_report) in str(caught.value)
