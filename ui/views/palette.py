"""Commands and chats by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import chords, commands, fonts, fuzzy, icons, theme
from gpt2gl_ui.chats.codec import Summary
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.commands import COMMANDS, Command
from gpt2gl_ui.views.highlight import Spans, drawn_text
from gpt2gl_ui.widgets import Area, fill, pressable, text_field, text_in
from gpt2gl_ui.widgets.core import mark_window

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

WIDTH, ROW, ROWS = 560, 38, 9
TOP = 0.12  # of the window's height
MOST = 50
CHATS_AT_FIRST = 8  # how many chats are offered before anything is typed
POPUP = "##palette"

Named = Command | Summary


@dataclass(frozen=True)
class Entry:
    """A line of the palette; `matches` are the letters of the label that were typed."""

    key: str
    label: str
    icon: str
    keys: str
    act: Callable[[], object]
    matches: tuple[int, ...] = ()


@dataclass
class Palette:
    """What is typed, and which line is chosen."""

    query: str = ""
    chosen: int = 0
    entries: list[Entry] = field(default_factory=list)
    scroll: bool = False


def draw(app: App) -> None:
    """Commands and chats by name."""
    held = app.state.kept("palette", Palette)
    if not imgui.is_popup_open(POPUP):
        imgui.open_popup(POPUP)
        held.query, held.chosen, held.scroll = "", 0, True
        held.entries = entries(app, "")
    if not _begin():
        return
    mark_window("palette")
    _keys(held)
    entered = _query(app, held)
    clicked = _list(held)
    chosen = held.entries[held.chosen] if entered and held.entries else clicked
    if chosen is not None or _is_left():
        app.state.dialogue = None
        imgui.close_current_popup()
    imgui.end_popup()
    if chosen is not None:
        chosen.act()


def entries(app: App, query: str) -> list[Entry]:
    """What the palette offers: what was used lately first, or what matches best."""
    offered = [command for command in COMMANDS.values() if command.listed and command.when(app)]
    summaries = app.shelf.listed()
    if query.strip():
        named: Iterable[Named] = chain(offered, summaries)
        # Names only: thousands of chats become entries no sooner than they are found.
        found = fuzzy.best(named, _name, query, MOST)
        return [_entry(app, each, matches) for each, matches in found]
    recent = app.state.recent
    lately = [s for s in summaries if s.id in recent]
    others = [s for s in summaries[:CHATS_AT_FIRST] if s.id not in recent]
    place = {key: index for index, key in enumerate(recent)}
    shown: list[Named] = [*offered, *lately, *others]
    made = [_entry(app, each) for each in shown]
    return sorted(made, key=lambda entry: place.get(entry.key, len(place)))


def _name(what: Named) -> str:
    return what.label if isinstance(what, Command) else what.title


def _entry(app: App, what: Named, matches: tuple[int, ...] = ()) -> Entry:
    if isinstance(what, Command):
        keys = chords.shown(what.keys[0]) if what.keys else ""
        act = partial(commands.run, app, what.id)
        return Entry(what.id, what.label, what.icon, keys, act, matches)
    icon = icons.NOTEBOOK if what.mode == NOTEBOOK else icons.CHAT
    if what.id in app.shelf.private:
        icon = icons.LOCK
    return Entry(what.id, what.title, icon, "", partial(_open, app, what.id), matches)


def _open(app: App, chat_id: str) -> None:
    if app.shelf.open(chat_id):
        commands.note_use(app, chat_id)


# Drawing ----------------------------------------------------------------------------------------


def _begin() -> bool:
    view, flag = imgui.get_main_viewport(), imgui.WindowFlags_
    top = view.pos.y + view.size.y * TOP
    imgui.set_next_window_pos((view.get_center().x, top), imgui.Cond_.always, (0.5, 0.0))
    width = min(theme.px(WIDTH), view.size.x - 2 * theme.px(theme.LARGE))
    imgui.set_next_window_size((width, 0))
    inset = theme.px(theme.MEDIUM)
    imgui.push_style_var(imgui.StyleVar_.window_padding, (inset, inset))
    imgui.push_style_var(imgui.StyleVar_.window_rounding, theme.px(theme.ROUND_LARGE))
    imgui.push_style_var(imgui.StyleVar_.window_border_size, theme.px(1))
    imgui.push_style_color(imgui.Col_.window_bg, theme.palette().raised)
    flags = flag.no_title_bar | flag.no_move | flag.no_resize | flag.no_saved_settings
    opened = bool(imgui.begin_popup_modal(POPUP, None, flags | flag.no_scrollbar)[0])
    imgui.pop_style_color()
    imgui.pop_style_var(3)
    return opened


def _is_left() -> bool:
    """Escape, or a click beside it."""
    flag = imgui.HoveredFlags_
    inside = flag.child_windows | flag.allow_when_blocked_by_active_item
    beside = imgui.is_mouse_clicked(0) and not imgui.is_window_hovered(inside)
    return imgui.is_key_pressed(imgui.Key.escape, False) or beside


def _keys(held: Palette) -> None:
    """The arrows move the choice, and wrap around."""
    if not held.entries:
        return
    down = imgui.is_key_pressed(imgui.Key.down_arrow) - imgui.is_key_pressed(imgui.Key.up_arrow)
    page = imgui.is_key_pressed(imgui.Key.page_down) - imgui.is_key_pressed(imgui.Key.page_up)
    last = len(held.entries) - 1
    if down:
        held.chosen = (held.chosen + down) % len(held.entries)
    if page:
        held.chosen = min(max(held.chosen + page * (ROWS - 1), 0), last)
    held.scroll = held.scroll or bool(down or page)


def _query(app: App, held: Palette) -> bool:
    """The field; True when Enter was pressed."""
    edit = text_field(
        held.query,
        name="palette.query",
        placeholder="Type a command or the name of a chat",
        icon=icons.SEARCH,
        focus=not imgui.is_any_item_active(),
    )
    if edit.changed:
        held.query, held.chosen, held.scroll = edit.text, 0, True
        held.entries = entries(app, held.query)
    return edit.submitted


def _list(held: Palette) -> Entry | None:
    """The lines; the one that was clicked."""
    view = imgui.get_main_viewport().size.y
    rows = max(3, min(ROWS, int((view * (1 - TOP) - theme.px(120)) / theme.px(ROW))))
    imgui.push_style_var(imgui.StyleVar_.item_spacing, (0.0, 0.0))
    imgui.begin_child("##list", (0, theme.px(ROW) * rows), 0, imgui.WindowFlags_.no_nav_inputs)
    clicked = None
    if not held.entries:
        start, width = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x
        area = Area(start.x, start.y, width, theme.px(80))
        text_in(area, "Nothing has that name", theme.palette().text_muted)
    clipper = imgui.ListClipper()
    clipper.begin(len(held.entries), theme.px(ROW))
    while clipper.step():
        for index in range(clipper.display_start, clipper.display_end):
            if _row(held, index):
                clicked = held.entries[index]
    if held.scroll:
        _scroll_to(held.chosen)
        held.scroll = False
    imgui.end_child()
    imgui.pop_style_var()
    return clicked


def _scroll_to(index: int) -> None:
    top, height = index * theme.px(ROW), imgui.get_window_height()
    if top < imgui.get_scroll_y():
        imgui.set_scroll_y(top)
    elif top + theme.px(ROW) > imgui.get_scroll_y() + height:
        imgui.set_scroll_y(top + theme.px(ROW) - height)


def _row(held: Palette, index: int) -> bool:
    entry, now = held.entries[index], theme.palette()
    imgui.push_item_flag(imgui.ItemFlags_.no_nav, True)
    area = pressable(f"palette.{entry.key}", imgui.get_content_region_avail().x, theme.px(ROW))
    imgui.pop_item_flag()
    moved = imgui.get_io().mouse_delta
    if area.hovered and (moved.x or moved.y):
        held.chosen = index
    if index == held.chosen:
        fill(area, now.hover)
    with fonts.pushed(fonts.current().body):
        text_in(area, entry.icon, now.text_muted, 0.0, theme.MEDIUM)
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        text_in(area, entry.keys, now.text_muted, 1.0, theme.MEDIUM)
        keys = imgui.calc_text_size(entry.keys).x
    left = theme.px(theme.HUGE + theme.MEDIUM)
    room = area.width - left - keys - theme.px(theme.WIDE)
    spans: Spans = [(at, at + 1) for at in entry.matches]
    with fonts.pushed(fonts.current().body):
        place = Area(area.x + left, area.y, room, area.height)
        drawn_text(place, entry.label, now.text, spans, background=False)
    return area.clicked
