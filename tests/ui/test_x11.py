"""A real window under Xvfb: what X11 and other programs make of it, and what it makes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.xvfb import Desktop, Program, poll

DEMO = (sys.executable, "-m", "tests.ui.demo")
TOOLS = (sys.executable, "-m", "tests.ui.x11_tools")
LARGE = "Zeile mit Umlaut: äöü, 日本 🎉.\n" * 12000


@pytest.fixture(scope="module")
def demo(desktop: Desktop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("demo")
    desktop.run(*TOOLS, "keys", "dead_acute", "dead_diaeresis", "Multi_key")
    compose = folder / "compose"
    compose.write_text('include "%L"\n<Multi_key> <h> <i> : "hello 世界"\n', encoding="utf-8")
    with Program(desktop, folder, DEMO, XCOMPOSEFILE=str(compose), LC_ALL="C") as made:
        made.focus()
        yield made


@pytest.fixture
def field(demo: Program) -> Program:
    """The demo, with an empty text field that has the keyboard."""
    demo.click("text")
    demo.key("ctrl+a", "BackSpace")
    demo.wait(lambda state: state["app"]["text"] == "" and state["focused"])
    return demo


def test_typing_fast(field: Program) -> None:
    text = "The quick brown fox, (1+2)*3 = 9; jumps!"
    field.xdotool("type", "--delay", "1", text)
    field.wait(lambda state: state["app"]["text"] == text, text)


def test_enter_sends_and_shift_enter_breaks(field: Program) -> None:
    field.type("one")
    field.key("shift+Return")
    field.type("two")
    field.wait(lambda state: state["app"]["text"] == "one\ntwo", "a line break")
    field.key("Return")
    state = field.wait(lambda state: state["app"]["text"] == "", "sent")
    assert state["app"]["sent"][-1] == "one\ntwo"


def test_click_and_wheel(demo: Program) -> None:
    before = demo.state()["app"]["clicks"]  # type: ignore[index]
    demo.click("press")
    demo.wait(lambda state: state["app"]["clicks"] == before + 1, "a click")
    demo.click("list", button=5)
    demo.wait(lambda state: state["app"]["scrolled"] > 30, "the wheel")


def test_shift_tab_pressed_twice_counts_twice(demo: Program) -> None:
    """Shift is released before Tab, which then has another name."""
    before = demo.wait(lambda state: True)["app"]["tabs"]
    for count in (1, 2):
        demo.xdotool("keydown", "shift", "keydown", "Tab", "keyup", "shift", "keyup", "Tab")
        demo.wait(lambda state, count=count: state["app"]["tabs"] == before + count, "Tab")


@pytest.mark.parametrize("inside", [True, False])
def test_dead_keys(field: Program, inside: bool) -> None:
    """With the pointer over the window and elsewhere."""
    if not inside:
        field.xdotool("mousemove", "1270", "790")
    field.key("dead_acute", "e", "dead_diaeresis", "u")
    field.wait(lambda state: state["app"]["text"] == "éü", "éü")


def test_composed_text_of_several_characters_arrives_whole(field: Program) -> None:
    field.key("Multi_key", "h", "i")
    field.wait(lambda state: state["app"]["text"] == "hello 世界", "hello 世界")


def test_paste_from_another_program(field: Program, desktop: Desktop) -> None:
    text = "héllo 日本 🎉 end"
    desktop.copy(text)
    field.key("ctrl+v")
    field.wait(lambda state: state["app"]["text"] == text, text)


def test_paste_of_invalid_utf8(field: Program, desktop: Desktop) -> None:
    owner = subprocess.Popen(
        ["xclip", "-selection", "clipboard", "-quiet", "-target", "UTF8_STRING"],
        env=desktop.environment,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    desktop.processes.append(owner)
    assert owner.stdin is not None
    owner.stdin.write(b"bad \xff\xfe byte")
    owner.stdin.close()
    poll(lambda: desktop.paste().startswith("bad"), "xclip owns the clipboard")
    field.key("ctrl+v")
    field.wait(lambda state: state["app"]["text"] == "bad \ufffd\ufffd byte", "replacement")


def test_large_paste(field: Program, desktop: Desktop) -> None:
    assert len(LARGE.encode()) > 400_000
    desktop.copy(LARGE)
    field.key("ctrl+v")
    state = field.wait(lambda state: len(state["app"]["text"]) > 1000, "the pasted text")
    assert state["app"]["text"] == LARGE


@pytest.mark.parametrize("text", ["plain", "héllo 日本 🎉 end", LARGE])
def test_copy_to_another_program(field: Program, desktop: Desktop, text: str) -> None:
    desktop.copy(text)
    field.key("ctrl+v")
    field.wait(lambda state: state["app"]["text"] == text, "the pasted text")
    # Somebody else's text in between, so that ours has to come from the window.
    field.key("ctrl+a", "ctrl+x")
    field.wait(lambda state: state["app"]["text"] == "", "cut")
    assert "UTF8_STRING" in desktop.paste("TARGETS").split()
    assert desktop.paste() == text
    field.key("ctrl+v")
    field.wait(lambda state: state["app"]["text"] == text, "its own text back")


def test_stopped_clipboard_owner_does_not_hang_the_window(
    field: Program, desktop: Desktop
) -> None:
    owner = desktop.copy("never handed over")
    os.kill(owner.pid, signal.SIGSTOP)
    field.key("ctrl+v")
    field.type("alive")
    field.wait(lambda state: state["app"]["text"] == "alive", "typing goes on", 8)
    os.kill(owner.pid, signal.SIGCONT)
    field.key("ctrl+a", "ctrl+v")
    field.wait(lambda state: state["app"]["text"] == "never handed over", "the owner is back")


def test_resize_and_least_size(demo: Program) -> None:
    demo.xdotool("windowsize", "--sync", demo.window, "700", "500")
    demo.wait(lambda state: state["size"] == [700, 500], "700x500")
    demo.xdotool("windowsize", demo.window, "100", "100")
    demo.wait(lambda state: state["size"] == [320, 240], "the minimum")
    demo.xdotool("windowsize", "--sync", demo.window, "640", "480")
    demo.wait(lambda state: state["size"] == [640, 480], "640x480")


def test_name_and_icon(demo: Program) -> None:
    assert demo.xdotool("getwindowname", demo.window).strip() == "Demo window"
    assert demo.window in demo.xdotool("search", "--class", "^gpt2gl$").split()


def test_pixels_on_the_screen(demo: Program) -> None:
    demo.wait(lambda state: state["size"] == [640, 480])
    poll(lambda: demo.screenshot().getpixel((630, 470)) == (26, 51, 77), "the background")


def test_idle_draws_nothing(demo: Program) -> None:
    demo.move("image")
    last = [-1.0, 0.0]

    def rests() -> bool:
        """No new frame in half a second."""
        now, frame = os.times().elapsed, demo.state()["frame"]  # type: ignore[index]
        if frame != last[0]:
            last[:] = [frame, now]
        return now - last[1] > 0.5

    poll(rests, "frames end")


def test_file_drop(demo: Program, desktop: Desktop, tmp_path: Path) -> None:
    """From a source that offers one type, and one that offers five."""
    for count in (1, 5):
        file = tmp_path / f"a file, {count} ü.txt"
        file.write_text("x")
        subprocess.run(
            [*TOOLS, "drop", demo.window, file.as_uri(), str(count)],
            env=desktop.environment,
            check=True,
            timeout=30,
        )
        demo.wait(lambda state, file=file: str(file) in state["app"]["files"], "the file")


def test_fullscreen_keeps_the_context(demo: Program) -> None:
    demo.click("text")
    demo.key("F11")
    demo.wait(lambda state: state["size"] == [1280, 800], "full screen")
    demo.key("ctrl+a", "BackSpace", "dead_acute", "e")
    demo.wait(lambda state: state["app"]["text"] == "é", "dead keys in full screen")
    demo.key("F11")
    demo.wait(lambda state: state["size"] == [640, 480], "back")


def test_input_method_that_does_not_run_and_the_close_button(
    desktop: Desktop, tmp_path: Path
) -> None:
    """A desktop that names an input method which was not started: typing works all the same."""
    desktop.run(*TOOLS, "keys", "dead_acute", "dead_diaeresis", "Multi_key")
    with Program(desktop, tmp_path, DEMO, XMODIFIERS="@im=missing") as program:
        program.focus()
        program.click("text")
        program.key("a", "dead_acute", "e")
        program.wait(lambda state: state["app"]["text"] == "aé", "aé")
        program.close_window()
        assert program.process is not None
        program.process.wait(20)


@pytest.mark.parametrize(("dpi", "scale"), [("120.5", 1.25), ("192", 2.0), ("nonsense", 1.0)])
def test_scale(desktop: Desktop, tmp_path: Path, dpi: str, scale: float) -> None:
    desktop.run(*TOOLS, "dpi", dpi)
    with Program(desktop, tmp_path, DEMO) as program:
        state = program.wait(lambda state: True)
    desktop.run(*TOOLS, "dpi", "96")
    assert state["scale"] == pytest.approx(scale, abs=0.01)
    # Not larger than the screen, of which the window manager takes a frame.
    size = (min(640 * scale, 1280), min(480 * scale, 800 * 0.92))
    assert state["size"] == pytest.approx(size, abs=4)


@pytest.mark.parametrize("display", [None, ":987"])
def test_no_display(display: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    if display:
        environment["DISPLAY"] = display
    done = subprocess.run(DEMO, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("no display")
    assert "gpt2gl generate" in done.stderr
