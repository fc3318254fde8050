"""The whole app under Xvfb with the embedded model, used as a person would: one start for all."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpt2gl_ui.chats import codec
from gpt2gl_ui.palette import DARK, LIGHT
from tests.ui.window_program import ChatProgram, answer, ids, titles
from tests.ui.xvfb import Desktop, poll

TOOLS = (sys.executable, "-m", "tests.ui.x11_tools")
WORLD = "Grüße, 日本 🎉 — naïve"


@pytest.fixture(scope="module")
def program(
    desktop: Desktop, window_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChatProgram]:
    home = tmp_path_factory.mktemp("window")
    with ChatProgram(desktop, home, window_cache) as made:
        made.focus()
        made.ready()
        yield made


@pytest.fixture
def window(program: ChatProgram) -> ChatProgram:
    """The app with nothing open over the conversation."""
    program.settle()
    return program


# Conversation -----------------------------------------------------------------------------------


def test_an_answer_grows_and_stops(window: ChatProgram) -> None:
    window.new_chat()
    first = window.say("Once upon a time")
    assert first["composer"] == ""
    assert [message["role"] for message in first["messages"]] == ["user", "assistant"]
    grown = window.app_when(lambda app: len(answer(app)) > len(answer(first)) + 8, "more of it")
    assert grown["writing"]
    assert answer(grown).startswith(answer(first))
    stopped = window.stop()
    assert answer(stopped).startswith(answer(grown))
    assert titles(stopped)[0] == "Once upon a time"


def test_nothing_is_sent_twice(window: ChatProgram) -> None:
    window.new_chat()
    window.say("Only once")
    window.type("more")
    window.key("Return")
    app = window.app_when(lambda app: app["toasts"] and app["composer"] == "more", "the reason")
    assert len(app["messages"]) == 2
    window.stop()
    window.key("ctrl+a", "BackSpace")
    window.app_when(lambda app: app["composer"] == "", "an empty field")


def test_versions_of_an_answer(window: ChatProgram) -> None:
    first = window.ask("A dog")
    window.key("ctrl+r")
    window.app_when(lambda app: app["messages"][1]["version"] == 2 and answer(app), "a second")
    second = window.stop()
    assert second["messages"][1]["versions"] == 2
    window.press("message.1.previous")
    app = window.app_when(lambda app: app["messages"][1]["version"] == 1, "the first")
    assert answer(app) == answer(first)
    window.press("message.1.next")
    app = window.app_when(lambda app: app["messages"][1]["version"] == 2, "the second")
    assert answer(app) == answer(second)


def test_an_answer_goes_on(window: ChatProgram) -> None:
    first = window.ask("The cat")
    window.key("ctrl+l", "ctrl+Return")
    window.app_when(lambda app: len(answer(app)) > len(answer(first)) + 4, "more of it")
    app = window.stop()
    assert answer(app).startswith(answer(first))
    assert app["messages"][1]["versions"] == 1


def test_a_message_is_changed_and_answered(window: ChatProgram) -> None:
    window.ask("A red ball")
    window.press("message.0.edit")
    window.opens("message.editor.save")
    window.key("ctrl+a")
    window.type("A blue ball")
    window.key("ctrl+Return")

    def answered(app: dict) -> bool:  # type: ignore[type-arg]
        said = app["messages"][0]
        return said["text"] == "A blue ball" and len(app["messages"]) == 2 and bool(answer(app))

    window.app_when(answered, "an answer to the new text")
    app = window.stop()
    assert app["messages"][0]["versions"] == 2


def test_a_message_is_deleted_and_brought_back(window: ChatProgram) -> None:
    before = window.ask("A small boat")
    window.press("message.1.delete")
    window.app_when(lambda app: len(app["messages"]) == 1, "deleted")
    window.press_undo()
    assert window.app_when(lambda app: len(app["messages"]) == 2)["messages"] == before["messages"]


def test_a_branch_is_a_chat_of_its_own(window: ChatProgram) -> None:
    before = window.ask("Two roads")
    window.press("message.1.branch")
    app = window.app_when(lambda app: app["chat"] != before["chat"], "another chat")
    assert [m["text"] for m in app["messages"]] == [m["text"] for m in before["messages"]]
    assert before["chat"] in ids(app)


# The composer -----------------------------------------------------------------------------------


def test_lines_and_history(window: ChatProgram) -> None:
    window.ask("What was said")
    window.key("ctrl+l")
    window.type("one")
    window.key("shift+Return")
    window.type("two")
    window.app_when(lambda app: app["composer"] == "one\ntwo", "two lines")
    window.key("ctrl+a", "BackSpace", "Up")
    window.app_when(lambda app: app["composer"] == "What was said", "what was sent")
    window.key("Down")
    window.app_when(lambda app: app["composer"] == "", "what was being written")


def test_text_goes_through_the_clipboard(window: ChatProgram, desktop: Desktop) -> None:
    window.new_chat()
    window.key("ctrl+l")
    desktop.copy(WORLD)
    window.key("ctrl+v")
    window.app_when(lambda app: app["composer"] == WORLD, WORLD)
    desktop.copy("something else")
    window.key("ctrl+a", "ctrl+x")
    window.app_when(lambda app: app["composer"] == "", "cut")
    assert desktop.paste() == WORLD


def test_an_answer_is_copied(window: ChatProgram, desktop: Desktop) -> None:
    text = answer(window.ask("Copy this"))
    window.press("message.1.copy")
    poll(lambda: desktop.paste() == text, "the answer in the clipboard")


def test_a_dropped_file_is_text(window: ChatProgram, desktop: Desktop, tmp_path: Path) -> None:
    window.new_chat()
    file = tmp_path / "a note.txt"
    file.write_text(WORLD, encoding="utf-8")
    # Its place in the window is that of the list of chats, which imports what it is given.
    window.key("ctrl+b")
    window.hides("new")
    subprocess.run(
        [*TOOLS, "drop", window.window, file.as_uri(), "1"],
        env=desktop.environment,
        check=True,
        timeout=30,
    )
    window.app_when(lambda app: app["composer"] == WORLD, "the file's text")
    window.key("ctrl+a", "BackSpace", "ctrl+b")
    window.shows("new")


# Chats ------------------------------------------------------------------------------------------


def test_between_chats(window: ChatProgram) -> None:
    first = window.ask("A long river")
    second = window.ask("A high hill")
    window.click(f"chat.{first['chat']}")
    app = window.app_when(lambda app: app["chat"] == first["chat"], "the first chat")
    assert app["messages"] == first["messages"]
    window.key("F2")
    window.opens("title.header")
    window.key("ctrl+a")
    window.type("Rivers")
    window.key("Return")
    app = window.app_when(lambda app: app["title"] == "Rivers", "the new title")
    assert "Rivers" in titles(app)
    window.choose("delete chat")
    app = window.app_when(lambda app: first["chat"] not in ids(app), "deleted")
    assert app["messages"] == []
    window.press_undo()
    app = window.app_when(lambda app: first["chat"] in ids(app), "brought back")
    assert second["chat"] in ids(app)


def test_search(window: ChatProgram) -> None:
    wanted = window.ask("A zebra named Quincy")
    window.new_chat()
    window.key("ctrl+f")
    window.type("quincy")
    window.shows("found.0")
    window.click("found.0")
    window.app_when(lambda app: app["chat"] == wanted["chat"], "the chat that was found")
    window.click("search.clear")
    window.app_when(lambda app: app["query"] == "", "the list of all")


def test_a_private_chat_is_not_saved(window: ChatProgram) -> None:
    window.new_chat("ctrl+shift+n")
    app = window.say("Between us")
    assert app["private"]
    window.stop()
    assert not list((window.home / "data").rglob(f"{app['chat']}*"))


def test_notebook(window: ChatProgram) -> None:
    window.settle()
    window.choose("new notebook")
    window.app_when(lambda app: app["mode"] == "notebook", "a notebook")
    window.shows("notebook")
    window.click("notebook")
    window.type("The wind was")
    window.app_when(lambda app: app["notebook"] == "The wind was", "what was typed")
    window.key("ctrl+Return")
    window.app_when(lambda app: len(app["notebook"]) > 20, "the model goes on")
    app = window.stop()
    assert app["notebook"].startswith("The wind was")
    window.click("notebook.undo")
    window.app_when(lambda app: app["notebook"] == "The wind was", "undone")


# Panels -----------------------------------------------------------------------------------------


def colour(program: ChatProgram) -> tuple[int, ...]:
    """The window's background, in the corner of the header."""
    x, y, width, _ = program.wait(lambda state: True)["marks"]["header.title"]
    return tuple(program.screenshot().getpixel((int(x + width) - 3, int(y) + 2)))  # type: ignore[arg-type]


