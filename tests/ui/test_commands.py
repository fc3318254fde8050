"""Commands: one registry behind the shortcuts, the palette and the list of F1."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from gpt2gl_ui import chords, commands
from gpt2gl_ui.chats.tree import CHAT, NOTEBOOK, UNTITLED
from gpt2gl_ui.commands import COMMANDS, FIELD_KEYS, GROUPS
from gpt2gl_ui.settings import DEFAULTS
from gpt2gl_ui.state import IMPORT, MODELS, PALETTE, SETTINGS, SHORTCUTS
from gpt2gl_ui.views import shortcuts
from tests.ui.fakes import FakeSession, Stage, staged


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, FakeSession(), (820, 560), whole=True) as made:
        made.driver.frame(3)
        yield made


def test_ids_labels_and_keys_are_unique() -> None:
    labels = [command.label for command in COMMANDS.values()]
    keys = [chord for command in COMMANDS.values() for chord in command.keys]
    assert len(set(labels)) == len(labels)
    assert len({chords.code(chord) for chord in keys}) == len(keys)
    assert all(command.group in GROUPS for command in COMMANDS.values())


def test_f1_lists_every_key_of_the_registry_once() -> None:
    listed = [row for group in GROUPS for row in shortcuts.rows(group)]
    of_commands = [(c.label, c.keys[0]) for c in COMMANDS.values() if c.keys]
    assert sorted(listed) == sorted([*of_commands, *((k.label, k.keys) for k in FIELD_KEYS)])


@pytest.mark.parametrize(
    ("chord", "keys"),
    [("Ctrl++", ["Ctrl", "+"]), ("F2", ["F2"]), ("Ctrl+Shift+=", ["Ctrl", "Shift", "="])],
)
def test_a_chord_is_split_into_its_keys(chord: str, keys: list[str]) -> None:
    assert chords.split(chord) == keys


def test_chords_are_shown_as_the_system_has_them() -> None:
    assert chords.shown("Ctrl+Enter", mac=False) == "Ctrl+Enter"
    assert chords.shown("Ctrl+Enter", mac=True) == "Cmd+Return"


def test_each_dialogue_opens_by_its_key_and_closes_by_it_and_by_escape(stage: Stage) -> None:
    for chord, name in (
        ("ctrl+comma", SETTINGS),
        ("ctrl+m", MODELS),
        ("ctrl+k", PALETTE),
        ("f1", SHORTCUTS),
    ):
        stage.driver.key(chord)
        assert stage.app.state.dialogue == name
        stage.driver.key(chord)
        assert stage.app.state.dialogue is None
    stage.app.state.dialogue = IMPORT
    stage.driver.frame(3)
    stage.driver.key("escape")
    assert stage.app.state.dialogue is None
    assert stage.app.failures.last_report is None


def test_shortcuts_work_while_a_message_is_written_and_leave_it_alone(stage: Stage) -> None:
    stage.driver.type("half a sentence")
    stage.driver.key("ctrl+b")
    assert not stage.app.settings.sidebar_open
    stage.driver.key("ctrl+f")
    assert stage.app.settings.sidebar_open
    stage.driver.type("fox")
    assert stage.app.state.query == "fox"
    stage.driver.key("ctrl+l")
    stage.driver.type("!")
    assert stage.app.state.composer.text == "half a sentence!"


def test_shortcuts_are_deaf_while_a_dialogue_is_open_but_for_its_own_and_the_looks(
    stage: Stage,
) -> None:
    stage.say("Hello")
    chat = stage.app.talk.chat.id
    stage.driver.key("f1")
    for chord in ("ctrl+n", "ctrl+b", "ctrl+k", "ctrl+r", "f2"):
        stage.driver.key(chord)
    assert stage.app.state.dialogue == SHORTCUTS
    assert stage.app.talk.chat.id == chat
    assert stage.app.settings.sidebar_open
    assert stage.app.state.renaming is None
    stage.driver.key("ctrl+equal")
    assert stage.app.settings.font_size == DEFAULTS.font_size + 1


def test_shortcuts_are_deaf_while_a_menu_is_open(stage: Stage) -> None:
    stage.driver.click("new.more")
    stage.driver.key("ctrl+b")
    assert stage.app.settings.sidebar_open


def test_text_size_keeps_to_the_range_of_the_setting(stage: Stage) -> None:
    for _ in range(40):
        commands.run(stage.app, "smaller")
    assert stage.app.settings.font_size == 10
    stage.driver.key("ctrl+_0")
    assert stage.app.settings.font_size == DEFAULTS.font_size
    assert not stage.app.toasts.visible()


def test_new_chats_of_all_kinds(stage: Stage) -> None:
    stage.say("Hello")
    stage.driver.key("ctrl+n")
    assert stage.app.talk.chat.is_empty
    assert stage.app.talk.chat.mode == CHAT
    stage.driver.key("ctrl+shift+n")
    assert stage.app.talk.chat.private
    commands.run(stage.app, "notebook")
    assert stage.app.talk.chat.mode == NOTEBOOK


def test_escape_stops_the_answer_and_keeps_what_is_being_written(stage: Stage) -> None:
    assert stage.session is not None
    stage.session.held = True
    stage.app.talk.send("Hello")
    stage.driver.frame(3)
    stage.driver.type("next")
    assert stage.app.talk.is_writing
    stage.driver.key("escape")
    stage.rest()
    assert not stage.app.talk.is_writing
    assert stage.app.state.composer.text == "next"


def test_ctrl_enter_sends_once_and_continues_when_nothing_is_written(stage: Stage) -> None:
    assert stage.session is not None
    stage.driver.type("Hello")
    stage.driver.key("ctrl+return")
    stage.rest()
    assert len(stage.session.prompts) == 1
    stage.driver.key("ctrl+return")
    stage.rest()
    assert len(stage.session.prompts) == 2
    assert [m.role for m in stage.app.talk.chat.path()] == ["user", "assistant"]


def test_the_answer_can_be_made_again_and_copied(stage: Stage) -> None:
    stage.say("Hello")
    stage.driver.key("ctrl+r")
    stage.rest()
    last = stage.app.talk.chat.last
    assert last is not None
    assert len(stage.app.talk.chat.versions(last.id)[1]) == 2
    stage.driver.key("ctrl+shift+c")
    assert stage.app.window.get_clipboard_text() == last.text


def test_the_neighbours_of_the_list_and_its_ends(stage: Stage) -> None:
    for text in ("First", "Second", "Third"):
        stage.app.shelf.new()
        stage.say(text)
        time.sleep(0.002)  # the list is in the order of milliseconds
    ids = [summary.id for summary in stage.app.shelf.listed()]
    assert stage.app.talk.chat.id == ids[0]
    stage.driver.key("ctrl+pagedown")
    assert stage.app.talk.chat.id == ids[1]
    stage.driver.key("ctrl+pagedown")
    stage.driver.key("ctrl+pagedown")
    assert stage.app.talk.chat.id == ids[2]
    stage.driver.key("ctrl+pageup")
    assert stage.app.talk.chat.id == ids[1]


def test_f2_renames_in_the_header_and_escape_does_not(stage: Stage) -> None:
    stage.say("Hello")
    stage.driver.key("f2")
    stage.driver.key("ctrl+a")
    stage.driver.type("A better name ## 100%s")
    stage.driver.key("escape")
    assert stage.app.talk.chat.title == "Hello"
    stage.driver.key("f2")
    stage.driver.key("ctrl+a")
    stage.driver.type("A better name ## 100%s\n")
    assert stage.app.talk.chat.title == "A better name ## 100%s"
    assert stage.app.state.renaming is None


def test_commands_that_cannot_be_done_are_not_done(stage: Stage) -> None:
    assert not commands.run(stage.app, "delete")
    assert not commands.run(stage.app, "copy")
    assert not commands.run(stage.app, "regenerate")
    assert stage.app.state.recent == []
    assert stage.app.talk.chat.title == UNTITLED


def test_every_pair_of_commands_leaves_the_window_whole(stage: Stage) -> None:
    """Whatever follows whatever, no view fails."""
    # The inspector looks into the model, which is a fake here.
    left_out = ("quit", "fullscreen", "inspector", "theme.system")
    names = [name for name in COMMANDS if name not in left_out]
    for first, second in list(combinations(names, 2))[::9]:
        commands.run(stage.app, first)
        stage.driver.frame()
        commands.run(stage.app, second)
        stage.driver.frame()
    stage.driver.frame(3)
    assert stage.app.failures.last_report is None
