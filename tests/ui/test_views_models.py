"""The models dialogue: choosing, fetching, removing, and what it says when something fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpt2gl.errors import ModelNotFound, WeightError
from gpt2gl.hub.events import Checking, Contacting, Downloading, Retrying, Waiting
from gpt2gl.hub.paths import download_folder, model_folder
from gpt2gl.loading import Loading
from gpt2gl_ui.app import App
from gpt2gl_ui.catalogue import HERE, HUB, Entry
from gpt2gl_ui.downloads import DISCARD, FAILED, PAUSE, PAUSED, RUNNING, Job
from gpt2gl_ui.engine import FAILED as LOAD_FAILED
from gpt2gl_ui.engine import LOADING
from gpt2gl_ui.preparing import prepared_load
from gpt2gl_ui.state import MODELS
from gpt2gl_ui.views import models_panel
from gpt2gl_ui.views.model_row import clock, megabytes, progress
from tests.hub_pulls import MODEL
from tests.hub_server import Faults, Hub, repository, served
from tests.ui.fakes import FakeSession, Stage, staged


def only_models(app: App) -> None:
    """The window without what is under the dialogue."""
    if app.state.dialogue == MODELS:
        models_panel.draw(app)


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    monkeypatch.setattr("gpt2gl_ui.app.draw_window", only_models)
    monkeypatch.setattr("gpt2gl_ui.catalogue.KNOWN", {})  # so that nothing need be scrolled
    monkeypatch.setattr("gpt2gl_ui.renderer.Renderer.render", lambda *_: None)
    with staged(tmp_path, monkeypatch, FakeSession(), whole=True) as made:
        made.loaded = []
        made.app.load_model = made.loaded.append
        yield made


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, bytes]) -> Iterator[Hub]:
    with served(monkeypatch, tmp_path / "cache") as found:
        found.repositories[MODEL] = dict(files)
        yield found


def until(stage: Stage, condition: Callable[[], Any]) -> None:
    """Frames, with time for threads between them."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, stage.app.downloads.jobs
        stage.driver.frame()
        time.sleep(0.005)


def show(stage: Stage) -> None:
    stage.app.state.dialogue = MODELS
    stage.driver.frame()
    until(stage, lambda: stage.app.downloads.catalogue.entries is not None)
    stage.driver.settle()


def press(stage: Stage, name: str) -> None:
    stage.driver.settle()
    stage.driver.click(name)


def with_entries(stage: Stage, *entries: Entry) -> None:
    show(stage)
    stage.app.downloads.catalogue.entries = list(entries)
    stage.driver.settle()


HERE_GPT2 = Entry("gpt2", HERE, 551_000_000, 124_000_000, "mit", "About.", {"fp32": 600_000_000})


def test_choosing_a_model(stage):
    with_entries(stage, Entry("storyteller", "built in", 1), HERE_GPT2)
    assert "storyteller.use" not in stage.driver.hook.marks  # it is in use
    stage.driver.click("gpt2.use")
    assert stage.loaded == ["gpt2"]


def test_fetching_pausing_going_on_and_removing(stage, hub, files):
    show(stage)
    hub.faults = Faults(seconds_per_chunk=0.1)
    press(stage, "models.other")
    stage.driver.type(MODEL)
    stage.driver.click("models.other.go")
    until(stage, lambda: isinstance(stage.app.downloads.job(MODEL).event, Downloading))
    stage.driver.settle()
    press(stage, f"{MODEL}.pause")
    until(stage, lambda: stage.app.downloads.job(MODEL).state == PAUSED)
    stage.driver.settle()
    hub.faults = Faults()
    press(stage, f"{MODEL}.fetch")
    until(stage, lambda: model_folder(MODEL).exists() and not stage.app.downloads.jobs)
    until(stage, lambda: stage.app.downloads.catalogue.find(MODEL))
    stage.driver.settle()
    press(stage, f"{MODEL}.remove")
    assert model_folder(MODEL).exists()
    stage.driver.click("models.remove.action")
    until(stage, lambda: not model_folder(MODEL).exists())


def test_cancelling_removes_what_came(stage, hub):
    show(stage)
    hub.faults = Faults(seconds_per_chunk=0.1)
    stage.app.downloads.pull(MODEL)
    until(stage, lambda: isinstance(stage.app.downloads.job(MODEL).event, Downloading))
    press(stage, f"{MODEL}.cancel")
    until(stage, lambda: not stage.app.downloads.jobs)
    assert not download_folder(MODEL).exists()


def test_a_failure_is_in_the_row_with_another_attempt(stage, hub):
    show(stage)
    hub.faults = Faults(info_status=403)
    stage.app.downloads.pull(MODEL)
    until(stage, lambda: stage.app.downloads.job(MODEL).state == FAILED)
    assert stage.app.toasts.visible() == []  # it is in sight already
    hub.faults = Faults()
    press(stage, f"{MODEL}.fetch")
    until(stage, lambda: model_folder(MODEL).exists())


def test_looking_asks_nothing_of_the_network(stage, hub):
    show(stage)
    stage.driver.key("escape")
    assert stage.app.state.dialogue is None
    with pytest.raises(ModelNotFound, match=r"fetch it under Models"):
        list(prepared_load(stage.app.engine.context, MODEL, "fp32"))
    assert hub.requests == []


def test_a_local_folder_is_loaded(stage, tmp_path):
    show(stage)
    press(stage, "models.other")
    stage.driver.type(str(tmp_path))
    stage.driver.key("return")
    assert stage.loaded == [str(tmp_path)]
    assert stage.app.downloads.jobs == {}


