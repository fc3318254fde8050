"""Messages in a window: selected with the pointer, copied, clicked, tinted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from imgui_bundle import imgui

from gpt2gl_ui import fonts, theme
from gpt2gl_ui.backend import Backend
from gpt2gl_ui.frame_loop import FrameLoop
from gpt2gl_ui.testhook import TestHook
from gpt2gl_ui.text import style
from gpt2gl_ui.text.painting import Tokens
from gpt2gl_ui.text.pointer import Pointed, take_keys
from gpt2gl_ui.text.selection import Selection
from gpt2gl_ui.text.view import RichText
from gpt2gl_ui.window import open_window
from tests.ui.driver import Clock, Driver

SIZE, WIDTH = (640, 480), 500.0
SOURCES = {
    "plain": "Words of the first message\nand its second line",
    "rich": "A [link](http://example.org), then\n\n```\ncode = 1\nmore\n```\n\n- item",
    "long": "line after line\n" * 6000,
}


class Page:
    """Three messages in a window that scrolls."""

    def __init__(self) -> None:
        clock = Clock()
        self.window = open_window("Text", SIZE, SIZE)
        self.backend = Backend(self.window, clock)
        fonts.load([])
        theme.apply(theme.named("dark"))
        self.texts = {name: RichText(name, name == "rich") for name in SOURCES}
        for name, text in self.texts.items():
            text.update(SOURCES[name])
        self.selection, self.tokens = Selection(), {"plain": Tokens([], [])}
        self.selection.show(list(SOURCES))
        self.places: dict[str, tuple[float, float]] = {}
        self.pointed: dict[str, Pointed] = {}
        self.links: list[str] = []
        self.clicks: list[str] = []
        loop = FrameLoop(self.window, self.backend, self.draw, lambda deadline: False, clock)
        self.driver = Driver(self.window, self.backend, loop, TestHook(loop), clock)

    def draw(self) -> None:
        imgui.set_next_window_pos(imgui.ImVec2(0, 0))
        imgui.set_next_window_size(imgui.ImVec2(*SIZE))
        imgui.begin("page", None, imgui.WindowFlags_.no_decoration)
        self.look = style.current()
        for name, text in self.texts.items():
            corner = imgui.get_cursor_screen_pos()
            self.places[name] = corner.x, corner.y
            tokens = self.tokens.get(name)
            self.pointed[name] = text.draw(
                WIDTH, self.look, self.selection, tokens, self.links.append
            )
            self.clicks += [name] * self.pointed[name].clicked
        take_keys(self.selection, SOURCES.__getitem__)
        self.vertices = imgui.get_window_draw_list().vtx_buffer.size()
        imgui.end()

    def at(self, name: str, index: int) -> tuple[float, float]:
        """Where a character's left edge is on the screen, a little inside of it."""
        x, y, height = self.texts[name].layout(WIDTH, self.look).position_of(index)
        corner = self.places[name]
        return corner[0] + x + 1, corner[1] + y + height / 2

    def drag(self, start: tuple[str, int], end: tuple[str, int]) -> None:
        self.driver.drag(self.at(*start), self.at(*end))

    def click(self, name: str, index: int, times: int = 1) -> None:
        self.driver.move(*self.at(name, index))
        for _ in range(times):
            self.driver.press()
            self.driver.release()

    @property
    def copied(self) -> str:
        """What Ctrl+C puts into the clipboard."""
        self.driver.key("ctrl+c")
        return str(self.window.get_clipboard_text())


@pytest.fixture(scope="module")
def opened() -> Iterator[Page]:
    from pyglet import gl

    before: Any = gl.current_context
    made = Page()
    yield made
    made.backend.close()
    made.window.close()
    if before is not None:
        before.set_current()


@pytest.fixture
def page(opened: Page) -> Page:
    opened.window.set_clipboard_text("")
    opened.selection.clear()
    opened.tokens = {}
    opened.links.clear()
    opened.clicks.clear()
    # Far from the last click, so that clicks do not add up.
    opened.driver.move(SIZE[0] - 5, 5)
    opened.driver.frame(60)
    return opened


