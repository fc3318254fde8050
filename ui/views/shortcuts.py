"""What the keyboard can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import chords, fonts, theme
from gpt2gl_ui.commands import CHATS, COMMANDS, FIELD_KEYS, GROUPS, WRITING
from gpt2gl_ui.widgets import Area, button, key_hint, modal, section_header, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

WIDTH, ROW, CAP = 760, 34, 22
TWO_COLUMNS = 620  # points
Row = tuple[str, str]


def draw(app: App) -> None:
    """What the keyboard can do."""
    with modal("shortcuts", "Keyboard shortcuts", width=WIDTH) as escaped:
        room = imgui.get_main_viewport().size.y - theme.px(176)
        columns = 2 if imgui.get_content_region_avail().x >= theme.px(TWO_COLUMNS) else 1
        height = min(room, theme.px(_height(columns)))
        imgui.begin_child("##list", (0, height), imgui.ChildFlags_.nav_flattened)
        _columns(columns)
        _scroll()
        imgui.end_child()
        closed = button("Close", name="shortcuts.close", width=-1)
        if imgui.is_window_appearing():
            imgui.set_item_default_focus()
        if escaped or closed:
            app.state.dialogue = None
            imgui.close_current_popup()


def _scroll() -> None:
    """By the arrow keys, as there is nothing in the list that they could go to."""
    pressed = imgui.is_key_pressed
    down = pressed(imgui.Key.down_arrow) - pressed(imgui.Key.up_arrow)
    page = pressed(imgui.Key.page_down) - pressed(imgui.Key.page_up)
    if down or page:
        step = down * theme.px(2 * ROW) + page * imgui.get_window_height()
        imgui.set_scroll_y(imgui.get_scroll_y() + step)


def rows(group: str) -> Iterator[Row]:
    """Label and keys of everything in a group that has keys."""
    if group == WRITING:
        yield from ((each.label, each.keys) for each in FIELD_KEYS)
    for command in COMMANDS.values():
        if command.group == group and command.keys:
            yield command.label, command.keys[0]


def _split(columns: int) -> list[Sequence[str]]:
    if columns == 1:
        return [GROUPS]
    left = (CHATS, WRITING)
    return [left, tuple(group for group in GROUPS if group not in left)]


def _height(columns: int) -> float:
    """In points, of the highest column."""
    groups = _split(columns)
    return max(sum(ROW * (2 + len(list(rows(each)))) for each in column) for column in groups)


def _columns(count: int) -> None:
    gap = theme.px(theme.HUGE)
    width = (imgui.get_content_region_avail().x - (count - 1) * gap) / count
    for index, groups in enumerate(_split(count)):
        if index:
            imgui.same_line(0, gap)
        imgui.begin_group()
        for group in groups:
            section_header(group)
            for label, keys in rows(group):
                _row(label, chords.shown(keys), width)
        imgui.end_group()


def _row(label: str, keys: str, width: float) -> None:
    start, height = imgui.get_cursor_screen_pos(), theme.px(ROW)
    caps = _width_of(keys)
    with fonts.pushed(fonts.current().body):
        room = width - caps - theme.px(theme.SMALL)
        text_in(Area(start.x, start.y, room, height), label, theme.palette().text, 0.0)
    top = start.y + theme.px((ROW - CAP) / 2)
    imgui.set_cursor_screen_pos((start.x + width - caps, top))
    key_hint(keys)
    imgui.set_cursor_screen_pos((start.x, start.y))
    imgui.dummy((width, height - imgui.get_style().item_spacing.y))


def _width_of(keys: str) -> float:
    """Of the caps that `key_hint` draws."""
    parts, inset = chords.split(keys), 2 * theme.px(theme.SMALL)
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        caps = sum(max(imgui.calc_text_size(each).x + inset, theme.px(CAP)) for each in parts)
    return caps + theme.px(theme.TIGHT) * (len(parts) - 1)
