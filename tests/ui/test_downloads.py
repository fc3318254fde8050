"""Fetching models beside a window: pause, resume, cancel, several, failures, a killed program."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpt2gl.errors import DownloadError, Gpt2glError, ModelNotFound, VerificationError
from gpt2gl.hub import library
from gpt2gl.hub.events import Downloading
from gpt2gl.hub.paths import download_folder, model_folder
from gpt2gl_ui.catalogue import HERE, HUB, Catalogue
from gpt2gl_ui.downloads import FAILED, PAUSED, QUEUED, RUNNING, VERIFY, Downloads
from gpt2gl_ui.toasts import Toasts
from tests.hub_pulls import MODEL, WEIGHTS, assert_whole
from tests.hub_server import Faults, Hub, repository, served
from tests.source_tree import ROOT

OTHER = "someone/other-gpt2"
SLOW = 0.01  # of a file of 80 chunks


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, bytes]) -> Iterator[Hub]:
    with served(monkeypatch, tmp_path / "cache") as found:
        found.repositories[MODEL] = dict(files)
        found.repositories[OTHER] = dict(files)
        yield found


class Someone:
    """A window's thread that polls."""

    def __init__(self) -> None:
        self.toasts, self.used = Toasts(), []
        self.downloads = Downloads(self.toasts, lambda: None, self.used.append)

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            self.downloads.poll()
            if condition():
                return
            time.sleep(0.002)
        raise AssertionError(f"not in 30 s: {self.downloads.jobs}")

    def until_bytes(self, count: int, name: str = MODEL) -> None:
        def there() -> bool:
            job = self.downloads.job(name)
            event = job.event if job else None
            return isinstance(event, Downloading) and event.done >= count

        self.until(there)

    def until_state(self, state: str, name: str = MODEL) -> None:
        self.until(lambda: getattr(self.downloads.job(name), "state", None) == state)

    def until_gone(self, name: str = MODEL) -> None:
        self.until(lambda: self.downloads.job(name) is None)

    @property
    def notices(self) -> list[str]:
        return [toast.text for toast in self.toasts.visible()]


@pytest.fixture
def someone() -> Iterator[Someone]:
    made = Someone()
    yield made
    made.downloads.close()


def test_a_model_is_fetched_and_can_be_used_from_its_notice(hub, files, someone):
    someone.downloads.pull(MODEL)
    someone.until_gone()
    assert_whole(files)
    (toast,) = someone.toasts.visible()
    assert (toast.text, toast.action) == (f"{MODEL} is here and checked", "Use it")
    toast.on_action()
    assert someone.used == [MODEL]
    someone.until(lambda: someone.downloads.catalogue.find(MODEL) is not None)
    assert someone.downloads.catalogue.find(MODEL).where == HERE


def test_pause_keeps_what_came_and_resume_asks_for_the_rest(hub, files, someone):
    hub.faults = Faults(seconds_per_chunk=SLOW)
    someone.downloads.pull(MODEL)
    someone.until_bytes(200_000)
    someone.downloads.pause(MODEL)
    someone.until_state(PAUSED)
    there = (download_folder(MODEL) / f"{WEIGHTS}.part").stat().st_size
    assert there >= 200_000
    hub.faults, hub.requests = Faults(), []
    someone.downloads.pull(MODEL)
    someone.until_gone()
    assert_whole(files)
    assert [r.headers["range"] for r in hub.bodies(WEIGHTS)] == [f"bytes={there}-"]


def test_cancel_removes_what_came(hub, someone):
    hub.faults = Faults(seconds_per_chunk=SLOW)
    someone.downloads.pull(MODEL)
    someone.until_bytes(100_000)
    someone.downloads.cancel(MODEL)
    someone.until_gone()
    assert not download_folder(MODEL).exists()
    assert not model_folder(MODEL).exists()
    assert someone.notices == []


def test_cancel_while_paused_removes_what_came(hub, someone):
    hub.faults = Faults(seconds_per_chunk=SLOW)
    someone.downloads.pull(MODEL)
    someone.until_bytes(100_000)
    someone.downloads.pause(MODEL)
    someone.until_state(PAUSED)
    someone.downloads.cancel(MODEL)
    someone.until_gone()
    assert not download_folder(MODEL).exists()


def test_cancel_of_a_repair_does_not_remove_a_sound_model(hub, files, someone):
    someone.downloads.pull(MODEL)
    someone.until_gone()
    someone.downloads.pull(MODEL)
    someone.downloads.cancel(MODEL)
    someone.until_gone()
    assert_whole(files)


def test_one_at_a_time_the_others_wait(hub, someone):
    hub.faults = Faults(seconds_per_chunk=SLOW)
    someone.downloads.pull(MODEL)
    someone.downloads.pull(OTHER)
    someone.downloads.pull(OTHER)  # twice is once
    someone.until_bytes(50_000)
    assert someone.downloads.job(OTHER).state == QUEUED
    someone.downloads.pause(MODEL)
    someone.until_bytes(50_000, OTHER)
    assert someone.downloads.job(MODEL).state == PAUSED
    someone.downloads.pull(MODEL)
    assert someone.downloads.job(MODEL).state == QUEUED
    someone.downloads.pause(MODEL)
    assert someone.downloads.job(MODEL).state == PAUSED
    hub.faults = Faults()
    someone.until_gone(OTHER)
    assert model_folder(OTHER).exists()


