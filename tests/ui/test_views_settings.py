"""The settings dialogue: every value can be seen, changed, refused, reset, found, and is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from imgui_bundle import imgui

from gpt2gl.errors import OptionError
from gpt2gl.generation import Finished
from gpt2gl.sampling import SAMPLING_OPTIONS
from gpt2gl_ui import theme
from gpt2gl_ui.app import App
from gpt2gl_ui.settings import CONTROLS, DEFAULTS
from gpt2gl_ui.state import MODELS, SETTINGS
from gpt2gl_ui.views import settings_panel
from gpt2gl_ui.views.model_settings import precision_note
from gpt2gl_ui.views.settings_form import Form, escaped, number_text, read_number, unescaped
from gpt2gl_ui.views.settings_panel import SECTIONS, SHOWN, found
from tests.ui.fakes import FakeSession, Stage, staged

# What the window remembers by itself.
KEPT_OUT = {
    *("model", "last_chat", "window_size", "window_position", "sidebar_width", "inspector_width"),
    "hints_seen",
    "recent",
}


def only_settings(app: App) -> None:
    """The window without what is under the dialogue."""
    if app.state.dialogue == SETTINGS:
        settings_panel.draw(app)


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    monkeypatch.setattr("gpt2gl_ui.app.draw_window", only_settings)
    monkeypatch.setattr(settings_panel, "HEIGHT", 1200)  # so that nothing need be scrolled
    monkeypatch.setattr("gpt2gl_ui.renderer.Renderer.render", lambda *_: None)
    with staged(tmp_path, monkeypatch, FakeSession(), size=(900, 980), whole=True) as made:
        made.app.set("ui_scale", 0.75)
        made.loaded = []
        made.app.load_model = made.loaded.append
        show(made)
        yield made


def show(stage: Stage, section: str = "Generation") -> None:
    stage.app.state.dialogue = SETTINGS
    stage.driver.settle()
    stage.driver.click(f"settings.section.{section}")


def write(stage: Stage, field: str, text: str, end: str = "return") -> None:
    """Replace a field's text."""
    stage.driver.click(f"settings.{field}")
    stage.driver.key("ctrl+a")
    if text:
        stage.driver.type(text)
    else:
        stage.driver.key("delete")
    stage.driver.key(end)


def reasons(stage: Stage) -> dict[str, str]:
    return stage.app.state.kept("settings", Form).reasons


# Values -----------------------------------------------------------------------------------------


def test_every_setting_is_in_a_section():
    assert CONTROLS.keys() >= SHOWN
    assert CONTROLS.keys() - SHOWN == KEPT_OUT


def test_a_typed_value_is_taken(stage):
    write(stage, "temperature", "1.25")
    write(stage, "top_k", "7", "tab")
    write(stage, "top_p", "0,5")
    sampling = stage.app.generation.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (1.25, 7, 0.5)
    assert reasons(stage) == {}


def test_what_is_not_allowed_is_explained_and_changes_nothing(stage):
    before = stage.app.settings
    for text in ("-1", "nan", "many", "1e999", "", "99999999999"):
        write(stage, "temperature", text)
        assert stage.app.settings == before
        (line,) = reasons(stage).values()
        assert "allowed: a number from 0 to 100" in line
        assert "\n" not in line
    write(stage, "temperature", "0.5")
    assert reasons(stage) == {}
    assert stage.app.generation.sampling.temperature == 0.5


def test_escape_takes_back_what_was_typed(stage):
    before = stage.app.settings
    write(stage, "temperature", "1.5", "escape")
    assert stage.app.settings == before
    assert stage.app.state.dialogue == SETTINGS


def test_a_slider_changes_its_value(stage):
    x, y, width, height = stage.driver.hook.marks["settings.top_k.slider"]
    stage.driver.drag((x + width * 0.2, y + height / 2), (x + width * 0.75, y + height / 2))
    assert 140 < stage.app.generation.sampling.top_k < 160


def test_a_slider_leaves_a_value_beyond_its_range_alone(stage):
    stage.app.set("top_k", 5000)
    stage.driver.frame(5)
    assert stage.app.generation.sampling.top_k == 5000


def test_back_to_the_default(stage):
    assert "settings.temperature.reset" not in stage.driver.hook.marks
    write(stage, "temperature", "1.5")
    stage.driver.click("settings.temperature.reset")
    default = DEFAULTS.generation.sampling.temperature
    assert stage.app.generation.sampling.temperature == default


