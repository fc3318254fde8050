"""Fetching in processes of its own: killed, interrupted, two at once; set up by the environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpt2gl.errors import CacheError
from gpt2gl.hub import library
from gpt2gl.hub.events import Downloading, Waiting
from gpt2gl.hub.paths import download_folder, model_folder
from gpt2gl.hub.pull import pull
from tests.hub_pulls import MODEL, WEIGHTS
from tests.hub_server import Faults, Hub, repository, served
from tests.source_tree import ROOT

PULL = (sys.executable, "-m", "gpt2gl", "models", "pull", MODEL)
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, bytes]) -> Iterator[Hub]:
    with served(monkeypatch, tmp_path / "cache") as found:
        found.repositories[MODEL] = dict(files)
        yield found


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts processes, which end with the test at the latest."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str, **environment: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, **environment}
        started.append(subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for_bytes(count: int) -> int:
    """Wait until so many bytes of the weights are on the disk; returns how many there are."""
    part = download_folder(MODEL) / f"{WEIGHTS}.part"
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if part.exists() and part.stat().st_size >= count:
            return part.stat().st_size
        time.sleep(0.01)
    raise AssertionError("nothing was downloaded")


def assert_whole(files: dict[str, bytes]) -> None:
    assert (model_folder(MODEL) / WEIGHTS).read_bytes() == files[WEIGHTS]
    assert list(library.verify(MODEL))
    assert not download_folder(MODEL).exists()


@posix
@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_what_ends_a_process_leaves_a_part_to_go_on_from(hub, files, start, signal_number, code):
    hub.faults = Faults(seconds_per_chunk=0.03)
    process = start(*PULL)
    wait_for_bytes(200_000)
    process.send_signal(signal_number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert not model_folder(MODEL).exists()
    there = wait_for_bytes(1)
    hub.faults, hub.requests = Faults(), []
    list(pull(MODEL))
    assert_whole(files)
    assert [r.headers["range"] for r in hub.bodies(WEIGHTS)] == [f"bytes={there}-"]


def test_two_processes_fetch_a_model_once(hub, files, start):
    hub.faults = Faults(seconds_per_chunk=0.02)
    processes = [start(*PULL), start(*PULL)]
    results = [(*process.communicate(timeout=60), process.returncode) for process in processes]
    assert [code for _, _, code in results] == [0, 0], results
    assert sorted(out for out, _, _ in results) == [
        f"{MODEL}: fetched and checked\n",
        f"{MODEL}: here already, checked\n",
    ]
    assert len(hub.bodies(WEIGHTS)) == 1
    assert_whole(files)


def test_one_waits_for_the_other_and_nothing_is_removed_meanwhile(hub, files):
    first = pull(MODEL)
    assert any(isinstance(event, Downloading) for event in first)
    second = pull(MODEL)
    assert isinstance(next(second), Waiting)
    with pytest.raises(CacheError, match="another process works on"):
        library.remove(MODEL)
    first.close()
    list(second)
    assert_whole(files)


def test_the_environment_alone_sets_up_the_client(hub, start):
    offline = start(*PULL, HF_HUB_OFFLINE="1")
    _, err = offline.communicate(timeout=30)
    assert offline.returncode == 2
    assert "HF_HUB_OFFLINE=1 forbids" in err
    assert not hub.requests
    hub.faults = Faults(need_token="hf_secret")
    with_token = start(*PULL, HF_TOKEN="hf_secret")
    out, err = with_token.communicate(timeout=30)
    assert (with_token.returncode, out) == (0, f"{MODEL}: fetched and checked\n"), err
    assert "hf_secret" not in out + err


def test_a_proxy_is_used(hub, start):
    """The address of the model's hub does not exist: only the proxy can have answered."""
    proxy = {"HTTP_PROXY": hub.endpoint, "HF_ENDPOINT": "http://hub.invalid", "NO_PROXY": ""}
    process = start(*PULL, **proxy, http_proxy=hub.endpoint, no_proxy="")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert any(request.path.startswith("http://hub.invalid/api/") for request in hub.requests), err