def shade(parts: tuple[float, ...]) -> tuple[int, ...]:
    return tuple(round(255 * part) for part in parts[:3])


def test_theme_and_temperature(window: ChatProgram) -> None:
    window.new_chat()
    poll(lambda: colour(window) == shade(DARK.background), "a dark window")
    window.key("ctrl+comma")
    window.app_when(lambda app: app["dialogue"] == "settings", "the settings")
    window.click("settings.temperature")
    window.key("ctrl+a")
    window.type("0.5")
    window.key("Return")
    window.app_when(lambda app: app["settings"]["temperature"] == 0.5, "the temperature")
    window.key("Escape")
    window.app_when(lambda app: app["dialogue"] is None, "closed")
    window.choose("theme light")
    window.app_when(lambda app: app["settings"]["theme"] == "light", "the light theme")
    poll(lambda: colour(window) == shade(LIGHT.background), "a light window")
    poll(lambda: window.saved_settings["theme"] == "light", "saved")
    assert window.saved_settings["temperature"] == 0.5
    window.choose("theme dark")


@pytest.mark.parametrize(
    ("chord", "name"), [("ctrl+m", "models"), ("ctrl+comma", "settings"), ("F1", "shortcuts")]
)
def test_panels_open_and_close(window: ChatProgram, chord: str, name: str) -> None:
    window.key(chord)
    window.app_when(lambda app: app["dialogue"] == name, name)
    window.shows(f"{name}.close")
    window.settle()
    assert window.app["dialogue"] is None