def test_all_back_to_the_defaults_and_undone(stage):
    stage.app.set("temperature", 1.5)
    stage.app.set("token_tint", "entropy")
    stage.app.set("model", "gpt2")
    changed = stage.app.settings
    stage.driver.click("settings.reset")
    assert stage.app.settings.generation == DEFAULTS.generation
    assert stage.app.settings.token_tint == DEFAULTS.token_tint
    assert stage.app.settings.model == "gpt2"
    stage.driver.click("settings.undo")
    assert stage.app.settings == changed


def test_choices(stage):
    stage.driver.click("settings.context_policy.Keep head")
    assert stage.app.generation.context_policy == "keep-head"


# Rows of their own ------------------------------------------------------------------------------


def test_seed(stage):
    stage.driver.click("settings.seed.dice")
    assert stage.app.generation.sampling.seed is not None
    write(stage, "seed", "42")
    assert stage.app.generation.sampling.seed == 42
    write(stage, "seed", "")
    assert stage.app.generation.sampling.seed is None
    stage.app.talk.finished = Finished("stop", "", 1, 1, 7, 0.1, 1.0)
    stage.driver.frame(2)
    stage.driver.click("settings.seed.last")
    assert stage.app.generation.sampling.seed == 7
    assert "settings.seed.last" not in stage.driver.hook.marks


def test_stop_texts(stage):
    write(stage, "stop.0", r"\n\n")
    write(stage, "stop.1", "a##b")
    assert stage.app.generation.stop == ("\n\n", "a##b")
    write(stage, "stop.2", r"\n\n")
    assert "in the list already" in reasons(stage)["stop.2"]
    write(stage, "stop.1", "END")
    assert stage.app.generation.stop == ("\n\n", "END")
    stage.driver.click("settings.stop.0.remove")
    assert stage.app.generation.stop == ("END",)
    stage.driver.click("settings.stop.reset")
    assert stage.app.generation.stop == ()


@pytest.mark.parametrize("text", ["a", "\n\t\r\\", "\\n", "é##%s", "\\\n\\\\"])
def test_escapes_come_back(text):
    assert unescaped(escaped(text)) == text
    assert "\n" not in escaped(text)


def test_numbers_as_text():
    top_k, seed = SAMPLING_OPTIONS["top_k"], SAMPLING_OPTIONS["seed"]
    assert [number_text(each) for each in (None, 3, 0.8, 1.0)] == ["", "3", "0.8", "1"]
    assert read_number(top_k, " 12 ") == 12
    assert read_number(seed, "") is None
    with pytest.raises(OptionError, match="Something is needed here"):
        read_number(top_k, "")
    with pytest.raises(OptionError, match=r"“9{23}…” is not possible"):
        read_number(seed, "9" * 50)


# Appearance and model ---------------------------------------------------------------------------


def test_appearance_changes_at_once(stage):
    show(stage, "Appearance")
    stage.driver.click("settings.theme.Light")
    stage.driver.frame(2)
    assert theme.palette().name == "light"
    stage.driver.click("settings.theme.Dark")
    stage.driver.frame(2)
    assert theme.palette().name == "dark"
    stage.driver.click("settings.reduced_motion")
    assert stage.app.settings.reduced_motion
    write(stage, "font_size", "20")
    assert stage.app.settings.font_size == 20


def test_scale(stage):
    show(stage, "Appearance")
    stage.driver.click("settings.ui_scale")
    stage.driver.click("settings.ui_scale.1.5")
    stage.driver.frame(2)
    assert stage.app.settings.ui_scale == 1.5
    assert theme.current().scale == 1.5
    stage.driver.click("settings.ui_scale.reset")
    assert stage.app.settings.ui_scale is None


def test_escape_closes_a_list_first(stage):
    show(stage, "Appearance")
    stage.driver.click("settings.ui_scale")
    stage.driver.key("escape")
    assert stage.app.state.dialogue == SETTINGS
    stage.driver.key("escape")
    assert stage.app.state.dialogue is None


def test_precision_loads_the_model_again(stage):
    show(stage, "Model")
    stage.driver.click("settings.precision.fp16")
    assert stage.app.settings.precision == "fp16"
    assert stage.loaded == ["storyteller"]
    stage.driver.click("settings.model")
    assert stage.app.state.dialogue == MODELS


