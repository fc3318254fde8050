"""The whole app in a process of its own, on folders of its own, as a person uses it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.ui.xvfb import CHAT, Desktop, Program, State

LOAD_SECONDS = 180.0
App = dict[str, Any]
# Long answers, the same ones each time, that end when they are stopped.
SETTINGS = {
    "theme": "dark",
    "seed": 1,
    "min_new_tokens": 400,
    "max_tokens": 400,
    "window_size": [1100, 700],
}


class ChatProgram(Program):
    """`gpt2gl chat`, with what tests of all of it share. `home` holds everything that it keeps."""

    def __init__(
        self, desktop: Desktop, home: Path, cache: Path, *options: str, settings: App | None = None
    ) -> None:
        self.home = home
        shaders = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        environment = {
            "HOME": str(home),
            "GPT2GL_DATA_DIR": str(home / "data"),
            "GPT2GL_CONFIG_DIR": str(home / "config"),
            "GPT2GL_CACHE_DIR": str(cache),
            "MESA_SHADER_CACHE_DIR": os.environ.get("MESA_SHADER_CACHE_DIR", shaders),
            # Nothing in the window may reach the network, whatever is clicked.
            "HF_ENDPOINT": "http://127.0.0.1:9",
            "HF_HUB_OFFLINE": "1",
        }
        if not (home / "config").exists():
            (home / "config").mkdir(parents=True, mode=0o700)
            self.settings_file.write_text(json.dumps(settings or SETTINGS), encoding="utf-8")
        # Each start has a state file of its own, for two that run at the same time.
        folder = home / f"run-{len(list(home.glob('run-*')))}"
        folder.mkdir()
        super().__init__(desktop, folder, (*CHAT, *options), **environment)

    @property
    def settings_file(self) -> Path:
        return self.home / "config" / "window.json"

    @property
    def saved_settings(self) -> App:
        """What is on the disk."""
        read: App = json.loads(self.settings_file.read_text(encoding="utf-8"))
        return read

    @property
    def app(self) -> App:
        """The app's part of the last frame's state."""
        return self.app_when(lambda app: True)

    def app_when(
        self, condition: Callable[[App], Any], what: str = "", seconds: float = 30.0
    ) -> App:
        """The first state of the app for which `condition` holds."""

        def holds(state: State) -> bool:
            return bool(condition(state["app"]))

        found: App = self.wait(holds, what, seconds)["app"]
        return found

    def ready(self) -> App:
        """Wait for the model."""

        def settled(app: App) -> bool:
            return app["model"]["state"] in ("ready", "failed")

        app = self.app_when(settled, "the model", LOAD_SECONDS)
        assert app["model"]["state"] == "ready", app["model"]["error"]
        return app

    def shows(self, mark: str) -> None:
        """Wait until something of that name is on the screen."""
        self.wait(lambda state: mark in state["marks"], mark)

    def opens(self, field: str) -> None:
        """Wait for a field that takes the keyboard, which it has a frame after it is drawn."""
        frame = self.wait(lambda state: field in state["marks"], field)["frame"]
        self.xdotool("mousemove_relative", "1", "1")
        self.wait(lambda state: state["frame"] > frame + 1, f"{field} has the keyboard")

    def hides(self, mark: str) -> None:
        self.wait(lambda state: mark not in state["marks"], f"{mark} is gone")

    def press(self, mark: str) -> None:
        """Click what can be seen only while the pointer is near it, such as a message's buttons."""
        row = mark.rpartition(".")[0]
        if row.startswith(("message.", "chat.")):
            self.move(row)
        self.shows(mark)
        self.click(mark)

    def settle(self) -> None:
        """Bring the window to rest: nothing open over the conversation, nothing being written."""
        self.focus()
        for _ in range(6):
            app = self.app
            if not (app["writing"] or app["dialogue"] or app["renaming"] or app["editing"]):
                return
            self.key("Escape")
            self.app_when(lambda now, was=app: now != was, "Escape does something")
        raise AssertionError(f"does not come to rest: {self.app}")

    def new_chat(self, chord: str = "ctrl+n") -> App:
        self.settle()
        before = self.app["chat"]
        self.key(chord)
        return self.app_when(
            lambda app: app["chat"] != before and not app["messages"], "a new chat"
        )

    def say(self, text: str) -> App:
        """Type a message and send it; waits for the beginning of the answer."""
        self.key("ctrl+l")
        self.type(text)
        self.app_when(lambda app: app["composer"] == text, text)
        count = len(self.app["messages"])
        self.key("Return")
        return self.app_when(
            lambda app: len(app["messages"]) == count + 2 and answer(app), "the beginning"
        )

    def stop(self) -> App:
        """Stop the answer with Escape."""
        self.key("Escape")
        return self.app_when(lambda app: not app["writing"], "the end")

    def ask(self, text: str) -> App:
        """A new chat with an answer that was stopped."""
        self.new_chat()
        self.say(text)
        return self.stop()

    def choose(self, command: str) -> None:
        """Do what the palette finds first for these words."""
        self.key("ctrl+k")
        self.opens("palette.query")
        self.type(command)
        self.key("Return")
        self.app_when(lambda app: app["dialogue"] != "palette", "the palette closes")

    def press_undo(self) -> None:
        """Press the button of the notice that has one."""

        def offered(state: State) -> list[str]:
            return [name for name in state["marks"] if name.endswith(".action")]

        self.click(offered(self.wait(offered, "Undo"))[-1])


def answer(app: App) -> str:
    """The text of the last message."""
    text: str = app["messages"][-1]["text"]
    return text


def ids(app: App) -> list[str]:
    """The chats in the list."""
    return [chat["id"] for chat in app["chats"]]


def titles(app: App) -> list[str]:
    return [chat["title"] for chat in app["chats"]]
