"""What can be said, answered and changed in a chat, with a model that says what a test wants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpt2gl.errors import ContextLengthError
from gpt2gl.templates import ASSISTANT, USER
from gpt2gl_ui.chats.tree import NOTEBOOK
from tests.ui.fakes import FakeSession, Stage, staged

ANSWER = "Once upon a time."


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, FakeSession()) as made:
        yield made


def texts(stage: Stage) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in stage.app.talk.chat.path()]


def test_a_message_is_answered(stage: Stage) -> None:
    stage.say("Hello")
    assert texts(stage) == [(USER, "Hello"), (ASSISTANT, ANSWER)]
    answer = stage.app.talk.chat.path()[1].answer
    assert answer is not None
    assert (answer.model, answer.reason, answer.seed, answer.new_tokens) == (
        *("storyteller", "stop", 7, 5),
    )
    assert "".join(token.text for token in answer.tokens) == ANSWER
    assert len(answer.tokens[0].alternatives) == 10


def test_nothing_is_sent_twice_nor_while_an_answer_is_written(stage: Stage) -> None:
    assert stage.session is not None
    stage.session.held = True
    talk = stage.app.talk
    assert talk.send("Hello")
    for _ in range(3):
        assert not talk.send("Hello")
    stage.driver.frame(3)
    assert talk.is_writing
    assert talk.working is not None
    stage.session.held = False
    stage.rest()
    assert texts(stage) == [(USER, "Hello"), (ASSISTANT, ANSWER)]
    assert len(stage.session.prompts) == 1


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_nothing_is_no_message(stage: Stage, text: str) -> None:
    assert not stage.app.talk.send(text)
    assert texts(stage) == []


def test_stopping_keeps_what_was_written_and_drops_an_answer_of_no_text(stage: Stage) -> None:
    assert stage.session is not None
    stage.session.held = True
    stage.app.talk.send("Hello")
    stage.driver.frame(2)
    stage.app.talk.stop()
    stage.rest()
    assert texts(stage) == [(USER, "Hello")]
    stage.session.held = False
    stage.app.talk.regenerate()
    stage.rest()
    assert texts(stage) == [(USER, "Hello"), (ASSISTANT, ANSWER)]


def test_another_version_keeps_the_first(stage: Stage) -> None:
    stage.say("Hello")
    assert stage.session is not None
    stage.session.words = ("No", "!")
    stage.app.talk.regenerate()
    stage.rest()
    chat = stage.app.talk.chat
    assert texts(stage)[1] == (ASSISTANT, "No!")
    index, versions = chat.versions(chat.path()[1].id)
    assert (index, [v.text for v in versions]) == (1, [ANSWER, "No!"])
    assert len(set(stage.session.prompts)) == 1
    stage.app.talk.select_version(versions[0].id)
    assert texts(stage)[1] == (ASSISTANT, ANSWER)


def test_an_answer_goes_on(stage: Stage) -> None:
    stage.say("Hello")
    assert stage.session is not None
    stage.session.words = (" The", " end")
    stage.app.talk.go_on()
    stage.rest()
    assert texts(stage) == [(USER, "Hello"), (ASSISTANT, f"{ANSWER} The end")]
    assert ANSWER in stage.session.prompts[1]
    answer = stage.app.talk.chat.path()[1].answer
    assert answer is not None
    assert answer.new_tokens == 7


def test_an_edited_message_is_answered_anew(stage: Stage) -> None:
    stage.say("Hello")
    first = stage.app.talk.chat.path()[0]
    stage.app.talk.edit(first.id, "Good day")
    stage.rest()
    assert texts(stage) == [(USER, "Good day"), (ASSISTANT, ANSWER)]
    stage.app.talk.select_version(first.id)
    assert texts(stage) == [(USER, "Hello"), (ASSISTANT, ANSWER)]


def test_another_token_is_taken_within_an_answer(stage: Stage) -> None:
    stage.say("Hello")
    assert stage.session is not None
    message = stage.app.talk.chat.path()[1]
    assert message.answer is not None
    stage.session.words = (" so",)
    stage.app.talk.take_instead(message.id, 2, message.answer.tokens[2].alternatives[3])
    stage.rest()
    assert texts(stage)[1] == (ASSISTANT, "Once upon" + "c" + " so")
    assert stage.app.talk.chat[message.id].text == ANSWER


def test_deleting_and_bringing_back(stage: Stage) -> None:
    stage.say("Hello")
    stage.say("And then?")
    whole = texts(stage)
    removed = stage.app.talk.delete(stage.app.talk.chat.path()[1].id)
    assert texts(stage) == whole[:1]
    stage.app.talk.restore(removed)
    assert texts(stage) == whole


def test_a_message_deleted_while_its_answer_is_written_ends_it(stage: Stage) -> None:
    assert stage.session is not None
    stage.session.held = True
    stage.app.talk.send("Hello")
    stage.driver.frame(2)
    stage.app.talk.delete(stage.app.talk.chat.path()[0].id)
    stage.driver.frame(2)
    assert not stage.app.engine.is_busy
    assert texts(stage) == []


def test_a_branch_is_a_chat_of_its_own(stage: Stage) -> None:
    stage.say("Hello")
    stage.say("And then?")
    original = stage.app.talk.chat
    stage.app.talk.branch(original.path()[1].id)
    assert stage.app.talk.chat is not original
    assert texts(stage) == [(USER, "Hello"), (ASSISTANT, ANSWER)]
    stage.say("Another way")
    assert len(original.path()) == 4


def test_the_notebook_is_continued_where_the_cursor_stands(stage: Stage) -> None:
    chat = stage.app.talk.chat
    chat.set_mode(NOTEBOOK)
    chat.notebook.apply_edit("A tale. The end.")
    stage.app.talk.write_on(7)
    stage.rest()
    assert stage.session is not None
    assert stage.session.prompts == ["A tale."]
    assert chat.notebook.text == f"A tale.{ANSWER} The end."
    assert [span.text for span in chat.notebook.spans if span.generated] == [ANSWER]


def test_an_error_is_shown_and_what_was_said_stays(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ContextLengthError("too long by far")

    monkeypatch.setattr(stage.session, "generate", refuse)
    stage.app.talk.send("Hello")
    stage.rest()
    assert texts(stage) == [(USER, "Hello")]
    assert [toast.text for toast in stage.app.toasts.visible()] == ["too long by far"]


def test_everything_is_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> None:
    with staged(tmp_path, monkeypatch, FakeSession()) as stage:
        stage.say("Hello")
        stage.app.set("theme", "light")
        stage.app.quit()
    with staged(tmp_path, monkeypatch) as again:
        assert texts(again) == [(USER, "Hello"), (ASSISTANT, ANSWER)]
        assert again.app.settings.theme == "light"


def test_a_private_chat_is_never_written(stage: Stage) -> None:
    stage.app.shelf.new(private=True)
    stage.say("Secret")
    assert stage.app.writer.flush(5)
    files = [p for p in stage.app.shelf.store.folder.root.rglob("*") if p.is_file()]
    assert not [path for path in files if b"Secret" in path.read_bytes()]


def test_another_chat_ends_the_answer_and_keeps_it(stage: Stage) -> None:
    assert stage.session is not None
    stage.session.words = tuple("abcdefghij") * 20
    stage.app.talk.send("Hello")
    chat = stage.app.talk.chat
    stage.driver.until(lambda: len(texts(stage)) == 2 and bool(texts(stage)[1][1]), "some text")
    stage.app.shelf.new()
    assert not stage.app.engine.is_busy
    assert chat.path()[1].text
    assert stage.app.talk.chat is not chat