def test_what_is_no_model_cannot_be_asked_for(stage):
    show(stage)
    for text in ("", "nonsense", "/no/such/folder", "a##b"):
        press(stage, "models.other")
        stage.driver.key("ctrl+a")
        stage.driver.type(text)
        stage.driver.click("models.other.go")
    assert stage.loaded == []
    assert stage.app.downloads.jobs == {}


def test_escape_belongs_to_what_is_in_front(stage):
    with_entries(stage, HERE_GPT2)
    stage.driver.click("gpt2.remove")
    stage.driver.key("escape")
    assert "models.remove" not in stage.driver.hook.marks
    assert stage.app.state.dialogue == MODELS
    press(stage, "models.other")
    stage.driver.type("gp")
    stage.driver.key("escape")
    assert stage.app.state.dialogue == MODELS
    stage.driver.key("escape")
    assert stage.app.state.dialogue is None
    assert stage.app.downloads.jobs == {}


def test_closing_by_the_cross(stage):
    show(stage)
    stage.driver.click("models.close")
    assert stage.app.state.dialogue is None


def test_a_failed_load_shows_the_way_back(stage):
    app = stage.app
    app.earlier_model = "gpt2"
    app.engine.state, app.engine.name = LOAD_FAILED, "gpt2-xl"
    app.engine.error = WeightError("model.safetensors: damaged: fetch it again")
    show(stage)
    stage.driver.click("models.retry")
    stage.driver.click("models.back")
    assert stage.loaded == ["gpt2-xl", "gpt2"]


def test_a_model_that_is_not_here_can_be_fetched(stage, hub):
    app = stage.app
    app.engine.state, app.engine.name = LOAD_FAILED, MODEL
    app.engine.error = ModelNotFound("not here")
    show(stage)
    stage.driver.click("models.now.fetch")
    until(stage, lambda: model_folder(MODEL).exists())


def test_loading_can_be_cancelled(stage):
    app, stopped = stage.app, []
    app.engine.state, app.engine.loading = LOADING, Loading("uploading", 0.4)
    app.engine.stop = lambda: stopped.append(True)
    show(stage)
    assert "models.loading" in stage.driver.hook.marks
    stage.driver.click("models.loading.cancel")
    assert stopped == [True]


def test_the_earlier_model_is_remembered(tmp_path, monkeypatch, current_context):
    with staged(tmp_path, monkeypatch, FakeSession()) as made:
        made.app.engine.load = lambda name, precision: None
        made.app.load_model("gpt2")
        assert made.app.earlier_model == "storyteller"
        assert made.app.settings.model == "gpt2"


def test_a_warning_where_a_model_will_not_fit():
    text = models_panel._too_large(6_000_000_000, 4_000_000_000, ["int8", "fp32-plain", "int4"])
    assert text == "Will not fit: it needs 6,000 MB of 4,000 MB; choose int8 or int4 in Settings."
    assert "smaller model" in models_panel._too_large(9, 8, [])


def test_the_warning_is_drawn(stage):
    with_entries(stage, replace(HERE_GPT2, needs={"fp32": 600_000_000, "int8": 200_000_000}))
    before = stage.driver.hook.marks["model.gpt2"][3]
    stage.app.state.kept(models_panel.NAME, models_panel.Form).room = 1
    stage.driver.frame(3)
    assert stage.driver.hook.marks["model.gpt2"][3] > before


@pytest.mark.parametrize(
    ("job", "fraction", "words"),
    [
        (Job("m"), 0.0, "Waits for its turn"),
        (Job("m", state=RUNNING), None, "Beginning…"),
        (Job("m", DISCARD, RUNNING), None, "Deleting…"),
        (Job("m", state=RUNNING, event=Contacting("m", "https://h")), None, "Asking https://h"),
        (Job("m", state=RUNNING, event=Waiting("m")), None, "Another process is fetching it"),
        (Job("m", state=RUNNING, event=Checking("f", 1, 4)), 0.25, "Checking f"),
        (Job("m", state=RUNNING, event=Retrying("no", 1, 2.2)), None, "no; again in 2 s"),
        (
            Job("m", state=RUNNING, event=Downloading("f", 50_000_000, 100_000_000, 5, 50_000_000)),
            0.5,
            "f  ·  50 MB of 100 MB  ·  10.0 MB/s  ·  0:05 left",
        ),
        (
            Job("m", state=RUNNING, wish=PAUSE, event=Downloading("f", 1, 2, 0, 0)),
            0.5,
            "Pausing…",
        ),
        (Job("m", state=PAUSED, bytes_there=1_500_000), 0.0, "Paused, 1.5 MB here"),
        (
            Job("m", state=PAUSED, event=Downloading("f", 50_000_000, 100_000_000, 1, 1)),
            0.5,
            "Paused, 50 MB of 100 MB here",
        ),
    ],
)
def test_progress_in_words(job, fraction, words):
    assert progress(job) == (fraction, words)


def test_numbers_in_words():
    assert [megabytes(1_250_000), megabytes(1_523_000_000)] == ["1.2 MB", "1,523 MB"]
    assert [clock(65), clock(7384)] == ["1:05", "2:03:04"]


def test_models_of_the_hub_are_listed_apart(stage):
    with_entries(stage, Entry("storyteller", "built in", 1), Entry("gpt2", HUB, 551_000_000))
    marks = stage.driver.hook.marks
    assert marks["model.gpt2"][1] > marks["model.storyteller"][1]
    assert "gpt2.fetch" in marks
    assert "gpt2.remove" not in marks