def test_the_memory_of_each_precision_is_told(stage, monkeypatch):
    from gpt2gl.config import ModelConfig

    monkeypatch.setattr(stage.session.model, "config", ModelConfig())
    assert "int4 " in precision_note(stage.app)
    assert "583 MB" in precision_note(stage.app)


# Presets ----------------------------------------------------------------------------------------


def test_presets_are_chosen_saved_renamed_deleted_and_brought_back(stage, tmp_path):
    folder = tmp_path / "config" / "presets"
    show(stage, "Presets")
    stage.driver.click("settings.preset.precise")
    assert stage.app.generation.sampling.temperature == 0.3
    assert stage.app.settings.preset == "precise"
    stage.app.set("temperature", 0.6)
    write(stage, "preset.new", "mine")
    assert (folder / "mine.json").exists()
    assert stage.app.settings.preset == "mine"
    stage.driver.click("settings.preset.mine.rename")
    write(stage, "preset.rename", "yours")
    assert [path.name for path in folder.iterdir()] == ["yours.json"]
    assert stage.app.settings.preset == "yours"
    stage.driver.click("settings.preset.yours.delete")
    assert list(folder.iterdir()) == []
    stage.driver.click("settings.undo")
    assert [path.name for path in folder.iterdir()] == ["yours.json"]
    stage.driver.click("settings.preset.creative")
    stage.driver.click("settings.preset.yours")
    assert stage.app.generation.sampling.temperature == 0.6


@pytest.mark.parametrize(
    ("name", "words"), [("Not This", "allowed: up to 40"), ("creative", "built in")]
)
def test_a_name_that_cannot_be_is_explained(stage, name, words):
    show(stage, "Presets")
    write(stage, "preset.new", name)
    assert words in reasons(stage)["preset.new"]


def test_a_damaged_preset_is_named_and_can_be_deleted(stage, tmp_path):
    folder = tmp_path / "config" / "presets"
    folder.mkdir(parents=True)
    (folder / "bad.json").write_text("{")
    stage.app.state.kept("settings", Form).presets = None
    show(stage, "Presets")
    before = stage.app.settings
    stage.driver.click("settings.preset.bad")
    assert stage.app.settings == before
    stage.driver.click("settings.preset.bad.delete")
    assert list(folder.iterdir()) == []


# The dialogue -----------------------------------------------------------------------------------


def test_searching(stage):
    assert list(found("penalty")) == ["Generation"]
    assert found("xyzzy") == {}
    write(stage, "search", "theme")
    assert "settings.theme.Light" in stage.driver.hook.marks
    assert "settings.temperature" not in stage.driver.hook.marks
    write(stage, "search", "no such words")
    assert "settings.theme.Light" not in stage.driver.hook.marks
    stage.driver.click("settings.section.Generation")
    assert "settings.temperature" in stage.driver.hook.marks


def test_paths_can_be_copied(stage, tmp_path):
    show(stage, "Privacy")
    stage.driver.click("settings.copy.Settings, presets")
    assert imgui.get_clipboard_text() == str(tmp_path / "config")


def test_about_tells_version_and_renderer(stage):
    from gpt2gl_ui.views.about_rows import device_lines

    show(stage, "About")
    lines = dict(device_lines(stage.app))
    assert lines["Version"].startswith("gpt2gl ")
    assert stage.app.window.renderer_name in lines["Renderer"]
    assert all(lines.values())


def test_by_keyboard_alone(stage):
    """From the search field over the sections to the first setting."""
    show(stage, "Appearance")
    stage.driver.click("settings.search")
    before = stage.app.settings
    for _ in range(len(SECTIONS) + 1):
        stage.driver.key("tab")
    stage.driver.key("space")
    assert (before.theme, stage.app.settings.theme) == ("system", "light")


def test_a_narrow_window_has_a_list_of_sections(stage):
    stage.driver.resize(460, 420)
    stage.driver.click("settings.section")
    stage.driver.click("settings.section.About")
    assert stage.app.state.kept("settings", Form).section == "About"


def test_what_was_set_is_there_after_closing_and_opening(tmp_path, monkeypatch, current_context):
    monkeypatch.setattr("gpt2gl_ui.app.draw_window", only_settings)
    with staged(tmp_path, monkeypatch, FakeSession(), size=(1000, 1500), whole=True) as first:
        show(first)
        write(first, "temperature", "1.25")
        first.app.quit()
    with staged(tmp_path, monkeypatch, FakeSession(), whole=True) as second:
        assert second.app.generation.sampling.temperature == 1.25
