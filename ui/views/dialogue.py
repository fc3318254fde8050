"""A dialogue with a head that stays and a body that scrolls, and texts as dialogues have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.palette import Color
from gpt2gl_ui.widgets import available_width, icon_button, modal

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

_COVERED = "##covered"


@contextmanager
def dialogue(app: App, name: str, heading: str, width: float) -> Iterator[None]:
    """The modal dialogue of the window's state, with a cross at its upper right.

    Escape and the cross, marked `name.close`, close it; Escape does not while it belongs to a
    field, a list or a question in the dialogue.
    """
    opened = app.state.dialogue
    with modal(name, heading, width=width) as escaped:
        closing = _close_button(name)
        was_covered = imgui.get_state_storage().get_bool(imgui.get_id(_COVERED))
        if escaped and not was_covered and not imgui.is_any_item_active():
            closing = True
        yield
        covered = imgui.is_popup_open("", imgui.PopupFlags_.any_popup_id)
        imgui.get_state_storage().set_bool(imgui.get_id(_COVERED), covered)
        if closing and app.state.dialogue == opened:
            app.state.dialogue = None
        if app.state.dialogue != opened:
            imgui.close_current_popup()


def _close_button(name: str) -> bool:
    side = 32.0
    imgui.same_line()
    place = imgui.get_cursor_pos()
    right = place.x + available_width() - theme.px(side)
    imgui.set_cursor_pos((right, place.y - theme.px(theme.TIGHT)))
    return icon_button(icons.CLOSE, name=f"{name}.close", tooltip="Close  (Esc)", size=side)


@contextmanager
def body(name: str, height: float, width: float = 0) -> Iterator[None]:
    """A part that scrolls, `height` and `width` in pixels; 0 is all the width there is."""
    imgui.push_style_var(imgui.StyleVar_.window_padding, (theme.px(theme.TIGHT), 0.0))
    flags = imgui.ChildFlags_.nav_flattened | imgui.ChildFlags_.always_use_window_padding
    imgui.begin_child(f"##{name}", (width, height), flags)
    imgui.pop_style_var()
    try:
        yield
    finally:
        imgui.end_child()


def room_below(least: float = 120) -> float:
    """Pixels from the cursor to where the largest dialogue that fits the window would end."""
    view = imgui.get_main_viewport()
    used = imgui.get_cursor_screen_pos().y - imgui.get_window_pos().y
    most = view.size.y - 2 * theme.px(theme.WIDE) - theme.px(theme.WIDE)
    return max(most - used, theme.px(least))


def note(text: str, width: float, color: Color | None = None, size: float = theme.CAPTION) -> None:
    """Text that breaks at `width` pixels; muted unless a colour is given."""
    with fonts.pushed(fonts.current().body, size):
        imgui.push_style_color(imgui.Col_.text, color or theme.palette().text_muted)
        imgui.push_text_wrap_pos(imgui.get_cursor_pos_x() + width)
        imgui.text_unformatted(text)
        imgui.pop_text_wrap_pos()
        imgui.pop_style_color()


def growth() -> float:
    """By how much things are wider than at the usual size of text, to hold larger text."""
    return max(1.0, theme.current().font_scale)


def wide(points: float) -> float:
    """Pixels of a width that grows with the text."""
    return theme.px(points * growth())


def gap(points: float = theme.SMALL) -> None:
    """Empty space under what was drawn last."""
    imgui.dummy((0, theme.px(points)))


def heading(text: str) -> None:
    """The title of a group."""
    gap(theme.TIGHT)
    with fonts.pushed(fonts.current().semibold):
        imgui.text_unformatted(text)
