"""The chats in the sidebar: thousands at the cost of those that can be seen."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import actions, fonts, icons, theme
from gpt2gl_ui.chats.codec import Summary
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.exporting import export
from gpt2gl_ui.views.chat_groups import Line, lines, places
from gpt2gl_ui.views.renaming import is_renamed, title_field
from gpt2gl_ui.widgets import (
    Area,
    MenuItem,
    fill,
    icon_button,
    menu,
    open_menu,
    pressable,
    text_in,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

ROW, BUTTON = 36, 28
MENU = "chat.menu"


@dataclass
class ChatList:
    """What is kept between frames: the lines, and which chat the menu is about."""

    lines: list[Line] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    menu_of: Summary | None = None
    shown: str = ""
    _key: tuple[object, ...] = ()
    # Kept alive, so that its identity stands for its content.
    _saved: list[Summary] = field(default_factory=list)

    def refresh(self, app: App) -> None:
        """Make the lines anew when the chats, or the day, changed."""
        today, saved = datetime.date.today(), app.shelf.summaries()
        private = app.shelf.listed()[: len(app.shelf.private)] if app.shelf.private else []
        key = (id(saved), today, *private)
        if key != self._key:
            self._key, self._saved = key, saved
            self.lines = lines(private, saved, today)
            self.places = dict(places(self.lines))


def draw(app: App) -> None:
    """All chats, in the room there is."""
    held = app.state.kept("chats", ChatList)
    held.refresh(app)
    imgui.push_style_var(imgui.StyleVar_.item_spacing, (0.0, 0.0))
    imgui.begin_child("##chats", (0, 0), imgui.ChildFlags_.nav_flattened)
    if not held.lines:
        _nothing()
    _follow(app, held)
    asked = _rows(app, held)
    imgui.end_child()
    imgui.pop_style_var()
    if asked is not None:
        held.menu_of = asked
        open_menu(MENU)
    _menu(app, held)


def _rows(app: App, held: ChatList) -> Summary | None:
    """The lines that can be seen; the chat whose menu was asked for."""
    asked = None
    clipper = imgui.ListClipper()
    clipper.begin(len(held.lines), theme.px(ROW))
    if app.state.renaming is not None and app.state.renaming.id in held.places:
        at = held.places[app.state.renaming.id]
        clipper.include_items_by_index(at, at + 1)
    while clipper.step():
        for index in range(clipper.display_start, clipper.display_end):
            line = held.lines[index]
            if line.chat is None:
                _heading(line.heading)
            elif _row(app, line, line.chat):
                asked = line.chat
    return asked


def _follow(app: App, held: ChatList) -> None:
    """Scroll to the open chat when it becomes another one."""
    chat_id = app.talk.chat.id
    if chat_id == held.shown:
        return
    held.shown = chat_id
    at = held.places.get(chat_id)
    if at is None:
        return
    top, height = at * theme.px(ROW), imgui.get_window_height()
    if top < imgui.get_scroll_y() or top + theme.px(ROW) > imgui.get_scroll_y() + height:
        imgui.set_scroll_y(max(0.0, top - height / 2))


def _nothing() -> None:
    start, width = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x
    area = Area(start.x, start.y, width, theme.px(96))
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        text_in(area, "Your chats will be listed here", theme.palette().text_muted)


def _heading(text: str) -> None:
    start, width = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x
    imgui.dummy((width, theme.px(ROW)))
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        low = Area(start.x, start.y + theme.px(8), width, theme.px(ROW - 8))
        text_in(low, text, theme.palette().text_muted, 0.0, theme.SMALL)


# One chat ---------------------------------------------------------------------------------------


def _row(app: App, line: Line, chat: Summary) -> bool:
    """A chat; True when its menu was asked for."""
    if is_renamed(app, chat.id, "sidebar"):
        title_field(app, imgui.get_content_region_avail().x)
        return False
    start = imgui.get_cursor_screen_pos()
    imgui.set_next_item_allow_overlap()
    area = pressable(f"chat.{chat.id}", imgui.get_content_region_avail().x, theme.px(ROW))
    focused = imgui.is_item_focused()
    inside = imgui.is_item_hovered(imgui.HoveredFlags_.allow_when_overlapped_by_item)
    asked = _asked_for_menu(inside, focused)
    twice = area.hovered and imgui.is_mouse_double_clicked(0)
    current = chat.id == app.talk.chat.id
    live = inside or _is_held(chat) or (focused and imgui.get_io().nav_visible)
    _surface(area, current, inside)
    _label(area, line, chat, live)
    if live:
        asked = _more(area, chat) or asked
        imgui.set_cursor_screen_pos((start.x, start.y + theme.px(ROW)))
        imgui.dummy((0, 0))
    if twice:
        actions.rename(app, chat.id, chat.title, "sidebar")
    elif focused and not imgui.get_io().want_text_input:
        _keys(app, chat)
    if area.clicked and not twice:
        app.shelf.open(chat.id)
        app.state.sidebar_over = False
    return asked


def _asked_for_menu(inside: bool, focused: bool) -> bool:
    by_key = imgui.is_key_pressed(imgui.Key.menu, False) or imgui.is_key_chord_pressed(
        int(imgui.Key.mod_shift) | int(imgui.Key.f10)
    )
    return (inside and imgui.is_mouse_released(1)) or (focused and by_key)


def _surface(area: Area, current: bool, hovered: bool) -> None:
    now, gap = theme.palette(), theme.px(1)
    inner = Area(area.x, area.y + gap, area.width, area.height - 2 * gap)
    if current:
        fill(inner, now.pressed if hovered else now.hover)
        bar = Area(inner.x, inner.y + theme.px(8), theme.px(3), inner.height - 2 * theme.px(8))
        fill(bar, now.accent, 2)
    elif hovered:
        fill(inner, now.hover)


def _label(area: Area, line: Line, chat: Summary, live: bool) -> None:
    now, left = theme.palette(), theme.px(theme.MEDIUM)
    icon = icons.LOCK if line.private else icons.NOTEBOOK if chat.mode == NOTEBOOK else ""
    with fonts.pushed(fonts.current().body):
        if icon:
            place = Area(area.x + left, area.y, theme.px(20), area.height)
            text_in(place, icon, now.text_muted, 0.0)
            left += theme.px(theme.WIDE)
        right = theme.px(BUTTON + theme.TIGHT) if live else theme.px(theme.SMALL)
        room = Area(area.x + left, area.y, area.width - left - right, area.height)
        text_in(room, chat.title, now.text, 0.0)


def _is_held(chat: Summary) -> bool:
    """Whether the button of the row is pressed, which lets nothing else be under the pointer."""
    return imgui.get_current_context().active_id == imgui.get_id(f"##chat.{chat.id}.more")


def _more(area: Area, chat: Summary) -> bool:
    top = area.y + theme.px((ROW - BUTTON) / 2)
    imgui.set_cursor_screen_pos((area.right - theme.px(BUTTON + theme.TIGHT), top))
    imgui.push_item_flag(imgui.ItemFlags_.no_nav, True)
    name, hint = f"chat.{chat.id}.more", "Rename, pin, export, delete"
    pressed = icon_button(icons.MORE, name=name, tooltip=hint, size=BUTTON)
    imgui.pop_item_flag()
    return pressed


def _keys(app: App, chat: Summary) -> None:
    """What keys do to the chat that has the keyboard."""
    if imgui.is_key_pressed(imgui.Key.delete, False):
        app.shelf.delete(chat.id)


# Its menu ---------------------------------------------------------------------------------------


def _menu(app: App, held: ChatList) -> None:
    chat = held.menu_of
    if chat is None:
        return
    private = chat.id in app.shelf.private
    pin = (icons.UNPIN, "Unpin") if chat.pinned else (icons.PIN, "Pin to the top")
    chosen = menu(
        (
            MenuItem("rename", "Rename", icons.EDIT),
            MenuItem("pin", pin[1], pin[0], enabled=not private),
            None,
            MenuItem("md", "Export as Markdown", icons.EXPORT),
            MenuItem("json", "Export as JSON", icons.EXPORT),
            None,
            MenuItem("delete", "Delete", icons.TRASH, "Del", danger=True),
        ),
        name=MENU,
    )
    if chosen is not None:
        ACTIONS[chosen](app, chat)


def _pin(app: App, chat: Summary) -> None:
    app.shelf.change(chat.id, lambda each: each.pin(not chat.pinned))


def _delete(app: App, chat: Summary) -> None:
    app.shelf.delete(chat.id)


ACTIONS: dict[str, Callable[[App, Summary], object]] = {
    "rename": lambda app, chat: actions.rename(app, chat.id, chat.title, "sidebar"),
    "pin": _pin,
    "md": lambda app, chat: export(app, chat.id, ".md"),
    "json": lambda app, chat: export(app, chat.id, ".json"),
    "delete": _delete,
}