@pytest.mark.parametrize(
    ("faults", "name", "kind", "words"),
    [
        (Faults(), "someone/missing", ModelNotFound, "check the spelling"),
        (Faults(status=403), MODEL, DownloadError, "HF_TOKEN"),
        (Faults(cut_after=0), MODEL, DownloadError, "check the connection"),
    ],
)
def test_failures_say_what_to_do_and_can_be_tried_again(hub, someone, faults, name, kind, words):
    hub.faults = faults
    someone.downloads.pull(name)
    someone.until_state(FAILED, name)
    error = someone.downloads.job(name).error
    assert isinstance(error, kind)
    assert words in str(error)
    assert someone.notices == [str(error)]
    hub.faults = Faults()
    if name == MODEL:
        someone.downloads.pull(name)
        someone.until_gone()
        assert model_folder(MODEL).exists()
    else:
        someone.downloads.cancel(name)
        someone.until_gone(name)


def test_a_full_disk_says_so(hub, someone, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 0))
    someone.downloads.pull(MODEL)
    someone.until_state(FAILED)
    assert "make room" in str(someone.downloads.job(MODEL).error)


def test_an_unexpected_error_fails_the_job_only(hub, someone, monkeypatch):
    def broken(name: str) -> Iterator[None]:
        raise ZeroDivisionError("what")

    monkeypatch.setitem(sys.modules["gpt2gl_ui.downloads"].ACTIONS, "pull", broken)
    someone.downloads.pull(MODEL)
    someone.until_state(FAILED)
    assert "unexpected ZeroDivisionError (what)" in str(someone.downloads.job(MODEL).error)


def test_verify_finds_damage_and_pull_repairs_it(hub, files, someone):
    someone.downloads.pull(MODEL)
    someone.until_gone()
    weights = model_folder(MODEL) / WEIGHTS
    weights.write_bytes(b"x" + files[WEIGHTS][1:])
    someone.downloads.verify(MODEL)
    someone.until_state(FAILED)
    job = someone.downloads.job(MODEL)
    assert (job.kind, type(job.error)) == (VERIFY, VerificationError)
    someone.downloads.pull(MODEL)
    someone.until_gone()
    someone.downloads.verify(MODEL)
    someone.until_gone()
    assert someone.notices[-1] == f"{MODEL}: every file is as it was when it came"
    assert_whole(files)


def test_remove(hub, someone):
    someone.downloads.pull(MODEL)
    someone.until_gone()
    someone.downloads.remove(MODEL)
    someone.until_gone()
    assert library.installed() == []
    someone.downloads.remove(MODEL)
    someone.until_state(FAILED)
    someone.downloads.dismiss(MODEL)
    assert someone.downloads.job(MODEL) is None


def test_closing_pauses(hub, files, someone):
    hub.faults = Faults(seconds_per_chunk=SLOW)
    someone.downloads.pull(MODEL)
    someone.until_bytes(100_000)
    someone.downloads.close()
    hub.faults = Faults()
    later = Someone()
    later.downloads.refresh()
    job = later.downloads.job(MODEL)
    assert job.state == PAUSED
    assert job.bytes_there >= 100_000
    later.downloads.pull(MODEL)
    later.until_gone()
    later.downloads.close()
    assert_whole(files)


CHILD = f"""
import time
from gpt2gl_ui.downloads import Downloads
from gpt2gl_ui.toasts import Toasts
downloads = Downloads(Toasts(), lambda: None, print)
downloads.pull({MODEL!r})
while True:
    downloads.poll()
    time.sleep(0.01)
"""


def test_a_killed_program_is_gone_on_with(hub, files, someone):
    hub.faults = Faults(seconds_per_chunk=0.03)
    part = download_folder(MODEL) / f"{WEIGHTS}.part"
    process = subprocess.Popen([sys.executable, "-c", CHILD], cwd=ROOT)
    try:
        someone.until(lambda: part.exists() and part.stat().st_size >= 200_000)
    finally:
        process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        process.wait()
    there = part.stat().st_size
    hub.faults, hub.requests = Faults(), []
    someone.downloads.refresh()
    assert someone.downloads.job(MODEL).state == PAUSED
    someone.downloads.pull(MODEL)
    someone.until_gone()
    assert_whole(files)
    assert [r.headers["range"] for r in hub.bodies(WEIGHTS)] == [f"bytes={there}-"]


def test_looking_and_closing_ask_nothing_of_the_network(hub, someone):
    someone.downloads.refresh()
    someone.until(lambda: someone.downloads.catalogue.entries is not None)
    someone.downloads.close()
    assert hub.requests == []


def test_catalogue_knows_sizes_and_memory(hub):
    catalogue = Catalogue(lambda: None)
    catalogue.refresh()
    for thread in catalogue.threads:
        thread.join()
    embedded, gpt2 = catalogue.find("storyteller"), catalogue.find("gpt2")
    assert embedded.is_here
    assert (gpt2.where, gpt2.parameters) == (HUB, 124_439_808)
    assert 0 < gpt2.needs["int4"] < gpt2.needs["int8"] < gpt2.needs["fp32"]
    assert gpt2.needs["fp32"] > 4 * gpt2.parameters
    assert all(entry.needs for entry in catalogue.entries)


def test_one_line_for_every_error(hub, someone):
    hub.faults = Faults(info_body=b"<html>log in</html>")
    someone.downloads.pull(MODEL)
    someone.until(lambda: someone.downloads.job(MODEL).state not in (QUEUED, RUNNING))
    error = someone.downloads.job(MODEL).error
    assert isinstance(error, Gpt2glError)
    assert "\n" not in str(error)
