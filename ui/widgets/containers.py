"""Things that hold others: a card, a dialogue, a question, a menu, an empty view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import fonts, marks, theme
from gpt2gl_ui.palette import Color
from gpt2gl_ui.widgets.buttons import button
from gpt2gl_ui.widgets.core import (
    Area,
    available_width,
    enabled_if,
    fill,
    mark_window,
    outline,
    pressable,
    text_in,
)
from gpt2gl_ui.widgets.display import centred, muted, title

DIALOGUE_WIDTH, MENU_WIDTH, MENU_ROW = 440, 220, 32
EMPTY_WIDTH, TILE, SUGGESTION = 560, 56, 48


@contextmanager
def card(
    name: str, *, color: Color | None = None, padding: float = theme.LARGE, width: float = 0
) -> Iterator[None]:
    """A raised surface as high as what is in it; `width` in points, 0 for all there is."""
    now = theme.palette()
    inset = (theme.px(padding), theme.px(padding))
    imgui.push_style_var(imgui.StyleVar_.window_padding, inset)
    imgui.push_style_color(imgui.Col_.child_bg, color or now.raised)
    child = imgui.ChildFlags_
    flags = child.borders | child.auto_resize_y | child.always_use_window_padding
    size = (theme.px(width) if width else 0.0, 0.0)
    imgui.begin_child(f"##{name}", size, flags | child.nav_flattened)
    imgui.pop_style_color()
    imgui.pop_style_var()
    try:
        yield
    finally:
        imgui.end_child()
        marks.mark(name)


@contextmanager
def modal(name: str, heading: str, *, width: float = DIALOGUE_WIDTH) -> Iterator[bool]:
    """A dialogue over the window, shown in each frame that calls this.

    Gives True in the frame in which Escape was pressed: the caller should stop showing it.
    """
    identity = f"##{name}"
    if not imgui.is_popup_open(identity):
        imgui.open_popup(identity)
    view = imgui.get_main_viewport()
    imgui.set_next_window_pos(view.get_center(), imgui.Cond_.always, (0.5, 0.5))
    room = view.size.x - 2 * theme.px(theme.LARGE)
    imgui.set_next_window_size((min(theme.px(width), room), 0))
    with _dialogue_style():
        flags = imgui.WindowFlags_.no_title_bar | imgui.WindowFlags_.no_move
        visible = imgui.begin_popup_modal(identity, None, flags | _FIXED)[0]
    try:
        if visible:
            mark_window(name)
            title(heading)
        yield imgui.is_key_pressed(imgui.Key.escape, False)
    finally:
        if visible:
            imgui.end_popup()


_FIXED = imgui.WindowFlags_.no_resize | imgui.WindowFlags_.no_saved_settings


@contextmanager
def _dialogue_style() -> Iterator[None]:
    var, inset = imgui.StyleVar_, theme.px(theme.WIDE)
    imgui.push_style_var(var.window_padding, (inset, inset))
    imgui.push_style_var(var.window_rounding, theme.px(theme.ROUND_LARGE))
    imgui.push_style_var(var.window_border_size, theme.px(1))
    imgui.push_style_color(imgui.Col_.window_bg, theme.palette().raised)
    try:
        yield
    finally:
        imgui.pop_style_color()
        imgui.pop_style_var(3)


def confirm(
    text: str, *, name: str, heading: str, action: str, kind: str = "danger"
) -> bool | None:
    """A question, asked in each frame that calls this: True, False, or None while it is open.

    Its buttons are marked `name.action` and `name.cancel`; Escape cancels.
    """
    answer = None
    with modal(name, heading) as escaped:
        muted(text)
        imgui.dummy((0, theme.px(theme.SMALL)))
        _push_right(action, "Cancel")
        if button("Cancel", name=f"{name}.cancel") or escaped:
            answer = False
        _focus_at_first(kind == "danger")
        imgui.same_line()
        if button(action, name=f"{name}.action", kind=kind):
            answer = True
        _focus_at_first(kind != "danger")
        if answer is not None:
            imgui.close_current_popup()
    return answer


def _focus_at_first(wanted: bool) -> None:
    """The last item is what Enter presses when the dialogue opens, and it has the focus ring."""
    if wanted and imgui.is_window_appearing():
        imgui.set_item_default_focus()
        imgui.set_nav_cursor_visible(True)


def _push_right(*labels: str) -> None:
    """Put the cursor where buttons with these labels end at the right edge."""
    with fonts.pushed(fonts.current().semibold):
        texts = sum(imgui.calc_text_size(label).x for label in labels)
    gaps = 2 * len(labels) * theme.px(theme.LARGE) + (len(labels) - 1) * theme.px(theme.SMALL)
    free = available_width() - texts - gaps
    imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + max(free, 0.0))


@dataclass(frozen=True)
class MenuItem:
    """`key` is what `menu` gives when the item is chosen, and names its mark."""

    key: str
    label: str
    icon: str = ""
    shortcut: str = ""
    danger: bool = False
    enabled: bool = True


def open_menu(name: str) -> None:
    """Open the menu of that name; call it where `menu` is called, in the same window."""
    imgui.open_popup(f"##{name}")


def menu(items: Sequence[MenuItem | None], *, name: str, width: float = MENU_WIDTH) -> str | None:
    """A popup menu, None for a line between items; gives the key of the item chosen.

    Items are marked `name.key`.
    """
    inset = theme.px(theme.TIGHT + 2)
    imgui.push_style_var(imgui.StyleVar_.window_padding, (inset, inset))
    opened = imgui.begin_popup(f"##{name}")
    imgui.pop_style_var()
    if not opened:
        return None
    mark_window(name)
    imgui.push_style_var(imgui.StyleVar_.item_spacing, (theme.px(theme.SMALL), theme.px(1)))
    chosen = None
    for item in items:
        if item is None:
            _menu_line()
        elif _menu_row(item, name, width):
            chosen = item.key
            imgui.close_current_popup()
    imgui.pop_style_var()
    imgui.end_popup()
    return chosen


def _menu_line() -> None:
    imgui.dummy((0, theme.px(2)))
    imgui.separator()
    imgui.dummy((0, theme.px(2)))


def _menu_row(item: MenuItem, name: str, width: float) -> bool:
    now = theme.palette()
    with enabled_if(item.enabled):
        area = pressable(f"{name}.{item.key}", theme.px(width), theme.px(MENU_ROW))
        if area.hovered:
            fill(area, now.pressed if area.held else now.hover, theme.ROUND_SMALL)
        color = now.danger if item.danger else now.text
        text_in(area, item.icon, color if item.danger else now.text_muted, 0.0, theme.SMALL)
        left = theme.px(theme.HUGE + 4)
        text_in(Area(area.x + left, area.y, area.width - left, area.height), item.label, color, 0.0)
        with fonts.pushed(fonts.current().body, theme.CAPTION):
            text_in(area, item.shortcut, now.text_muted, 1.0, theme.SMALL)
    return area.clicked


def empty_state(
    icon: str, heading: str, text: str, suggestions: Sequence[tuple[str, str]], *, name: str
) -> str | None:
    """An inviting empty view in the middle of the space there is, with things to try.

    `suggestions` are pairs of a key and a text; gives the key of the one that was pressed. They
    are marked `name.key`.
    """
    room = imgui.get_content_region_avail()
    width = min(theme.px(EMPTY_WIDTH), room.x)
    _move_to_middle(room, width, _empty_height(len(suggestions)))
    imgui.begin_group()
    _tile(icon, width)
    with fonts.pushed(fonts.current().semibold, theme.DISPLAY):
        centred(heading, theme.palette().text, width)
    centred(text, theme.palette().text_muted, width)
    imgui.dummy((0, theme.px(theme.SMALL)))
    pressed = [key for key, label in suggestions if _suggestion(f"{name}.{key}", label, width)]
    imgui.end_group()
    marks.mark(name)
    return pressed[0] if pressed else None


def _empty_height(suggestions: int) -> float:
    rows = suggestions * (SUGGESTION + theme.SMALL)
    return theme.px(TILE + theme.DISPLAY + theme.BODY + 6 * theme.SMALL + rows)


def _move_to_middle(room: imgui.ImVec2, width: float, height: float) -> None:
    place = imgui.get_cursor_pos()
    # A little over the middle looks like the middle.
    below = max((room.y - height) * 0.45, 0.0)
    imgui.set_cursor_pos((place.x + max((room.x - width) / 2, 0.0), place.y + below))


def _tile(icon: str, width: float) -> None:
    now, start, side = theme.palette(), imgui.get_cursor_screen_pos(), theme.px(TILE)
    area = Area(round(start.x + (width - side) / 2), start.y, side, side)
    fill(area, now.user_bubble, theme.LARGE)
    with fonts.pushed(fonts.current().body, theme.DISPLAY):
        text_in(area, icon, now.accent)
    imgui.dummy((width, side + theme.px(theme.SMALL)))


def _suggestion(name: str, label: str, width: float) -> bool:
    now = theme.palette()
    area = pressable(name, width, theme.px(SUGGESTION))
    fill(area, now.hover if area.hovered else now.raised, theme.ROUND_LARGE)
    outline(area, now.control if area.hovered else now.border, theme.ROUND_LARGE)
    text_in(area, label, now.text, 0.0, theme.LARGE)
    return area.clicked
