"""The conversation in a window: messages, what can be done with them, scrolling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpt2gl.generation import Trimmed
from gpt2gl.templates import ASSISTANT
from gpt2gl_ui.chats.messages import Answer
from gpt2gl_ui.views.conversation import Transcript
from tests.ui.fakes import FakeSession, Stage, staged


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, FakeSession()) as made:
        yield made


def texts(stage: Stage) -> list[str]:
    return [message.text for message in stage.app.talk.chat.path()]


def act(stage: Stage, message: int, key: str) -> None:
    """Press a button of a message's row, which appears under the pointer."""
    stage.driver.hover(f"message.{message}")
    stage.driver.click(f"message.{message}.{key}")


def transcript(stage: Stage) -> Transcript:
    return stage.app.state.kept("transcript", Transcript)


def fill(stage: Stage, count: int, length: int = 60) -> None:
    """A long conversation, opened afresh."""
    chat = stage.app.talk.chat
    for number in range(count):
        said = chat.say(f"Question {number}")
        chat.add(said.id, ASSISTANT, "An answer. " * length, Answer("storyteller", "stop"))
    stage.driver.frame()
    stage.driver.until(lambda: not transcript(stage)._guessed, "everything is measured")
    stage.driver.frame(2)


def test_an_answer_comes_and_its_row_can_be_reached(stage: Stage) -> None:
    stage.say("Begin")
    assert texts(stage) == ["Begin", "Once upon a time."]
    assert {"message.0", "message.1"} <= stage.driver.hook.marks.keys()
    assert "message.1.copy" not in stage.driver.hook.marks
    stage.driver.hover("message.1")
    assert "message.1.copy" in stage.driver.hook.marks


def test_copy_takes_the_source(stage: Stage) -> None:
    stage.session.words = ("**bold**", " and plain")  # type: ignore[union-attr]
    stage.say("Begin ## %s")
    act(stage, 1, "copy")
    assert stage.app.window.get_clipboard_text() == "**bold** and plain"
    act(stage, 0, "copy")
    assert stage.app.window.get_clipboard_text() == "Begin ## %s"


def test_regenerate_makes_a_version_and_the_arrows_step(stage: Stage) -> None:
    stage.say("Begin")
    stage.session.words = ("Another",)  # type: ignore[union-attr]
    act(stage, 1, "regenerate")
    stage.rest()
    assert texts(stage) == ["Begin", "Another"]
    act(stage, 1, "previous")
    assert texts(stage) == ["Begin", "Once upon a time."]
    act(stage, 1, "next")
    assert texts(stage) == ["Begin", "Another"]


def test_continue_adds_to_the_answer(stage: Stage) -> None:
    stage.say("Begin")
    stage.session.words = (" More",)  # type: ignore[union-attr]
    act(stage, 1, "continue")
    stage.rest()
    assert texts(stage) == ["Begin", "Once upon a time. More"]


def test_editing_what_was_said_saves_a_version_and_answers_it(stage: Stage) -> None:
    stage.say("Begin")
    act(stage, 0, "edit")
    stage.driver.type(" again")
    stage.driver.key("shift+return")
    stage.driver.type("please")
    stage.driver.key("ctrl+return")
    stage.rest()
    assert texts(stage) == ["Begin again\nplease", "Once upon a time."]
    assert stage.app.state.editing is None
    assert len(stage.app.talk.chat) == 4
    assert "Begin again\nplease" in stage.session.prompts[-1]  # type: ignore[union-attr]


def test_escape_leaves_an_edited_message_as_it_was(stage: Stage) -> None:
    stage.say("Begin")
    act(stage, 1, "edit")
    stage.driver.type(" nonsense")
    assert stage.app.state.editing is not None
    assert stage.app.state.editing.text.endswith(" nonsense")
    stage.driver.key("escape")
    assert stage.app.state.editing is None
    assert texts(stage) == ["Begin", "Once upon a time."]


def test_an_edited_answer_is_saved_without_another_run(stage: Stage) -> None:
    stage.say("Begin")
    act(stage, 1, "edit")
    stage.driver.type(" The end")
    stage.driver.click("message.editor.save")
    assert texts(stage) == ["Begin", "Once upon a time. The end"]
    assert len(stage.session.prompts) == 1  # type: ignore[union-attr]


def test_deleted_messages_come_back(stage: Stage) -> None:
    stage.say("Begin")
    act(stage, 0, "delete")
    assert texts(stage) == []
    toast = stage.app.toasts.visible()[-1]
    assert toast.text == "Deleted a message and 1 after it"
    stage.driver.click(f"toast.{toast.number}.action")
    assert texts(stage) == ["Begin", "Once upon a time."]


def test_branch_opens_a_chat_of_the_messages_so_far(stage: Stage) -> None:
    stage.say("Begin")
    stage.say("Go on")
    before = stage.app.talk.chat.id
    act(stage, 1, "branch")
    assert stage.app.talk.chat.id != before
    assert texts(stage) == ["Begin", "Once upon a time."]


