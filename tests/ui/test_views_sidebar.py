"""The sidebar, the header and the status line."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpt2gl.errors import ModelNotFound
from gpt2gl.loading import UPLOADING, Loading
from gpt2gl_ui.chats.codec import summary_of
from gpt2gl_ui.chats.exchange import export_chat
from gpt2gl_ui.chats.tree import NOTEBOOK, Chat
from gpt2gl_ui.context_use import ContextUse
from gpt2gl_ui.engine import CLOSED, FAILED, LOADING
from gpt2gl_ui.exporting import file_stem, free_path
from gpt2gl_ui.settings import DEFAULTS
from gpt2gl_ui.state import IMPORT, MODELS
from gpt2gl_ui.views.chat_groups import (
    OLDER,
    PINNED,
    PRIVATE,
    TODAY,
    WEEK,
    YESTERDAY,
    lines,
)
from gpt2gl_ui.views.highlight import moved_to_match
from tests.ui.fakes import FakeSession, Stage, staged

DAY = 24 * 3600
SIZE = (820, 560)


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, FakeSession(), SIZE, whole=True) as made:
        monkeypatch.setattr("gpt2gl_ui.exporting.export_folder", lambda: tmp_path)
        made.driver.frame(3)
        made.driver.move(600, 300)
        yield made


def add(stage: Stage, name: str, text: str = "Hello", age: float = 0.0, **fields: bool) -> Chat:
    """A chat of the list, changed `age` seconds ago."""
    chat = Chat(name=name, **fields)  # type: ignore[arg-type]
    chat.say(text)
    chat.updated = time.time() - age
    stage.app.shelf.save(chat)
    stage.driver.frame(2)
    return chat


def found(stage: Stage, query: str) -> list[str]:
    """Search by typing; the titles of what was found."""
    stage.driver.key("ctrl+f")
    stage.driver.key("ctrl+a")
    stage.driver.type(query)
    finder = stage.app.finder
    until = time.monotonic() + 10
    while (finder.asked != query or finder.searching) and time.monotonic() < until:
        stage.driver.frame()
    assert not finder.searching
    return [hit.title for hit in finder.hits]


# The list ---------------------------------------------------------------------------------------


def test_chats_stand_under_when_they_were_changed() -> None:
    now = datetime.datetime(2024, 5, 15, 12)
    ages = {"a": 0, "b": 1, "c": 3, "d": 6, "e": 7, "f": 400}
    chats = [Chat(name=n, updated=now.timestamp() - days * DAY) for n, days in ages.items()]
    pinned, private = Chat(name="p", pinned=True, updated=1.0), Chat(name="s", private=True)
    saved = [summary_of(chat) for chat in (pinned, *chats)]
    made = lines([summary_of(private)], saved, now.date())
    shown = [line.heading if line.chat is None else line.chat.title for line in made]
    assert shown == [
        *(PRIVATE, "s", PINNED, "p", TODAY, "a", YESTERDAY, "b"),
        *(WEEK, "c", "d", OLDER, "e", "f"),
    ]


def test_thousands_of_chats_draw_only_those_that_can_be_seen(stage: Stage) -> None:
    for number in range(2000):
        chat = Chat(name=f"Chat {number}")
        stage.app.shelf.private[chat.id] = chat
    stage.driver.frame(3)
    rows = [name for name in stage.driver.hook.marks if name.startswith("chat.")]
    assert 5 < len(rows) < 40


def test_a_click_opens_and_a_double_click_renames(stage: Stage) -> None:
    chat = add(stage, "Old name")
    stage.driver.double_click(f"chat.{chat.id}")
    assert stage.app.talk.chat.id == chat.id
    stage.driver.key("ctrl+a")
    stage.driver.type("New ## name\n")
    assert stage.app.talk.chat.title == "New ## name"
    assert [s.title for s in stage.app.shelf.summaries()] == ["New ## name"]


def test_leaving_the_field_keeps_the_new_name_and_escape_the_old(stage: Stage) -> None:
    chat = add(stage, "Old name")
    stage.driver.double_click(f"chat.{chat.id}")
    stage.driver.key("ctrl+a")
    stage.driver.type("Second")
    stage.driver.key("escape")
    assert stage.app.talk.chat.title == "Old name"
    stage.driver.double_click(f"chat.{chat.id}")
    stage.driver.key("ctrl+a")
    stage.driver.type("Third")
    stage.driver.click("search")
    assert stage.app.talk.chat.title == "Third"


def test_the_menu_pins_exports_and_deletes_with_undo(stage: Stage, tmp_path: Path) -> None:
    add(stage, "Other", age=10)
    chat = add(stage, "Mine: a/b?", age=100)
    stage.driver.click(f"chat.{chat.id}", button="right")
    stage.driver.click("chat.menu.pin")
    assert stage.app.shelf.summaries()[0].pinned
    for _ in range(2):
        stage.driver.click(f"chat.{chat.id}", button="right")
        stage.driver.click("chat.menu.md")
    assert sorted(path.name for path in tmp_path.glob("*.md")) == ["Mine a b (2).md", "Mine a b.md"]
    stage.driver.click(f"chat.{chat.id}", button="right")
    stage.driver.click("chat.menu.delete")
    assert [s.title for s in stage.app.shelf.summaries()] == ["Other"]
    stage.app.toasts.visible()[-1].on_action()  # type: ignore[misc]
    assert [s.title for s in stage.app.shelf.summaries()] == ["Mine: a/b?", "Other"]


def test_a_button_of_the_row_under_the_pointer_opens_the_menu(stage: Stage) -> None:
    chat = add(stage, "Mine")
    assert f"chat.{chat.id}.more" not in stage.driver.hook.marks
    stage.driver.hover(f"chat.{chat.id}")
    stage.driver.click(f"chat.{chat.id}.more")
    assert "chat.menu.rename" in stage.driver.hook.marks
    assert stage.app.talk.chat.id != chat.id


def test_a_list_that_was_read_once_is_kept_up_without_reading_it_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(stage, "First", age=50)
    stage.app.shelf.summaries()
    monkeypatch.setattr(stage.app.shelf.store, "summaries", lambda: pytest.fail("read again"))
    second = add(stage, "Second", age=20)
    assert [s.title for s in stage.app.shelf.summaries()] == ["Second", "First"]
    stage.app.shelf.change(second.id, lambda chat: chat.rename("Third"))
    stage.app.shelf.delete(second.id)
    assert [s.title for s in stage.app.shelf.summaries()] == ["First"]


def test_private_chats_stay_for_the_run_and_never_reach_the_disk(stage: Stage) -> None:
    stage.driver.key("ctrl+shift+n")
    stage.say("Secret")
    private = stage.app.talk.chat.id
    stage.driver.key("ctrl+n")
    assert stage.app.shelf.listed()[0].id == private
    stage.driver.click(f"chat.{private}")
    assert stage.app.talk.chat.path()[0].text == "Secret"
    assert stage.app.writer.flush(5)
    assert list(stage.app.shelf.store.folder.chats.iterdir()) == []
    stage.app.shelf.delete(private)
    assert stage.app.shelf.listed() == []


# New chats, width, files ------------------------------------------------------------------------


def test_the_menu_beside_new_chat(stage: Stage) -> None:
    stage.driver.click("new.more")
    stage.driver.click("new.menu.notebook")
    assert stage.app.talk.chat.mode == NOTEBOOK
    stage.driver.click("new.more")
    stage.driver.click("new.menu.import")
    assert stage.app.state.dialogue == IMPORT


def test_the_edge_is_dragged_within_limits_and_two_presses_bring_it_back(stage: Stage) -> None:
    x, y = stage.driver.center("sidebar.edge")
    stage.driver.drag((x, y), (x + 60, y))
    assert abs(stage.app.settings.sidebar_width - DEFAULTS.sidebar_width - 60) <= 4
    x, y = stage.driver.center("sidebar.edge")
    stage.driver.drag((x, y), (20, y))
    assert stage.app.settings.sidebar_width == 200
    stage.driver.double_click("sidebar.edge")
    assert stage.app.settings.sidebar_width == DEFAULTS.sidebar_width


def test_a_narrow_window_has_the_sidebar_over_the_conversation(stage: Stage) -> None:
    stage.driver.resize(600, 500)
    stage.driver.frame(3)
    assert "new" not in stage.driver.hook.marks
    stage.driver.click("header.sidebar")
    stage.driver.frame(2)
    assert "new" in stage.driver.hook.marks
    stage.driver.move(590, 300)
    stage.driver.press()
    stage.driver.release()
    assert not stage.app.state.sidebar_over


def test_files_dropped_on_the_list_become_chats(stage: Stage, tmp_path: Path) -> None:
    chat = Chat(name="From elsewhere")
    chat.say("Hello")
    export_chat(chat, tmp_path / "chat.json")
    (tmp_path / "broken.json").write_text("{")
    stage.driver.move(100, 400)
    stage.driver.drop(tmp_path / "chat.json", tmp_path / "broken.json")
    assert stage.app.talk.chat.title == "From elsewhere"
    assert [s.title for s in stage.app.shelf.summaries()] == ["From elsewhere"]
    assert any("broken.json" in toast.text for toast in stage.app.toasts.visible())
    assert stage.app.state.composer.text == ""


def test_import_by_path_says_what_is_wrong_and_stays_open(stage: Stage, tmp_path: Path) -> None:
    chat = Chat(name="From elsewhere")
    chat.say("Hello")
    export_chat(chat, tmp_path / "chat.json")
    stage.app.state.dialogue = IMPORT
    stage.driver.frame(3)
    stage.driver.type(f"{tmp_path}/none.json\n")
    assert stage.app.state.dialogue == IMPORT
    stage.driver.click("import.path")
    stage.driver.key("ctrl+a")
    stage.driver.type(f"{tmp_path}/chat.json\n")
    assert stage.app.state.dialogue is None
    assert stage.app.talk.chat.title == "From elsewhere"


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("A fox", "A fox"),
        ('a/b\\c:d*e?f"g<h>i|j', "a b c d e f g h i j"),
        ("../../etc/passwd", "etc passwd"),
        ("con", "chat con"),
        (" . ", "chat"),
        ("x" * 300, "x" * 80),
        ("日" * 300, "日" * 53),
        ("\ud800 half", "half"),
    ],
)
def test_titles_as_names_of_files(title: str, stem: str) -> None:
    assert file_stem(title) == stem


def test_names_of_files_are_numbered_and_never_taken_twice(tmp_path: Path) -> None:
    made = [free_path(tmp_path, "A", ".md").name for _ in range(3)]
    assert made == ["A.md", "A (2).md", "A (3).md"]


# Searching --------------------------------------------------------------------------------------


def test_titles_and_texts_are_searched_and_a_press_opens_the_place(stage: Stage) -> None:
    fox = add(stage, "Fox", "A story of the ÉCLAIR in the garden")
    add(stage, "Other", "Nothing of the kind")
    assert stage.app.writer.flush(5)
    assert found(stage, "eclair garden") == ["Fox"]
    stage.driver.frame(2)
    stage.driver.click("found.0")
    assert stage.app.talk.chat.id == fox.id
    assert found(stage, "nowhere") == []
    stage.driver.click("search.clear")
    assert stage.app.state.query == ""
    stage.driver.frame(2)
    assert f"chat.{fox.id}" in stage.driver.hook.marks


def test_the_open_and_private_chats_are_searched_as_they_are(stage: Stage) -> None:
    stage.driver.key("ctrl+shift+n")
    stage.say("A secret unicorn")
    assert found(stage, "unicorn") == ["A secret unicorn"] * 2
    stage.driver.key("ctrl+n")
    assert found(stage, "unicorns") == []
    assert found(stage, "secret unicorn") == ["A secret unicorn"] * 2


def test_a_snippet_begins_a_little_before_its_match() -> None:
    text, spans = moved_to_match("one two three four five six", [(19, 23)])
    assert text == "…four five six"
    assert [text[a:b] for a, b in spans] == ["five"]
    assert moved_to_match("one two", [(0, 3)]) == ("one two", [(0, 3)])


# The header -------------------------------------------------------------------------------------


def test_the_header_switches_modes_and_opens_things(stage: Stage) -> None:
    stage.say("Hello")
    stage.driver.click("header.title")
    assert stage.app.state.renaming is not None
    stage.driver.key("escape")
    stage.driver.click("header.sidebar")
    assert not stage.app.settings.sidebar_open
    stage.driver.frame(3)
    stage.driver.click("header.mode.Notebook")
    assert stage.app.talk.chat.mode == NOTEBOOK
    stage.driver.click("header.model")
    assert stage.app.state.dialogue == MODELS


def test_loading_shows_how_far_it_is_and_can_be_cancelled(stage: Stage) -> None:
    engine = stage.app.engine
    engine.session, engine.state = None, LOADING
    engine.loading = Loading(UPLOADING, 0.5)
    stage.driver.frame(2)
    assert "header.loading" in stage.driver.hook.marks
    stopped: list[bool] = []
    engine.stop = lambda: stopped.append(True)  # type: ignore[method-assign]
    stage.driver.click("header.cancel")
    assert stopped == [True]


@pytest.mark.parametrize("size", [(1180, 780), (800, 600), (480, 400)])
@pytest.mark.parametrize("state", [CLOSED, FAILED])
def test_nothing_of_the_header_or_the_status_lies_outside(
    stage: Stage, size: tuple[int, int], state: str
) -> None:
    stage.driver.resize(*size)
    stage.app.engine.session, stage.app.engine.state = None, state
    stage.app.engine.error = ModelNotFound("no model here")
    stage.driver.frame(3)
    for name, (x, y, width, height) in stage.driver.hook.marks.items():
        if name.startswith(("header.", "status.")):
            assert x >= 0, name
            assert x + width <= size[0] + 1, name
            assert y + height <= size[1] + 1, name


# The status line --------------------------------------------------------------------------------


def test_the_status_line_does_not_move_while_an_answer_comes(stage: Stage) -> None:
    stage.driver.frame(2)

    def places() -> dict[str, object]:
        marks = stage.driver.hook.marks
        return {name: at for name, at in marks.items() if name.startswith("status.")}

    before = places()
    assert stage.session is not None
    stage.session.words = ["word "] * 40
    stage.app.talk.send("Hello")
    while stage.app.engine.is_busy:
        stage.driver.frame()
        assert places() == before
    assert "status.memory" in before
    assert "status.context" in before


def test_what_cannot_be_saved_is_shown(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "status.unsaved" not in stage.driver.hook.marks
    monkeypatch.setattr(stage.app.writer, "failures", lambda: {"chat": "disk full: free some room"})
    stage.driver.frame(2)
    assert "status.unsaved" in stage.driver.hook.marks


def test_the_context_is_counted_once_for_each_state_of_a_chat(stage: Stage) -> None:
    assert stage.session is not None
    use, talk = ContextUse(), stage.app.talk
    assert use.of(talk, stage.session) == 0  # type: ignore[arg-type]
    stage.say("Hello there")
    counted = use.of(talk, stage.session)  # type: ignore[arg-type]
    assert counted > len("Hello there")
    stage.session.tokenizer.encode = lambda text: pytest.fail("counted again")  # type: ignore
    assert use.of(talk, stage.session) == counted  # type: ignore[arg-type]


def test_a_long_chat_fills_the_context_and_no_more(stage: Stage) -> None:
    stage.say("word " * 5000)
    use = ContextUse()
    assert use.of(stage.app.talk, stage.session) == 1024  # type: ignore[arg-type]
