"""How the app begins and ends: closed, killed, opened twice, without a display. A tiny model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.faults.command_line import write_tiny_model
from tests.ui.window_program import ChatProgram, answer, ids, titles
from tests.ui.xvfb import CHAT, Desktop, poll

ENDLESS = {"theme": "dark", "max_tokens": 100_000, "min_new_tokens": 10_000, "seed": 1}
# Windows that need none start without waiting for one.
NO_MODEL = ("--model", "./no-such-folder")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_model(tmp_path_factory.mktemp("tiny")))


def chat_file(program: ChatProgram, chat_id: str) -> Path:
    return program.home / "data" / "chats" / f"{chat_id}.jsonl"


def answer_on_disk(path: Path) -> str:
    """The text of the last message in a chat's file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return str(json.loads(lines[-1]).get("text", "")) if len(lines) == 3 else ""


def test_closed_and_opened_again(
    desktop: Desktop, tmp_path: Path, window_cache: Path, model: str
) -> None:
    with ChatProgram(desktop, tmp_path, window_cache, "--model", model, settings=ENDLESS) as first:
        first.focus()
        first.ready()
        first.say("ab")
        first.stop()
        first.choose("theme light")
        first.xdotool("windowsize", first.window, "900", "640")
        first.wait(lambda state: state["size"] == [900, 640], "another size")
        before = first.app
        first.close_window()
        assert first.process is not None
        assert first.process.wait(20) == 0
        assert first.log == ""
    with ChatProgram(desktop, tmp_path, window_cache, "--model", model) as again:
        state = again.wait(lambda state: state["app"]["messages"], "the chat")
        assert state["size"] == [900, 640]
        assert state["app"]["settings"]["theme"] == "light"
        for part in ("chat", "chats", "messages", "title"):
            assert state["app"][part] == before[part]
        # While the model still loads.
        again.close_window()
        assert again.process is not None
        assert again.process.wait(20) == 0


def test_killed_while_an_answer_is_written(
    desktop: Desktop, tmp_path: Path, window_cache: Path, model: str
) -> None:
    with ChatProgram(desktop, tmp_path, window_cache, "--model", model, settings=ENDLESS) as first:
        first.focus()
        first.ready()
        chat = first.say("abc")["chat"]
        saved = poll(lambda: answer_on_disk(chat_file(first, chat)), "some of it on the disk")
        assert first.app["writing"]
        assert first.process is not None
        first.process.kill()
        first.process.wait(20)
    with ChatProgram(desktop, tmp_path, window_cache, *NO_MODEL) as again:
        listed = again.app_when(lambda app: chat in ids(app), "the chat in the list")
        if listed["chat"] != chat:  # which chat is open is noted when the window is closed
            again.click(f"chat.{chat}")
        app = again.app_when(lambda app: app["chat"] == chat, "the chat")
        assert app["messages"][0]["text"] == "abc"
        assert answer(app).startswith(saved)


def test_two_windows_on_the_same_folders(
    desktop: Desktop, tmp_path: Path, window_cache: Path
) -> None:
    arguments = (desktop, tmp_path, window_cache, *NO_MODEL)
    with ChatProgram(*arguments) as first, ChatProgram(*arguments) as second:
        for window, text in ((second, "from the second"), (first, "from the first")):
            window.focus()
            window.choose("new notebook")
            window.shows("notebook")
            window.click("notebook")
            window.type(text)
            window.app_when(lambda app, text=text: app["notebook"] == text, text)
        for window in (first, second):
            window.close_window()
            assert window.process is not None
            assert window.process.wait(20) == 0
            assert window.log == ""
    with ChatProgram(*arguments) as third:
        both = ["from the first", "from the second"]
        third.app_when(lambda app: sorted(titles(app)) == both, "both")


@pytest.mark.parametrize("display", [None, ":987"])
def test_no_display(display: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    if display is not None:
        environment["DISPLAY"] = display
    done = subprocess.run(CHAT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "no display" in done.stderr
    assert "gpt2gl generate" in done.stderr