def test_context_menu_by_the_right_button(stage: Stage) -> None:
    stage.say("Begin")
    stage.driver.click("message.1", "right")
    stage.driver.frame(2)
    assert "message.menu.branch" in stage.driver.hook.marks
    stage.driver.click("message.menu.copy")
    assert stage.app.window.get_clipboard_text() == "Once upon a time."


def test_keyboard_reaches_messages_and_their_menu(stage: Stage) -> None:
    stage.say("Begin")
    stage.driver.key("shift+tab")
    stage.driver.frame(3)
    assert "message.1.copy" in stage.driver.hook.marks
    stage.driver.key("menu")
    stage.driver.frame(2)
    assert "message.menu.copy" in stage.driver.hook.marks
    stage.driver.key("escape")
    stage.driver.key("escape")
    stage.driver.type("typed")
    assert stage.app.state.composer.text == "typed"


def test_progress_of_reading_then_stopped_before_a_word(stage: Stage) -> None:
    assert stage.session is not None
    stage.session.held, stage.session.working = True, 3
    assert stage.app.talk.send("Begin")
    stage.driver.frame(4)
    assert "message.1" in stage.driver.hook.marks
    before = stage.driver.hook.marks["message.1"]
    stage.driver.key("escape")
    stage.rest()
    assert texts(stage) == ["Begin"]
    assert "conversation.notice" in stage.driver.hook.marks
    stage.session.held = False
    stage.driver.click("conversation.answer")
    stage.rest()
    assert texts(stage) == ["Begin", "Once upon a time."]
    assert stage.driver.hook.marks["message.1"] == before


def test_streaming_moves_nothing_that_stands_already(stage: Stage) -> None:
    stage.session.words = (" word",) * 30  # type: ignore[union-attr]
    assert stage.app.talk.send("Begin")
    stage.driver.frame(3)
    places = set()
    while stage.app.engine.is_busy:
        stage.driver.frame()
        places.add((stage.driver.hook.marks["message.0"], stage.driver.hook.marks["message.1"][:3]))
    assert len(places) == 1


def test_marker_where_the_models_view_begins(stage: Stage) -> None:
    for number in range(3):
        stage.say(f"Question {number}")
    talk = stage.app.talk
    talk.trimmed = Trimmed(40, 20)
    assert talk._dialogue is not None
    talk._dialogue._first_seen = 2
    talk._changed()
    stage.driver.frame(2)
    marker, after = (stage.driver.hook.marks[m] for m in ("conversation.trimmed", "message.2"))
    assert marker[1] < after[1]
    before = stage.driver.hook.marks["message.1"]
    assert marker[1] >= before[1] + before[3]


def test_only_what_can_be_seen_is_drawn(stage: Stage) -> None:
    fill(stage, 60)
    view = transcript(stage)
    assert 0 < view.drawn < 12
    assert len(view.tops) == 120
    assert view.total > 20_000


def test_the_end_is_followed_until_scrolled_up(stage: Stage) -> None:
    fill(stage, 12)
    state, view = stage.app.state, transcript(stage)
    at_end = view._scroll
    assert state.stick
    assert "conversation.end" not in stage.driver.hook.marks
    stage.driver.move(500, 200)
    stage.driver.scroll(5)
    assert not state.stick
    assert view._scroll < at_end
    kept = view._scroll
    stage.say("Another")
    assert view._scroll == kept
    stage.driver.click("conversation.end")
    assert state.stick
    assert view._scroll > at_end


def test_another_width_keeps_the_place(stage: Stage) -> None:
    fill(stage, 20)
    stage.driver.move(500, 200)
    stage.driver.scroll(40)
    view = transcript(stage)
    anchor = view._anchor()
    assert anchor is not None
    stage.driver.resize(600, 700)
    stage.driver.until(lambda: not view._guessed, "everything is measured")
    after = view._anchor()
    assert after is not None
    assert sum(after) == pytest.approx(sum(anchor), abs=0.1)


def test_scroll_to_a_message(stage: Stage) -> None:
    fill(stage, 20)
    stage.app.state.scroll_to = stage.app.talk.chat.path()[4].id
    stage.driver.frame(3)
    assert "message.4" in stage.driver.hook.marks
    assert not stage.app.state.stick


def test_selection_reaches_over_messages(stage: Stage) -> None:
    stage.say("Begin")
    first, second = (stage.driver.hook.marks[f"message.{n}"] for n in (0, 1))
    start = (first[0] + 17, first[1] + first[3] / 2)
    stage.driver.move(2, 2)
    stage.driver.drag(start, (second[0] + second[2] - 20, second[1] + second[3] / 2))
    stage.driver.key("ctrl+c")
    assert stage.app.window.get_clipboard_text() == "Begin\n\nOnce upon a time."


def test_any_text_can_be_shown(stage: Stage) -> None:
    chat = stage.app.talk.chat
    said = chat.say("##id %s %n \0 \ud800 ###")
    chat.add(said.id, ASSISTANT, "\ud83d\0 <|endoftext|> ## %d", Answer("storyteller", "stop"))
    stage.driver.frame(3)
    act(stage, 0, "edit")
    assert stage.app.state.editing is not None
    assert stage.app.state.editing.text == "##id %s %n \ufffd \ufffd ###"
