"""The background writer: order, coalescing, failures that pass, and nothing lost meanwhile."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator

import pytest

from gpt2gl.errors import OptionError
from gpt2gl_ui.chats.writer import Writer

LONG = 20.0


class Reports:
    def __init__(self) -> None:
        self.made: list[tuple[str, str | None]] = []
        self.came = threading.Event()

    def __call__(self, key: str, problem: str | None) -> None:
        self.made.append((key, problem))
        self.came.set()


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def writer(reports: Reports) -> Iterator[Writer]:
    made = Writer(reports, first_pause=60)
    yield made
    made.close(0.0)


class Gate:
    """A job that waits until it is let through."""

    def __init__(self, writer: Writer, key: str = "gate") -> None:
        self.entered, self.open = threading.Event(), threading.Event()
        writer.put(key, self)
        assert self.entered.wait(LONG)

    def __call__(self) -> None:
        self.entered.set()
        assert self.open.wait(LONG)


class Failing:
    """A job that fails until it is mended."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error


def test_only_the_newest_of_the_waiting_jobs_runs(writer: Writer) -> None:
    gate, ran = Gate(writer), list[str]()
    writer.put("a", lambda: ran.append("a1"))
    writer.put("b", lambda: ran.append("b1"))
    writer.put("a", lambda: ran.append("a2"))
    assert writer.pending() == {"gate", "a", "b"}
    gate.open.set()
    assert writer.flush(LONG)
    assert sorted(ran) == ["a2", "b1"]
    assert writer.pending() == frozenset()


def test_a_job_after_the_waiting_one(writer: Writer) -> None:
    gate, ran = Gate(writer), list[str]()
    writer.put("a", lambda: ran.append("save"))
    writer.put("a", lambda: ran.append("move"), after_waiting=True)
    gate.open.set()
    assert writer.flush(LONG)
    assert ran == ["save", "move"]


@pytest.mark.parametrize(("follows", "expected"), [(True, ["old", "new"]), (False, ["new"])])
def test_a_failing_job_and_one_that_came_meanwhile(
    follows: bool, expected: list[str], writer: Writer
) -> None:
    ran: list[str] = []
    gate = threading.Event()
    entered = threading.Event()

    def old() -> None:
        entered.set()
        assert gate.wait(LONG)
        if not ran and not writer.failures():
            raise OptionError("the disk is full")
        ran.append("old")

    writer.put("a", old)
    assert entered.wait(LONG)
    writer.put("a", lambda: ran.append("new"), after_waiting=follows)
    gate.set()
    assert writer.flush(LONG)
    assert ran == expected


def test_a_failing_job_stays_and_is_reported_once(writer: Writer, reports: Reports) -> None:
    job = Failing(OSError(errno.ENOSPC, "No space left on device", "chat.jsonl"))
    writer.put("a", job)
    assert not writer.flush(LONG)
    assert not writer.flush(LONG)
    assert writer.pending() == {"a"}
    message = "chat.jsonl: No space left on device: check the folder and the room on the disk"
    assert reports.made == [("a", message)]
    assert writer.failures() == {"a": message}
    job.error = None
    assert writer.flush(LONG)
    assert reports.made == [("a", message), ("a", None)]
    assert writer.failures() == {}


def test_it_tries_again_by_itself(reports: Reports) -> None:
    writer = Writer(reports, first_pause=0.01)
    job = Failing(OptionError("not now"))
    writer.put("a", job)
    assert reports.came.wait(LONG)
    reports.came.clear()
    job.error = None
    assert reports.came.wait(LONG)
    assert reports.made == [("a", "not now"), ("a", None)]
    assert writer.close(LONG)


def test_another_key_does_not_wait_for_a_failing_one(writer: Writer) -> None:
    writer.put("a", Failing(OptionError("not now")))
    assert not writer.flush(LONG)
    done = threading.Event()
    writer.put("b", done.set)
    assert done.wait(LONG)
    assert writer.pending() >= {"a"}


def test_a_fault_of_ours_does_not_end_the_thread(writer: Writer, reports: Reports) -> None:
    writer.put("a", Failing(TypeError("odd\nvalue")))
    assert not writer.flush(LONG)
    assert reports.made == [("a", "cannot be saved (TypeError: 'odd\\nvalue'): export it")]
    writer.put("a", lambda: None)
    assert writer.flush(LONG)


def test_flush_gives_up_in_time(writer: Writer) -> None:
    gate = Gate(writer)
    assert not writer.flush(0.01)
    gate.open.set()
    assert writer.flush(LONG)


def test_flush_without_work(writer: Writer) -> None:
    assert writer.flush(0)
    assert writer.close(0)


def test_a_closed_writer_refuses_work(writer: Writer) -> None:
    assert writer.close(LONG)
    with pytest.raises(RuntimeError, match="closed"):
        writer.put("a", lambda: None)