def test_dragging_selects_and_ctrl_c_copies(page: Page) -> None:
    page.drag(("plain", 6), ("plain", 30))
    assert page.copied == SOURCES["plain"][6:30]


def test_dragging_up_into_another_message(page: Page) -> None:
    """What Markdown does not show belongs to what is before it."""
    behind_link = SOURCES["rich"].index(", then")
    page.drag(("rich", behind_link), ("plain", 10))
    assert page.copied == SOURCES["plain"][10:] + "\n\n" + SOURCES["rich"][:behind_link]


def test_double_and_triple_click(page: Page) -> None:
    page.click("plain", 7, times=2)
    assert page.copied == "of"
    page.driver.frame(60)
    page.click("plain", 8, times=3)
    assert page.copied == "Words of the first message"


def test_shift_click_extends(page: Page) -> None:
    page.click("plain", 0)
    page.driver.move(*page.at("plain", 5))
    page.driver.frame(60)
    io = imgui.get_io()
    io.add_key_event(imgui.Key.mod_shift, True)
    page.driver.press()
    page.driver.release()
    io.add_key_event(imgui.Key.mod_shift, False)
    page.driver.frame(2)
    assert page.copied == "Words"


def test_ctrl_a_selects_the_message(page: Page) -> None:
    page.click("rich", 3)
    page.driver.key("ctrl+a")
    assert page.copied == SOURCES["rich"]


def test_a_drag_beyond_the_edge_wishes_to_scroll(page: Page) -> None:
    page.driver.move(*page.at("plain", 3))
    page.driver.press()
    page.driver.move(50, SIZE[1] + 40)
    assert page.selection.scroll_wish > 0
    assert page.selection.head is not None
    assert page.selection.head.message == "long"
    page.driver.move(50, -30)
    assert page.selection.scroll_wish < 0
    page.driver.release()
    assert not page.selection.dragging


def test_a_link_is_opened_by_a_click_and_not_by_a_drag(page: Page) -> None:
    page.drag(("rich", 3), ("rich", 6))
    assert page.links == []
    page.driver.frame(60)
    page.click("rich", 4)
    assert page.links == ["http://example.org"]
    assert page.pointed["rich"].href == "http://example.org"


def test_the_copy_button_copies_the_code(page: Page) -> None:
    page.driver.click("copy-code-0")
    assert page.window.get_clipboard_text() == "code = 1\nmore"
    assert page.selection.ends() is None


def test_the_token_under_the_pointer(page: Page) -> None:
    page.tokens = {"plain": Tokens([0, 5, 8], [5, 8, 12], [0xFF0000FF, 0, 0xFF00FF00], 2)}
    page.driver.move(*page.at("plain", 6))
    assert (page.pointed["plain"].index, page.pointed["plain"].token) == (6, 1)
    page.driver.press()
    page.driver.release()
    assert page.clicks == ["plain"]
    x, y = page.at("plain", 0)
    red, green, blue = page.driver.pixel(x - 1, y - page.look.size * 0.55)
    assert (red, green, blue) == (255, 0, 0)


def test_nothing_is_pointed_at_beside_the_text(page: Page) -> None:
    x, y = page.at("plain", 0)
    page.driver.move(x + WIDTH - 5, y)
    assert page.pointed["plain"] == Pointed(hovered=True)


def test_selected_text_has_the_palettes_colour(page: Page) -> None:
    x, y = page.at("plain", 0)
    before = page.driver.pixel(x - 1, y - page.look.size * 0.55)
    page.selection.select("plain", 0, 5)
    page.driver.frame(2)
    assert page.driver.pixel(x - 1, y - page.look.size * 0.55) != before


def test_only_visible_lines_are_drawn(page: Page) -> None:
    page.driver.frame()
    assert page.texts["long"].height(WIDTH, page.look) > 100 * SIZE[1]
    # Four vertices a character; a screen has less than thirty such lines.
    assert page.vertices < 4 * 30 * len("line after line\n") + 1000
