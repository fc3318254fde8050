"""The palette: commands and chats by a few letters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpt2gl_ui import fuzzy
from gpt2gl_ui.chats.tree import Chat
from gpt2gl_ui.views.palette import MOST, entries
from tests.ui.fakes import Stage, staged


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, size=(820, 560), whole=True) as made:
        for name in ("Lighthouse keeper", "A fox ## 50%", "Über den Wolken"):
            chat = Chat(name=name)
            chat.say("Hello")
            made.app.shelf.save(chat)
        made.driver.frame(3)
        yield made


def names(query: str, *among: str) -> list[str]:
    return [name for name, _ in fuzzy.best(among, str, query, 10)]


def test_letters_must_come_in_order() -> None:
    assert names("fox", "a fox", "oxford f", "f-o-x") == ["a fox", "f-o-x"]
    assert names("xyz", "a fox") == []


def test_beginnings_and_whole_words_come_first() -> None:
    assert names("new", "renew", "A new one", "New chat") == ["New chat", "A new one", "renew"]
    assert names("nc", "announce", "New chat") == ["New chat", "announce"]


def test_neither_case_nor_accents_matter() -> None:
    assert names("uber", "Über den Wolken") == ["Über den Wolken"]
    assert fuzzy.best(["Über"], str, "BER", 1) == [("Über", (1, 2, 3))]


def test_signs_of_patterns_are_letters_like_any_other() -> None:
    assert names(".*", "anything", "a.b*") == ["a.b*"]


def test_what_was_used_lately_comes_first(stage: Stage) -> None:
    stage.app.state.recent = ["theme.dark", "shortcuts"]
    offered = [entry.key for entry in entries(stage.app, "")]
    assert offered[:2] == ["theme.dark", "shortcuts"]
    assert "palette" not in offered
    assert len(offered) == len(set(offered))


def test_commands_that_cannot_be_done_are_not_offered(stage: Stage) -> None:
    offered = {entry.key for entry in entries(stage.app, "")}
    assert "delete" not in offered
    assert "regenerate" not in offered
    assert "new" in offered


def test_enter_does_what_is_chosen(stage: Stage) -> None:
    stage.driver.key("ctrl+k")
    stage.driver.type("sidebar\n")
    assert stage.app.state.dialogue is None
    assert not stage.app.settings.sidebar_open
    assert stage.app.state.recent == ["sidebar"]


def test_a_chat_is_opened_by_its_name(stage: Stage) -> None:
    stage.driver.key("ctrl+k")
    stage.driver.type("fox ##\n")
    assert stage.app.talk.chat.title == "A fox ## 50%"


def test_arrows_choose_and_wrap_around(stage: Stage) -> None:
    stage.driver.key("ctrl+k")
    stage.driver.type("theme")
    shown = [entry.label for entry in entries(stage.app, "theme")]
    assert shown[0].startswith("Theme")
    stage.driver.key("up")
    stage.driver.key("down")
    stage.driver.key("down")
    stage.driver.key("return")
    assert f"Theme: {stage.app.settings.theme}" == shown[1]


def test_a_line_can_be_clicked_and_a_press_beside_closes(stage: Stage) -> None:
    stage.driver.key("ctrl+k")
    stage.driver.click("palette.private")
    assert stage.app.talk.chat.private
    stage.driver.key("ctrl+k")
    stage.driver.move(4, 540)
    stage.driver.press()
    stage.driver.release()
    assert stage.app.state.dialogue is None


def test_escape_and_its_own_key_close_it_and_it_opens_empty(stage: Stage) -> None:
    stage.driver.key("ctrl+k")
    stage.driver.type("zzz")
    assert entries(stage.app, "zzz") == []
    stage.driver.key("return")
    assert stage.app.state.dialogue is not None
    stage.driver.key("escape")
    assert stage.app.state.dialogue is None
    stage.driver.key("ctrl+k")
    assert "palette.new" in stage.driver.hook.marks


def test_thousands_of_chats_are_found_among(stage: Stage) -> None:
    for number in range(1500):
        chat = Chat(name=f"Story number {number}")
        stage.app.shelf.private[chat.id] = chat
    found = entries(stage.app, "story 1499")
    assert found[0].label == "Story number 1499"
    assert len(entries(stage.app, "story")) == MOST
