"""Fetching models with the genuine client from a hub on loopback, and going on where it stopped."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from gpt2gl.hub import library
from gpt2gl.hub.events import Checking, Contacting, Downloading, Retrying
from gpt2gl.hub.paths import download_folder, model_folder
from gpt2gl.hub.pull import pull
from gpt2gl.weights import open_checkpoint
from tests.checkpoints import tiny_config, tiny_weights
from tests.gguf_files import write_gguf
from tests.hub_pulls import MODEL, WEIGHTS, assert_whole, content, interrupt, pulled
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


def test_a_repository_of_one_gguf_file(hub, tmp_path):
    config = tiny_config()
    path = write_gguf(tmp_path / "tiny.Q8_0.gguf", config, tiny_weights(config))
    hub.repositories[MODEL] = {path.name: path.read_bytes(), "README.md": b"#"}
    pulled()
    assert library.find(MODEL).path.name == path.name
    open_checkpoint(library.find(MODEL).path).close()


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
