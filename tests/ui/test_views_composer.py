"""The composer: sending once, history, large texts, dropped files, what waits for a model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl.resources import embedded_models
from gpt2gl.tokenizer import Tokenizer
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.engine import LOADING
from gpt2gl_ui.views.dropping import NoText, read_text
from gpt2gl_ui.views.text_box import cleaned
from gpt2gl_ui.views.token_count import TokenCount, pieces
from tests.ui.fakes import FakeSession, FakeTokenizer, Stage, give_model, staged


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, FakeSession()) as made:
        made.driver.frame(3)
        yield made


def said(stage: Stage) -> list[str]:
    return [message.text for message in stage.app.talk.chat.path()][::2]


def test_enter_sends_once_and_typing_goes_on(stage: Stage) -> None:
    stage.driver.type("Hello\n")
    stage.driver.key("return")
    stage.driver.type("next")
    stage.rest()
    assert said(stage) == ["Hello"]
    assert stage.app.state.composer.text == "next"
    assert len(stage.session.prompts) == 1  # type: ignore[union-attr]


def test_shift_enter_breaks_and_ctrl_enter_sends(stage: Stage) -> None:
    stage.driver.type("one")
    stage.driver.key("shift+return")
    stage.driver.type("two")
    assert stage.app.state.composer.text == "one\ntwo"
    stage.driver.key("ctrl+return")
    stage.rest()
    assert said(stage) == ["one\ntwo"]


def test_the_field_grows_to_eight_lines(stage: Stage) -> None:
    heights = []
    for _ in range(10):
        heights.append(stage.driver.hook.marks["composer"][3])
        stage.driver.key("shift+return")
    stage.driver.frame(2)
    assert heights[:8] == sorted(set(heights[:8]))
    assert heights[7] == heights[9]


def test_up_and_down_go_through_what_was_sent(stage: Stage) -> None:
    for text in ("first", "second"):
        stage.driver.type(f"{text}\n")
        stage.rest()
    composer = stage.app.state.composer
    stage.driver.type("draft")
    seen = []
    for key in ("up", "up", "up", "down", "down", "down"):
        stage.driver.key(key)
        seen.append(composer.text)
    assert seen == ["second", "first", "first", "second", "draft", "draft"]


def test_up_moves_the_caret_where_there_is_a_line_above(stage: Stage) -> None:
    stage.driver.type("sent\n")
    stage.rest()
    stage.driver.type("one")
    stage.driver.key("shift+return")
    stage.driver.type("two")
    stage.driver.key("up")
    assert stage.app.state.composer.text == "one\ntwo"
    stage.driver.key("up")
    assert stage.app.state.composer.text == "sent"
    stage.driver.key("down")
    assert stage.app.state.composer.text == "one\ntwo"


def test_undo_and_redo(stage: Stage) -> None:
    stage.driver.type("abc")
    stage.driver.key("ctrl+z")
    undone = stage.app.state.composer.text
    assert undone != "abc"
    stage.driver.key("ctrl+y")
    assert stage.app.state.composer.text == "abc"


def test_a_megabyte_is_pasted_whole_and_counted_in_the_background(stage: Stage) -> None:
    text = "word ünd so on, " * 62_500
    stage.app.window.set_clipboard_text(text)
    stage.driver.key("ctrl+v")
    assert stage.app.state.composer.text == text
    count = TokenCount(lambda: None)
    until = time.monotonic() + 30
    while (number := count.of(text, FakeTokenizer())) is None and time.monotonic() < until:
        time.sleep(0.01)
    assert number == len(text)
    stage.driver.type("!")
    assert stage.app.state.composer.text == text + "!"


def test_stop_takes_the_place_of_send(stage: Stage) -> None:
    assert stage.session is not None
    stage.session.held = True
    stage.driver.type("Hello\n")
    stage.driver.frame(2)
    assert "composer.send" not in stage.driver.hook.marks
    stage.driver.type("written meanwhile\n")
    assert stage.app.state.composer.text == "written meanwhile"
    stage.driver.click("composer.stop")
    stage.rest()
    assert said(stage) == ["Hello"]
    stage.session.held = False
    stage.driver.click("composer.send")
    stage.rest()
    assert stage.app.talk.chat.path()[1].text == "written meanwhile"
    assert stage.app.state.composer.text == ""


def test_escape_keeps_what_was_written(stage: Stage) -> None:
    stage.driver.type("a text")
    stage.driver.key("escape")
    assert stage.app.state.composer.text == "a text"


def test_text_waits_while_the_model_loads(stage: Stage) -> None:
    assert stage.session is not None
    stage.app.engine.state, stage.app.engine.session = LOADING, None
    stage.driver.type("early\n")
    assert stage.app.state.composer.text == "early"
    assert "loading" in stage.app.toasts.visible()[-1].text
    give_model(stage.app, stage.session)
    stage.driver.key("return")
    stage.rest()
    assert said(stage) == ["early"]


def test_a_prompt_pressed_too_early_waits_in_the_field(stage: Stage) -> None:
    stage.app.engine.state, stage.app.engine.session = LOADING, None
    stage.driver.click("welcome.2")
    assert stage.app.state.composer.text.startswith("Hello!")
    stage.driver.click("welcome.0")
    assert stage.app.talk.chat.mode == NOTEBOOK
    assert stage.app.talk.chat.notebook.text.startswith("Once upon a time")


def test_dropped_files_are_inserted(stage: Stage, tmp_path: Path) -> None:
    note, wrong = tmp_path / "note.md", tmp_path / "picture.png"
    note.write_bytes("\ufeff# Tïtle\r\nline".encode())
    wrong.write_bytes(b"\x89PNG\0\xff")
    stage.driver.type("See:")
    stage.driver.drop(note, wrong)
    assert stage.app.state.composer.text == "See:\n# Tïtle\nline"
    assert "picture.png" in stage.app.toasts.visible()[-1].text
    stage.driver.type(" end")
    assert stage.app.state.composer.text.endswith("line end")


def test_what_cannot_be_dropped_is_refused(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.txt", tmp_path / "zero.txt"
    large.write_bytes(b"a" * ((1 << 20) + 1))
    binary.write_bytes(b"a\0b")
    for path in (large, binary, tmp_path, tmp_path / "absent"):
        with pytest.raises(NoText, match=r"^“"):
            read_text(path)
    wide = tmp_path / "wide.txt"
    wide.write_bytes("größe".encode("utf-16"))
    assert read_text(wide) == "größe"


def test_text_that_imgui_cannot_hold_does_no_harm(stage: Stage) -> None:
    stage.app.state.composer.text = "a\0b\ud800c"
    stage.driver.frame(3)
    assert stage.app.state.composer.text == "a\ufffdb\ufffdc" == cleaned("a\0b\ud800c")
    stage.driver.key("return")
    stage.rest()
    assert said(stage) == ["a\ufffdb\ufffdc"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_directory(embedded_models()["storyteller"])


@given(words=st.lists(st.text("ab'é 世\n\t.1", max_size=40), max_size=200))
def test_pieces_have_the_tokens_of_the_whole(tokenizer: Tokenizer, words: list[str]) -> None:
    text = " ".join(words)
    parts = list(pieces(text))
    assert "".join(parts) == text
    assert sum(len(tokenizer.encode(part)) for part in parts) == len(tokenizer.encode(text))


def test_a_count_follows_the_text() -> None:
    count, long = TokenCount(lambda: None), "word " * 2000
    assert count.of("abc", FakeTokenizer()) == 3
    encoder = FakeTokenizer()
    until = time.monotonic() + 30
    while (number := count.of(long, encoder)) is None and time.monotonic() < until:
        time.sleep(0.005)
    assert number == len(long)
    assert count.of("ab", encoder) == 2
