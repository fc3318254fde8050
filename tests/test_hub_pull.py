"""Fetching models with the genuine client from a hub on loopback that misbehaves in every way."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from gpt2gl.errors import CacheError, ConfigError, DownloadError, Gpt2glError, ModelNotFound
from gpt2gl.hub import library
from gpt2gl.hub.events import Checking, Contacting, Downloading, Event, Pulled, Retrying
from gpt2gl.hub.manifest import MANIFEST_NAME
from gpt2gl.hub.paths import download_folder, model_folder
from gpt2gl.hub.pull import pull
from gpt2gl.weights import open_checkpoint
from tests.hub_server import Faults, Hub, repository, served

MODEL = "someone/tiny-gpt2"
WEIGHTS = "model.safetensors"


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


def refusal(kind: type[Gpt2glError], name: str = MODEL) -> str:
    """The one line with which a pull is refused; nothing appears under a final name."""
    with pytest.raises(kind) as caught:
        list(pull(name))
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_code == 2
    assert not model_folder(name).exists()
    return message


def pulled(name: str = MODEL) -> list[Event]:
    events = list(pull(name))
    assert isinstance(events[-1], Pulled)
    return events


def content(name: str = MODEL) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in model_folder(name).iterdir()}


def assert_whole(files: dict[str, bytes]) -> None:
    """The cache holds the right bytes of what is needed, and no trace of the download."""
    found = content()
    assert found.pop(MANIFEST_NAME)
    assert found == {name: files[name] for name in ("config.json", WEIGHTS)}
    assert not download_folder(MODEL).exists()


def interrupt(events: Iterator[Event], after: int) -> None:
    """Close a pull once so many bytes of the weights are there."""
    for event in events:
        if isinstance(event, Downloading) and event.file == WEIGHTS and event.done >= after:
            break
    events.close()  # type: ignore[attr-defined]


# Fetching ---------------------------------------------------------------------------------------


def test_only_what_is_needed_is_fetched_and_it_opens(hub, files):
    events = pulled()
    assert isinstance(events[0], Contacting)
    assert_whole(files)
    assert not [r for r in hub.requests if r.path.endswith((".bin", ".md"))]
    with open_checkpoint(model_folder(MODEL)) as checkpoint:
        assert checkpoint.config.vocab_size == 1000


def test_progress_counts_all_files(hub, files):
    total = len(files["config.json"]) + len(files[WEIGHTS])
    progress = [e for e in pulled() if isinstance(e, Downloading)]
    assert {event.total for event in progress} == {total}
    assert [event.done for event in progress] == sorted(event.done for event in progress)
    assert (progress[-1].done, progress[-1].received) == (total, total)
    assert progress[-1].seconds_left == 0


def test_the_manifest_says_where_it_came_from(hub):
    pulled()
    manifest = library.find(MODEL).manifest
    assert (manifest.id, manifest.commit, manifest.licence) == (MODEL, hub.commit, "mit")
    assert manifest.source == f"{hub.endpoint}/{MODEL}"


def test_a_sharded_model(hub, tmp_path):
    hub.repositories[MODEL] = repository(tmp_path / "sharded", shards=3)
    pulled()
    assert len([name for name in content() if name.startswith("model-")]) == 3
    open_checkpoint(model_folder(MODEL)).close()


def test_sizes_and_checksums_by_head_where_the_list_has_none(hub, files):
    hub.faults = Faults(no_metadata=True)
    pulled()
    assert_whole(files)
    assert {r.path.rpartition("/")[2] for r in hub.requests if r.method == "HEAD"} == {
        "config.json",
        WEIGHTS,
    }


def test_a_known_name_is_its_model_on_the_hub(hub, files):
    hub.repositories["openai-community/gpt2"] = files
    pulled("gpt2")
    assert library.find("gpt2").id == library.find("openai-community/gpt2").id


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_only_the_owner_can_read(hub, cache):
    events = pull(MODEL)
    interrupt(events, 100_000)
    paths = [cache, *cache.rglob("*")]
    pulled()
    for path in [*paths, *cache.rglob("*")]:
        if path.exists():
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_model_that_is_here_is_checked_without_a_network(hub, monkeypatch):
    pulled()
    hub.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    events = pulled()
    assert not events[-1].fetched
    assert any(isinstance(event, Checking) for event in events)
    assert not hub.requests


def test_only_a_damaged_file_is_fetched_again(hub, files):
    pulled()
    path = model_folder(MODEL) / WEIGHTS
    path.write_bytes(b"x" + files[WEIGHTS][1:])
    hub.requests.clear()
    assert pulled()[-1].fetched
    assert_whole(files)
    assert hub.bodies(WEIGHTS)
    assert not hub.bodies("config.json")


# Going on after an interruption -----------------------------------------------------------------


def test_a_cut_connection_is_resumed_in_this_run(hub, files):
    hub.faults = Faults(cut_after=400_000, cuts=2)
    events = pulled()
    assert_whole(files)
    starts = [r.headers.get("range", "bytes=0-") for r in hub.bodies(WEIGHTS)]
    assert starts == ["bytes=0-", "bytes=400000-", "bytes=800000-"]
    assert any(isinstance(event, Retrying) for event in events)
    received = [e.received for e in events if isinstance(e, Downloading)]
    assert received[-1] == len(files["config.json"]) + len(files[WEIGHTS])


def test_progress_forgives_many_cuts(hub, files):
    hub.faults = Faults(cut_after=100_000, cuts=11)
    pulled()
    assert_whole(files)


def test_a_cancelled_download_is_resumed_in_the_next_run(hub, files):
    interrupt(pull(MODEL), 500_000)
    assert not model_folder(MODEL).exists()
    assert not (download_folder(MODEL) / WEIGHTS).exists()
    there = (download_folder(MODEL) / f"{WEIGHTS}.part").stat().st_size
    assert 0 < there < len(files[WEIGHTS])
    hub.requests.clear()
    events = pulled()
    assert_whole(files)
    assert [r.headers["range"] for r in hub.bodies(WEIGHTS)] == [f"bytes={there}-"]
    assert not hub.bodies("config.json")
    received = [e.received for e in events if isinstance(e, Downloading)]
    assert received[-1] == len(files[WEIGHTS]) - there


def test_a_server_without_ranges_starts_over(hub, files):
    interrupt(pull(MODEL), 500_000)
    hub.faults = Faults(no_ranges=True)
    pulled()
    assert_whole(files)


def test_a_part_of_another_version_is_thrown_away(hub, files):
    interrupt(pull(MODEL), 500_000)
    other = files[WEIGHTS][:-1] + bytes([files[WEIGHTS][-1] ^ 1])
    hub.repositories[MODEL] = {**files, WEIGHTS: other}
    hub.requests.clear()
    pulled()
    assert content()[WEIGHTS] == other
    assert [r.headers.get("range") for r in hub.bodies(WEIGHTS)] == [None]


@pytest.mark.parametrize("damage", ["flip", "longer", "no note"])
def test_a_damaged_part_is_fetched_anew(hub, files, damage):
    interrupt(pull(MODEL), 500_000)
    part = download_folder(MODEL) / f"{WEIGHTS}.part"
    if damage == "flip":
        part.write_bytes(b"?" + part.read_bytes()[1:])
    elif damage == "longer":
        part.write_bytes(part.read_bytes() + b"?" * len(files[WEIGHTS]))
    else:
        part.with_name(f"{WEIGHTS}.part.json").write_text("{")
    pulled()
    assert_whole(files)


def test_a_finished_file_that_was_damaged_since_is_fetched_anew(hub, files):
    interrupt(pull(MODEL), 500_000)
    (download_folder(MODEL) / "config.json").write_text("{}")
    pulled()
    assert_whole(files)


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
    from gpt2gl.hub import download

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
