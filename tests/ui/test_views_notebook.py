"""The notebook: text continued at the cursor, tinted until it is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from imgui_bundle import imgui

from gpt2gl_ui import fonts, theme
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.palette import DARK
from gpt2gl_ui.views.line_breaks import LineBreaks
from tests.ui.fakes import FakeSession, Stage, staged
from tests.ui.imgui_frames import frames


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    session = FakeSession((" was", " a", " fox"), reason="length")
    with staged(tmp_path, monkeypatch, session) as made:
        made.app.shelf.new(mode=NOTEBOOK)
        made.driver.frame(4)
        yield made


def text(stage: Stage) -> str:
    return stage.app.talk.chat.notebook.text


def generated(stage: Stage) -> list[str]:
    return [span.text for span in stage.app.talk.chat.notebook.spans if span.generated]


def go_on(stage: Stage) -> None:
    stage.driver.key("ctrl+return")
    stage.rest()
    stage.driver.frame(3)


def test_continues_at_the_end_and_typing_follows(stage: Stage) -> None:
    stage.driver.type("There")
    go_on(stage)
    assert text(stage) == "There was a fox"
    stage.driver.type(" here")
    assert text(stage) == "There was a fox here"
    assert generated(stage) == [" was a fox"]
    assert stage.session.prompts == ["There"]  # type: ignore[union-attr]


def test_continues_where_the_cursor_stands(stage: Stage) -> None:
    stage.driver.type("Here, end")
    for _ in range(5):
        stage.driver.key("left")
    go_on(stage)
    assert text(stage) == "Here was a fox, end"
    assert stage.session.prompts == ["Here"]  # type: ignore[union-attr]
    stage.driver.type("!")
    assert text(stage) == "Here was a fox!, end"


def test_what_is_changed_is_no_longer_generated(stage: Stage) -> None:
    stage.driver.type("There")
    go_on(stage)
    stage.driver.key("backspace")
    stage.driver.type("lax")
    assert text(stage) == "There was a folax"
    assert generated(stage) == [" was a fo"]


def test_a_generation_is_undone_and_the_rest_stays(stage: Stage) -> None:
    stage.driver.type("There")
    assert "notebook.undo" not in stage.driver.hook.marks
    go_on(stage)
    stage.driver.type(" and so on")
    stage.driver.click("notebook.undo")
    assert text(stage) == "There and so on"
    stage.driver.frame(2)
    assert "notebook.undo" not in stage.driver.hook.marks


def test_the_button_continues_and_stops(stage: Stage) -> None:
    assert stage.session is not None
    stage.driver.type("There")
    stage.session.held = True
    stage.driver.click("notebook.continue")
    stage.driver.frame(3)
    assert stage.app.talk.is_writing
    stage.driver.type("ignored")
    assert text(stage) == "There"
    stage.driver.key("escape")
    stage.rest()
    assert text(stage) == "There"
    stage.session.held = False
    stage.driver.click("notebook.continue")
    stage.rest()
    assert text(stage) == "There was a fox"


def test_generated_text_is_tinted_where_it_stands(stage: Stage) -> None:
    stage.driver.type("There")
    go_on(stage)
    x, y, _, _ = stage.driver.hook.marks["notebook"]
    image, tint = stage.driver.image(), tuple(round(255 * c) for c in DARK.generated[:3])
    if theme.palette() is not DARK:
        tint = tuple(round(255 * c) for c in theme.palette().generated[:3])
    row = [image.getpixel((int(x) + at, int(y) + 1)) for at in range(200)]
    tinted = [at for at, pixel in enumerate(row) if pixel == tint]
    stage.driver.key("ctrl+a")
    assert tinted
    assert tinted == list(range(tinted[0], tinted[-1] + 1))
    # "There" is about as wide as 5 characters of Inter, " was a fox" as 10.
    assert 30 < tinted[0] < 50
    assert 55 < tinted[-1] - tinted[0] < 90


def test_files_are_dropped_at_the_cursor(stage: Stage, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("dropped", encoding="utf-8")
    stage.driver.type("ab")
    stage.driver.key("left")
    stage.driver.drop(note)
    stage.driver.frame(3)
    assert text(stage) == "adroppedb"
    stage.driver.type("X")
    assert text(stage) == "adroppedXb"


def test_another_notebook_begins_with_its_own_text(stage: Stage) -> None:
    stage.driver.type("There")
    first = stage.app.talk.chat
    stage.app.shelf.new(mode=NOTEBOOK)
    stage.driver.frame(4)
    stage.driver.type("Other")
    assert (first.notebook.text, text(stage)) == ("There", "Other")


def test_lines_are_broken_as_the_field_does() -> None:
    samples = (
        "The quick brown fox, which jumped over; lazy-dogs   and then... did 3.14 it again\n\n"
        "said \"hello\" to the wörld unbelievably. " * 6
        + "x" * 300
        + " tail  \n"
    )
    breaks, width = LineBreaks(), 260.0

    def view() -> int:
        with fonts.pushed(fonts.current().body):
            breaks.update(samples, width)
            size = imgui.ImVec2(width + imgui.get_style().scrollbar_size, 200)
            imgui.push_style_var(imgui.StyleVar_.frame_padding, (0.0, 0.0))
            imgui.set_keyboard_focus_here()
            flags = imgui.InputTextFlags_.word_wrap
            imgui.input_text_multiline("##field", samples, size, flags)
            imgui.pop_style_var()
            state = imgui.internal.get_input_text_state(imgui.get_item_id())
        return state.line_count if state is not None else 0

    with frames(DARK) as made:
        lines = made.run(view, 4)
    assert lines == len(breaks.starts)
    assert "".join(samples[slice(*breaks.line(n))] for n in range(len(breaks.starts))) == (
        samples.replace("\n", "")
    )
