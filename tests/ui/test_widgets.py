"""The widgets, used with pointer and keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, theme, widgets
from gpt2gl_ui.palette import LIGHT
from gpt2gl_ui.widgets import MenuItem, TextEdit
from gpt2gl_ui.widgets.display import _keys
from tests.ui.imgui_frames import Frames, frames


@pytest.fixture
def run() -> Iterator[Frames]:
    with frames() as made:
        yield made


@pytest.mark.parametrize("kind", ["primary", "secondary", "ghost", "link", "danger"])
def test_button_is_pressed_once(run: Frames, kind: str) -> None:
    def view() -> bool:
        return widgets.button("Send", name="send", kind=kind, icon=icons.SEND)

    run.run(view)
    assert run.click(view, "send") == [False, True]
    assert run.run(view) is False


def test_disabled_button_does_nothing(run: Frames) -> None:
    def view() -> bool:
        return widgets.button("Send", name="send", enabled=False)

    run.run(view)
    assert run.click(view, "send") == [False, False]


def test_buttons_width(run: Frames) -> None:
    def view() -> None:
        widgets.button("Fits", name="fits")
        widgets.button("Set", name="set", width=123)
        widgets.button("All", name="all", width=-1)

    run.run(view)
    assert 40 < run.marks["fits"][2] < 100
    assert run.marks["set"][2] == 123
    assert run.marks["all"][2] == pytest.approx(800 - 2 * theme.LARGE)
    assert run.marks["all"][3] == theme.CONTROL_HEIGHT


def test_icon_button_explains_itself(run: Frames) -> None:
    def view() -> bool:
        return widgets.icon_button(icons.STOP, name="stop", tooltip="Stop")

    run.run(view)
    assert run.click(view, "stop") == [False, True]
    run.hover(view, "stop")
    assert "tooltip" not in run.marks
    run.run(view, 40)
    assert "tooltip" in run.marks


def test_tab_and_space_reach_every_widget(run: Frames) -> None:
    pressed: list[str] = []

    def view() -> None:
        for name in ("one", "two"):
            if widgets.button(name, name=name):
                pressed.append(name)
        if widgets.toggle("Three", False, name="three"):
            pressed.append("three")
        if widgets.segmented(("a", "b"), "b", name="four") == "a":
            pressed.append("four")

    run.run(view)
    for _ in range(4):
        run.press(view, imgui.Key.tab)
        run.press(view, imgui.Key.space)
    assert pressed == ["one", "two", "three", "four"]
    assert imgui.get_io().nav_visible


def test_segmented(run: Frames) -> None:
    def view() -> str:
        signs = (icons.CHAT, icons.NOTEBOOK)
        return widgets.segmented(("Chat", "Notebook"), "Chat", name="mode", icons=signs)

    assert run.run(view) == "Chat"
    assert run.click(view, "mode.Notebook")[-1] == "Notebook"


def test_toggle(run: Frames) -> None:
    def view() -> tuple[bool, bool]:
        on = widgets.toggle("On", True, name="on", help="It is on.")
        return on, widgets.toggle("Off", False, name="off")

    assert run.run(view) == (True, False)
    assert run.click(view, "on")[-1] == (False, False)
    assert run.click(view, "off")[-1] == (True, True)


class Slider:
    def __init__(self, value: float, **options: object) -> None:
        self.value = value
        self.options = {"name": "t", "help": "How wild.", "default": 0.5, **options}

    def __call__(self) -> float:
        low, high = (1, 1000) if self.options.get("logarithmic") else (0, 2)
        self.value = widgets.slider_row("T", self.value, low, high, **self.options)
        return self.value


def test_slider_is_dragged(run: Frames) -> None:
    view = Slider(0.5)
    run.run(view)
    run.click(view, "t", 0.999)
    assert view.value == 2.0
    run.click(view, "t", 0.5)
    assert view.value == pytest.approx(1.0, abs=0.02)


def test_slider_goes_back_to_its_default(run: Frames) -> None:
    view = Slider(0.5)
    run.run(view)
    assert "t.reset" not in run.marks
    view.value = 1.5
    run.run(view)
    run.click(view, "t.reset")
    assert view.value == 0.5
    run.run(view)
    assert "t.reset" not in run.marks


def type_value(run: Frames, view: Slider, text: str) -> None:
    io = imgui.get_io()
    io.add_key_event(imgui.Key.mod_ctrl, True)
    run.click(view, "t")
    io.add_key_event(imgui.Key.mod_ctrl, False)
    run.run(view)
    io.add_input_characters_utf8(text)
    run.run(view, 2)
    run.press(view, imgui.Key.enter)


@pytest.mark.parametrize(("text", "value"), [("1.25", 1.25), ("99", 2.0), ("-5", 0.0)])
def test_slider_takes_a_typed_value(run: Frames, text: str, value: float) -> None:
    view = Slider(0.5)
    run.run(view)
    type_value(run, view, text)
    assert view.value == pytest.approx(value)


def test_logarithmic_slider(run: Frames) -> None:
    view = Slider(10.0, logarithmic=True, digits=0, default=10.0)
    run.run(view)
    run.click(view, "t", 0.5)
    assert view.value == pytest.approx(32, abs=2)
    assert view.value == round(view.value)


def test_combo(run: Frames) -> None:
    labels = {"int8": "int8, half the memory"}

    def view() -> str:
        return widgets.combo_row(
            "Precision", ("fp32", "int8", "int4"), "int8", name="p", labels=labels
        )

    assert run.run(view) == "int8"
    run.click(view, "p")
    run.run(view)
    assert {"p.fp32", "p.int8", "p.int4"} <= run.marks.keys()
    assert "int4" in run.click(view, "p.int4")
    run.run(view)
    assert "p.fp32" not in run.marks


class Field:
    def __init__(self) -> None:
        self.text = ""
        self.edits: list[TextEdit] = []

    def __call__(self) -> None:
        edit = widgets.text_field(self.text, name="f", placeholder="Search", icon=icons.SEARCH)
        self.text = edit.text
        self.edits.append(edit)


def test_text_field(run: Frames) -> None:
    view = Field()
    run.run(view)
    run.click(view, "f")
    imgui.get_io().add_input_characters_utf8("größe 日本")
    run.run(view, 12)
    assert view.text == "größe 日本"
    assert any(edit.changed for edit in view.edits)
    assert not any(edit.submitted for edit in view.edits)
    run.press(view, imgui.Key.enter)
    assert [edit.text for edit in view.edits if edit.submitted] == ["größe 日本"]


def test_text_field_takes_the_focus_that_it_is_given(run: Frames) -> None:
    texts = []

    def view(first: bool = False) -> None:
        texts.append(widgets.text_field("", name="f", focus=first).text)

    run.run(lambda: view(True))
    run.run(view)
    imgui.get_io().add_input_characters_utf8("x")
    run.run(view)
    assert "x" in texts


@given(text=st.text(max_size=40), width=st.floats(0, 300))
@settings(max_examples=60, deadline=None)
def test_elided_text_fits(text: str, width: float) -> None:
    with frames() as made:
        made.run(lambda: check_elided(text, width))


def check_elided(text: str, width: float) -> None:
    shown = widgets.elided(text, width)
    if shown != text:
        assert shown.endswith("…")
        assert text.startswith(shown[:-1])
        assert imgui.calc_text_size(shown).x <= max(width, imgui.calc_text_size("…").x)


def test_long_words_are_broken_to_fit(run: Frames) -> None:
    def draw() -> list[tuple[str, float]]:
        lines = widgets.wrapped("see " + "W" * 400 + " there", 120)
        return [(line, imgui.calc_text_size(line).x) for line in lines]

    lines = run.run(draw)
    assert max(width for _, width in lines) <= 120
    assert "".join(line for line, _ in lines).replace(" ", "") == "see" + "W" * 400 + "there"


def test_wrapped_lines_keep_all_words(run: Frames) -> None:
    text = "a few words that do not fit on one line\nand a second paragraph"

    def view() -> list[str]:
        return widgets.wrapped(text, 120)

    lines = run.run(view)
    assert isinstance(lines, list)
    assert len(lines) > 3
    assert " ".join(lines).split() == text.split()


@pytest.mark.parametrize(
    ("text", "keys"),
    [("Ctrl+N", ["Ctrl", "N"]), ("F1", ["F1"]), ("Ctrl++", ["Ctrl", "+"]), ("+", ["+"])],
)
def test_keys_of_a_shortcut(text: str, keys: list[str]) -> None:
    assert _keys(text) == keys


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_everything_else_draws_in_both_themes(scale: float) -> None:
    with frames(LIGHT, scale) as made:
        made.run(everything, 3)
        assert {"card", "bar", "unknown", "meter"} <= made.marks.keys()
        for x, _, width, _ in (made.marks[name] for name in ("bar", "unknown", "meter")):
            card = made.marks["card"]
            assert card[0] <= x
            assert x + width <= card[0] + card[2]


def everything() -> None:
    with widgets.card("card", width=300):
        widgets.progress_bar(0.5, name="bar", label="Half")
        widgets.progress_bar(None, name="unknown")
        widgets.meter(2000, 1024, name="meter", label="Context")
        widgets.meter(0, 0, name="empty", label="Nothing")
        with fonts.pushed(fonts.current().mono):
            imgui.text("code")
    widgets.title("Title")
    widgets.section_header("SECTION")
    widgets.muted("Some text.")
    for kind in ("neutral", "accent", "success", "warning", "danger"):
        widgets.badge(kind, kind, help="A state.")
    widgets.key_hint("Ctrl+Shift+N")


def test_menu(run: Frames) -> None:
    items = [
        MenuItem("rename", "Rename", icons.EDIT, "F2"),
        None,
        MenuItem("off", "Not now", enabled=False),
        MenuItem("delete", "Delete", icons.TRASH, danger=True),
    ]

    def view() -> str | None:
        if widgets.button("More", name="more"):
            widgets.open_menu("menu")
        return widgets.menu(items, name="menu")

    run.run(view)
    run.click(view, "more")
    run.run(view, 2)
    assert run.click(view, "menu.off") == [None, None]
    assert run.click(view, "menu.delete") == [None, "delete"]
    run.run(view)
    assert "menu.rename" not in run.marks


class Question:
    """Asked until it is answered."""

    def __init__(self, kind: str = "danger") -> None:
        self.kind = kind
        self.answers: list[bool] = []

    def __call__(self) -> None:
        if not self.answers:
            answer = widgets.confirm(
                "It will be gone.", name="q", heading="Delete?", action="Delete", kind=self.kind
            )
            if answer is not None:
                self.answers.append(answer)


@pytest.mark.parametrize(("button", "answer"), [("q.action", True), ("q.cancel", False)])
def test_confirm(run: Frames, button: str, answer: bool) -> None:
    view = Question()
    run.run(view, 3)
    run.click(view, button)
    assert view.answers == [answer]
    run.run(view, 2)
    assert not imgui.is_popup_open("", imgui.PopupFlags_.any_popup)


@pytest.mark.parametrize(("kind", "answer"), [("danger", False), ("primary", True)])
def test_enter_does_what_is_harmless(run: Frames, kind: str, answer: bool) -> None:
    view = Question(kind)
    run.run(view, 3)
    run.press(view, imgui.Key.enter)
    assert view.answers == [answer]


def test_escape_cancels(run: Frames) -> None:
    view = Question()
    run.run(view, 3)
    run.press(view, imgui.Key.escape)
    assert view.answers == [False]


def test_empty_state_invites(run: Frames) -> None:
    def view() -> str | None:
        prompts = [("one", "Once upon a time"), ("two", "The recipe")]
        return widgets.empty_state(icons.CHAT, "What now?", "Pick one.", prompts, name="empty")

    run.run(view, 2)
    x, y, width, height = run.marks["empty"]
    assert x + width / 2 == pytest.approx(400, abs=2)
    assert 60 < y < 300
    assert y + height < 600
    assert run.click(view, "empty.two") == [None, "two"]
