"""Hubs, networks and disks that misbehave: one clear line, or the download goes on."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from gpt2gl.errors import CacheError, ConfigError, DownloadError, ModelNotFound
from gpt2gl.hub import download, library
from gpt2gl.hub.paths import download_folder
from gpt2gl.hub.pull import pull
from gpt2gl.weights import open_checkpoint
from tests.hub_pulls import MODEL, WEIGHTS, assert_whole, pulled, refusal
from tests.hub_server import Faults, Hub, repository, served


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, cache: Path, files: dict[str, bytes]) -> Iterator[Hub]:
    with served(monkeypatch, cache) as found:
        found.repositories[MODEL] = dict(files)
        yield found


# Servers that misbehave -------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_server_is_asked_again(hub, files, status):
    hub.faults = Faults(status=status, statuses=2, info_status=status, info_statuses=2)
    pulled()
    assert_whole(files)


@pytest.mark.parametrize("status", [429, 500])
def test_a_server_that_stays_busy(hub, status):
    hub.faults = Faults(info_status=status)
    assert f"{hub.endpoint} answers {status}" in refusal(DownloadError)


def test_retry_after_is_honoured(hub, files):
    hub.faults = Faults(status=429, statuses=1, retry_after="0")
    pulled()
    assert_whole(files)


def test_a_long_retry_after_is_said_and_not_waited_for(hub):
    hub.faults = Faults(info_status=429, retry_after="300")
    assert "in 300 seconds" in refusal(DownloadError)
    assert len(hub.requests) == 1


def test_bytes_that_are_wrong_once(hub, files):
    hub.faults = Faults(wrong_bytes=1)
    pulled()
    assert_whole(files)


def test_bytes_that_stay_wrong(hub):
    hub.faults = Faults(wrong_bytes=-1)
    assert f"the bytes of {WEIGHTS} are not those" in refusal(DownloadError)
    assert not (download_folder(MODEL) / WEIGHTS).exists()


def test_more_bytes_than_promised(hub, files):
    hub.faults = Faults(longer_by=5)
    assert f"more than the {len(files[WEIGHTS])} bytes promised" in refusal(DownloadError)


def test_a_promise_of_too_much(hub, files):
    hub.faults = Faults(lie_about_length=1000)
    pulled()
    assert_whole(files)


def test_a_promise_of_too_little_is_resumed_from_an_honest_server(hub, files):
    hub.faults = Faults(lie_about_length=-1000)
    assert "ended 1000 bytes early" in refusal(DownloadError)
    hub.faults = Faults()
    pulled()
    assert_whole(files)
    assert hub.bodies(WEIGHTS)[-1].headers["range"] == f"bytes={len(files[WEIGHTS]) - 1000}-"


def test_a_silent_server_is_left_and_asked_again(hub, files, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.3)
    hub.faults = Faults(stall_after=300_000, stalls=1)
    pulled()
    assert_whole(files)
    assert hub.bodies(WEIGHTS)[1].headers["range"] == "bytes=300000-"


def test_a_slow_server_is_waited_for(hub, files):
    hub.faults = Faults(seconds_per_chunk=0.002)
    pulled()
    assert_whole(files)


def test_no_network(hub, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "http://127.0.0.1:9 cannot be reached" in refusal(DownloadError)


def test_offline_mode(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE=1" in refusal(DownloadError)
    assert not hub.requests


def test_an_unknown_model(hub):
    message = refusal(ModelNotFound, "someone/else")
    assert message.startswith(f"no model someone/else at {hub.endpoint}")


@pytest.mark.parametrize(
    "name", ["", "nope", "a/b/c", "../x", "a/..", "x/y.gguf", "a--b/c", "a\nb/c"]
)
def test_a_name_that_is_none_of_the_hubs(hub, name):
    with pytest.raises(ModelNotFound, match="no model of the hub"):
        list(pull(name))
    assert not hub.requests


def test_a_gated_model_needs_a_token(hub, files, monkeypatch):
    hub.faults = Faults(need_token="hf_secret")
    message = refusal(DownloadError)
    assert "is gated" in message
    assert "HF_TOKEN" in message
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    pulled()
    assert_whole(files)


def test_the_token_goes_to_the_hub_only(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    pulled()
    content_requests = [r for r in hub.requests if r.path.startswith("/cdn/")]
    assert content_requests
    assert not [r for r in content_requests if "authorization" in r.headers]


@pytest.mark.parametrize(("status", "words"), [(401, "token is refused"), (403, "forbidden")])
def test_refused_access(hub, status, words):
    hub.faults = Faults(status=status)
    assert words in refusal(DownloadError)


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"[]", b'{"id": 3}', b"\xff", b"null"])
def test_a_page_instead_of_the_hub(hub, body):
    hub.faults = Faults(info_body=body)
    assert "does not answer as the hub does" in refusal(DownloadError)


@pytest.mark.parametrize(
    "change",
    [
        {"size": -1},
        {"size": "5"},
        {"blobId": "../../x"},
        {"size": None, "blobId": None},
        {"rfilename": 7},
    ],
)
def test_a_list_of_impossible_files(hub, change):
    names = [{"rfilename": "config.json", "size": 5, "blobId": "0" * 40, **change}]
    lfs = {"sha256": "0" * 64, "size": 5, "pointerSize": 134}
    names.append({"rfilename": WEIGHTS, "size": 5, "blobId": "0" * 40, "lfs": lfs})
    body = {"id": MODEL, "sha": hub.commit, "siblings": names, "tags": []}
    hub.faults = Faults(info_body=json.dumps(body).encode())
    refusal(DownloadError)


# Models that cannot be used ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("config.json", "pytorch_model.bin"), "pickled weights"),
        (("config.json",), f"has no {WEIGHTS}"),
        ((WEIGHTS,), "has no config.json"),
        (("a.gguf", "b.gguf"), "has 2 GGUF files"),
        (("config.json", "../model.safetensors", "onnx/model.safetensors"), f"has no {WEIGHTS}"),
    ],
)
def test_repositories_without_weights_that_can_be_read(hub, names, words):
    hub.repositories[MODEL] = dict.fromkeys(names, b"x")
    assert words in refusal(DownloadError)


def test_another_architecture_is_refused_before_its_weights(hub, files):
    hub.repositories[MODEL] = {**files, "config.json": b'{"model_type": "llama"}'}
    assert "llama" in refusal(ConfigError)
    assert not hub.bodies(WEIGHTS)


# The disk ---------------------------------------------------------------------------------------


def test_too_little_room_is_said_before(hub, monkeypatch):
    monkeypatch.setattr("gpt2gl.hub.pull.SPARE_BYTES", 1 << 62)
    assert "MB are free: make room" in refusal(CacheError)
    assert not hub.bodies(WEIGHTS)


def test_a_disk_that_fills_up(hub, files, monkeypatch):
    write = download.FileIO.write

    class Filling(download.FileIO):
        def write(self, data: memoryview) -> int:
            if self.tell() > 300_000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(download, "FileIO", Filling)
        assert "No space left on device: make room" in refusal(CacheError)
    hub.requests.clear()
    pulled()
    assert_whole(files)
    assert "range" in hub.bodies(WEIGHTS)[0].headers


def test_a_cache_that_cannot_be_made(hub, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    message = refusal(CacheError)
    assert "cannot be written" in message
    assert "GPT2GL_CACHE_DIR" in message


def test_a_read_only_cache_serves_what_is_in_it(hub, monkeypatch):
    pulled()

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("os.mkdir", refuse)
    assert library.find(MODEL) is not None
    open_checkpoint(library.find(MODEL).path).close()
    with pytest.raises(CacheError, match="Read-only file system"):
        list(pull(MODEL))