def test_inspector(window: ChatProgram) -> None:
    window.ask("Look inside")
    window.key("ctrl+i")
    window.app_when(lambda app: app["inspector"]["open"], "the inspector")
    for tab in ("Tokens", "Attention"):
        window.click(f"inspector.{tab}")
        window.app_when(lambda app, tab=tab: app["inspector"]["tab"] == tab, tab)
    window.key("ctrl+i")
    window.app_when(lambda app: not app["inspector"]["open"], "closed")


@pytest.mark.parametrize("size", [(640, 480), (1600, 1000), (1100, 700)])
def test_sizes(window: ChatProgram, size: tuple[int, int]) -> None:
    width, height = size
    window.xdotool("windowsize", window.window, str(width), str(height))
    state = window.wait(
        lambda state: state["size"] == [width, height] and "composer" in state["marks"], str(size)
    )
    for name in ("composer", "composer.send", "header.title", "header.settings"):
        x, y, wide, high = state["marks"][name]
        assert x >= 0
        assert y >= 0
        assert x + wide <= width
        assert y + high <= height


# Anything ---------------------------------------------------------------------------------------

KEYS = (
    *("Return", "Escape", "Tab", "shift+Tab", "Up", "Down", "Left", "Right", "BackSpace"),
    *("Delete", "Home", "End", "Prior", "Next", "F1", "F2", "Menu", "space"),
    *("ctrl+a", "ctrl+b", "ctrl+c", "ctrl+f", "ctrl+i", "ctrl+k", "ctrl+l", "ctrl+m", "ctrl+n"),
    *("ctrl+r", "ctrl+v", "ctrl+x", "ctrl+z", "ctrl+shift+n", "ctrl+Return", "ctrl+comma"),
    *("ctrl+minus", "ctrl+equal", "ctrl+0"),
)


def nonsense(seed: int, count: int, corner: list[int], size: list[int]) -> list[str]:
    """Arguments of xdotool: keys, letters, clicks of all buttons, drags; within the window."""
    chance, found = random.Random(seed), [""][:0]
    for _ in range(count):
        place = [str(a + chance.randrange(b)) for a, b in zip(corner, size, strict=True)]
        kind = chance.randrange(4)
        if kind == 0:
            found += ["mousemove", *place, "click", str(chance.choice((1, 1, 1, 3, 4, 5)))]
        elif kind == 1:
            found += ["key", chance.choice(KEYS)]
        elif kind == 2:
            found += ["key", *chance.choices("abcxyz0189", k=3)]
        else:
            found += ["mousedown", "1", "mousemove", *place, "mouseup", "1"]
    return found


def test_nonsense_harms_nothing(window: ChatProgram) -> None:
    """Last of all, as it leaves the window in a state that nobody knows."""
    kept = window.ask("To be kept")["chat"]
    window.new_chat()
    state = window.wait(lambda state: True)
    for seed in range(6):
        moves = nonsense(seed, 40, state["position"], state["size"])
        window.xdotool("windowactivate", "--sync", window.window, *moves)
    frame = window.wait(lambda state: True)["frame"]
    window.xdotool("mousemove_relative", "20", "20", "mousemove_relative", "--", "-90", "-90")
    state = window.wait(lambda state: state["frame"] > frame, "it still draws")
    assert state["app"]["report"] is None
    assert not list((window.home / "data" / "crashes").glob("*")), window.log
    assert window.log == ""
    files = list((window.home / "data").rglob("*.jsonl"))
    assert kept in {file.stem for file in files}
    for file in files:
        assert not codec.decode(file.read_bytes(), file.name).notices
