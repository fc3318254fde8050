"""What outlives its cause, or did: a title of a chat that is gone, a theme that has changed, what
was used in the run before; and the keyboard's way through the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from imgui_bundle import imgui

from gpt2gl_ui import commands, theme
from gpt2gl_ui.palette import DARK, LIGHT
from gpt2gl_ui.state import Editing
from gpt2gl_ui.views import header, sidebar
from gpt2gl_ui.views.conversation import Transcript
from gpt2gl_ui.widgets import Area
from tests.ui.fakes import FakeSession, Stage, staged


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, FakeSession(), whole=True) as made:
        yield made


def can_type(stage: Stage) -> bool:
    stage.driver.key("ctrl+l")
    stage.driver.type("hello")
    return stage.app.state.composer.text == "hello"


def test_a_message_that_goes_while_it_is_edited(stage: Stage) -> None:
    stage.say("one")
    message = stage.app.talk.chat.path()[0]
    stage.app.state.editing = Editing(message.id, "changed")
    stage.driver.frame(3)
    stage.app.talk.delete(message.id)
    stage.driver.frame(3)
    assert stage.app.state.editing is None
    assert can_type(stage)


@pytest.mark.parametrize("place", ["header", "sidebar"])
def test_a_chat_that_goes_while_its_title_is_changed(stage: Stage, place: str) -> None:
    stage.say("one")
    chat = stage.app.talk.chat
    stage.app.state.renaming = Editing(chat.id, "other", place=place)
    stage.driver.frame(3)
    assert stage.app.state.renaming is not None
    commands.run(stage.app, "delete")
    stage.driver.frame(3)
    assert stage.app.state.renaming is None
    assert can_type(stage)


def test_the_theme_of_the_desktop_is_asked_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([LIGHT, DARK])
    monkeypatch.setattr(theme, "named", lambda choice: next(answers))
    stage.app.set("theme", "system")
    stage.app._theme = None
    stage.driver.until(lambda: theme.palette() == LIGHT, "light")
    stage.app.window.dispatch_event("on_activate")
    stage.driver.until(lambda: theme.palette() == DARK, "dark")


def test_what_was_used_lately_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> None:
    with staged(tmp_path, monkeypatch) as first:
        commands.run(first.app, "larger")
        first.app.quit()
    with staged(tmp_path, monkeypatch) as second:
        assert second.app.state.recent == ["larger"]


def test_files_dropped_on_the_chats_over_the_conversation(stage: Stage, tmp_path: Path) -> None:
    stage.driver.resize(600, 600)
    stage.app.state.sidebar_over = True
    stage.driver.frame(3)
    area = sidebar.area_over(stage.app, Area(0, 0, 600, 600))
    path = tmp_path / "chat.md"
    path.write_text("# Found\n\n## You\n\nHello\n")
    stage.driver.move(area.width / 2, 400)
    stage.driver.drop(path)
    assert stage.app.talk.chat.path()[0].text == "Hello"
    assert stage.app.state.composer.text == ""


def test_an_empty_file_is_told(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("")
    stage.driver.move(600, 300)
    stage.driver.drop(tmp_path / "none.txt")
    assert "empty" in stage.app.toasts.visible()[-1].text


def test_sidebar_width_by_command(stage: Stage) -> None:
    before = stage.app.settings.sidebar_width
    assert commands.run(stage.app, "sidebar.wider")
    assert stage.app.settings.sidebar_width > before
    for _ in range(20):
        commands.run(stage.app, "sidebar.narrower")
    assert 160 <= stage.app.settings.sidebar_width < before
    stage.app.set("sidebar_open", False)
    assert not commands.run(stage.app, "sidebar.wider")


def part(stage: Stage) -> str:
    stage.driver.frame(3)
    return str(imgui.get_current_context().nav_window.root_window.name)


def test_f6_goes_through_the_parts(stage: Stage) -> None:
    stage.say("one")
    stage.driver.key("ctrl+l")
    seen = []
    for _ in range(5):
        stage.driver.key("f6")
        seen.append(part(stage))
        assert imgui.get_current_context().nav_id
    parts = ["##sidebar", "##header", "##conversation", "##composer"]
    assert seen == [*parts, parts[0]]
    stage.driver.key("shift+f6")
    assert part(stage) == "##composer"


def test_tokens_by_keyboard(stage: Stage) -> None:
    stage.say("one")
    answer = stage.app.talk.chat.path()[1]
    stage.driver.key("shift+tab")
    walk = stage.app.state.kept("transcript", Transcript).walk
    for chord, token in (("right", 0), ("right", 1), ("left", 0), ("left", 0)):
        stage.driver.key(chord)
        assert walk.token == (answer.id, token)
        assert stage.app.state.hovered_token == (answer.id, token)
    assert "token.card" in stage.driver.hook.marks
    stage.driver.key("escape")
    assert "token.card" not in stage.driver.hook.marks
    stage.driver.key("right")
    stage.driver.key("down")
    stage.driver.key("down")
    stage.driver.key("return")
    stage.rest()
    assert stage.app.talk.chat.path()[1].text.startswith("aOnce")
    assert "message.menu" not in stage.driver.hook.marks


def test_notices_hide_nothing_that_is_written(stage: Stage) -> None:
    stage.app.toasts.show("x" * 5000 + " %s ##a", kind="danger")
    stage.driver.frame(2)
    marks = stage.driver.hook.marks
    toast = next(marks[name] for name in marks if name.startswith("toast.") and name[-1].isdigit())
    assert toast[1] + toast[3] <= marks["composer"][1]
    assert toast[1] > header.BUTTON


def test_a_token_out_of_sight_is_scrolled_to(stage: Stage) -> None:
    stage.session.words = tuple(f" word{number}\n\n" for number in range(80))  # type: ignore[union-attr]
    stage.say("one")
    held = stage.app.state.kept("transcript", Transcript)
    stage.driver.key("shift+tab")
    stage.driver.key("right")
    stage.driver.frame(3)
    assert held.card.open is not None
    assert 0 <= held.card.open.area.y < stage.driver.hook.marks["composer"][1]
