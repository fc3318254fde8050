"""A desktop without a screen (Xvfb and openbox), and programs on it, driven with xdotool.

Every process is ended by its own id. Conditions are polled; nothing sleeps for a fixed time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from PIL import Image, ImageGrab

PROGRAMS = ("Xvfb", "openbox", "xdotool", "xclip")
PATIENCE = 20.0
POLL = 0.02
CHAT = (sys.executable, "-m", "gpt2gl", "chat")
State = dict[str, Any]


def missing_programs() -> list[str]:
    """Which of the programs that tier 2 takes are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def poll(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """The first true value of `condition`; fails after some seconds."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(POLL)
    return value


def end(process: subprocess.Popen[Any]) -> None:
    """Ask a process to end, then make it."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    if process.poll() is None:
        process.kill()
    process.wait()


class Desktop:
    """An X server on a display number of its own. A context manager."""

    def __init__(self, size: tuple[int, int] = (1280, 800), manager: bool = True) -> None:
        self.size, self.manager = size, manager
        self.processes: list[subprocess.Popen[Any]] = []
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Desktop:
        reader, writer = os.pipe()
        width, height = self.size
        command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{width}x{height}x24"]
        command += ["-nolisten", "tcp", "-noreset"]
        server = subprocess.Popen(command, pass_fds=(writer,), stderr=subprocess.DEVNULL)
        self.processes.append(server)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        assert number, "Xvfb did not start"
        self.environment = {**os.environ, "DISPLAY": f":{number}"}
        for name in ("PYOPENGL_PLATFORM", "WAYLAND_DISPLAY", "XMODIFIERS", "LC_ALL"):
            self.environment.pop(name, None)
        if self.manager:
            self.start("openbox")
            poll(self._is_managed, "openbox manages the display")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self.processes):
            end(process)

    @property
    def display(self) -> str:
        return self.environment["DISPLAY"]

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a program here; it ends with the desktop at the latest."""
        process = subprocess.Popen(
            command,
            env={**self.environment, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def run(self, *command: str, text: str = "") -> str:
        """Run a program here to its end; returns what it wrote."""
        done = subprocess.run(
            command,
            env=self.environment,
            input=text.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
        return done.stdout.decode("utf-8", "replace")

    def copy(self, text: str) -> subprocess.Popen[bytes]:
        """Own the clipboard as another program; returns that program, which stays alive."""
        process = subprocess.Popen(
            ["xclip", "-selection", "clipboard", "-quiet", "-target", "UTF8_STRING"],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        assert process.stdin is not None
        process.stdin.write(text.encode())
        process.stdin.close()
        start = text[:20]
        poll(lambda: self.paste().startswith(start), "xclip owns the clipboard")
        return process

    def paste(self, target: str = "UTF8_STRING") -> str:
        """The clipboard, as another program gets it."""
        return self.run("xclip", "-selection", "clipboard", "-o", "-target", target)

    def screenshot(self) -> Image.Image:
        """The whole screen."""
        return ImageGrab.grab(xdisplay=self.display)

    def _is_managed(self) -> bool:
        return bool(self.run("xdotool", "get_desktop").strip())


class Program:
    """A program with our window on a desktop, seen through its state file. A context manager.

    The command is `gpt2gl chat` unless another is given.
    """

    def __init__(
        self,
        desktop: Desktop,
        folder: Path,
        command: Sequence[str] = CHAT,
        **environment: str,
    ) -> None:
        self.desktop, self.command, self.environment = desktop, command, environment
        self.state_file = folder / "ui-state.json"
        self.log_file = folder / "ui-log.txt"
        self.process: subprocess.Popen[bytes] | None = None
        self.window = ""

    def __enter__(self) -> Program:
        self.state_file.unlink(missing_ok=True)
        settings = {"GPT2GL_UI_STATE": str(self.state_file), **self.environment}
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                env={**self.desktop.environment, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.wait(lambda state: state["frame"] >= 2, "the first frames")
        self.window = poll(self._find_window, "the window").splitlines()[-1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process is not None
        end(self.process)

    @property
    def log(self) -> str:
        """What the program wrote to its terminal."""
        return self.log_file.read_text(errors="replace")

    def state(self) -> State | None:
        """The last frame's state; None before the first."""
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"the program ended with {self.process.returncode}: {self.log}")
        if not self.state_file.exists():
            return None
        read: State = json.loads(self.state_file.read_text(encoding="utf-8"))
        return read

    def wait(
        self, condition: Callable[[State], Any], what: str = "", seconds: float = PATIENCE
    ) -> State:
        """The first state for which `condition` holds; fails with the last state."""

        def check() -> State | None:
            state = self.state()
            return state if state is not None and condition(state) else None

        try:
            found: State = poll(check, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.state()}; {self.log}") from None
        return found

    def xdotool(self, *arguments: str) -> str:
        """Run xdotool on this desktop."""
        return self.desktop.run("xdotool", *arguments)

    def focus(self) -> None:
        """Give the window the keyboard."""
        verb = "windowactivate" if self.desktop.manager else "windowfocus"
        self.xdotool(verb, "--sync", self.window)

    def move(self, mark: str) -> None:
        """Move the pointer to the middle of a mark."""
        state = self.wait(lambda state: mark in state["marks"], f"mark {mark!r}")
        x, y, width, height = state["marks"][mark]
        place = (str(round(x + width / 2)), str(round(y + height / 2)))
        self.xdotool("mousemove", "--window", self.window, *place)

    def click(self, mark: str, button: int = 1) -> None:
        """Click the middle of a mark with an X button: 1 left, 2 middle, 3 right, 4 and 5 wheel."""
        self.move(mark)
        self.xdotool("click", str(button))

    def type(self, text: str) -> None:
        """Type ASCII; paste anything else, since xdotool remaps keys for it."""
        self.xdotool("type", "--delay", "8", text)

    def key(self, *chords: str) -> None:
        """Press and release keys by their X names: `Return`, `ctrl+a`."""
        self.xdotool("key", *chords)

    def screenshot(self, path: Path | None = None) -> Image.Image:
        """The window's area of the screen."""
        state = self.wait(lambda state: True)
        (x, y), (width, height) = state["position"], state["size"]
        image = self.desktop.screenshot().crop((x, y, x + width, y + height))
        if path is not None:
            image.save(path)
        return image

    def close_window(self) -> None:
        """What the close button does, by openbox's key for it; does not wait."""
        self.focus()
        self.key("alt+F4")

    def cpu_seconds(self) -> float:
        """Processor time that the program has used."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _find_window(self) -> str:
        assert self.process is not None
        search = ("search", "--onlyvisible", "--all", "--pid", str(self.process.pid))
        return self.xdotool(*search, "--class", "gpt2gl")
