"""The chats at the left: new ones, a search, the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import actions, chords, commands, icons, theme
from gpt2gl_ui.chats.tree import Chat
from gpt2gl_ui.exporting import import_files
from gpt2gl_ui.settings import DEFAULTS
from gpt2gl_ui.views import chat_list, found
from gpt2gl_ui.views.region import region
from gpt2gl_ui.widgets import Area, MenuItem, icon_button, menu, open_menu, pressable, text_field
from gpt2gl_ui.widgets.buttons import button

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

PADDING, TOP = 10, 8
EDGE = 6
ROOM_BESIDE = 56
MENU, MENU_WIDTH = "new.menu", 270


def draw(app: App, area: Area, *, over: bool = False) -> None:
    """The chats at the left; `over` what else is in the window."""
    take_dropped(app, area)
    with region("sidebar", area, theme.palette().surface, (PADDING, TOP)):
        _come_to_front(over)
        _edge(app, area)
        imgui.set_cursor_screen_pos((area.x + theme.px(PADDING), area.y + theme.px(TOP)))
        _new(app)
        imgui.dummy((0, theme.px(1)))
        _search(app)
        if app.finder.asked:
            found.draw(app)
        else:
            chat_list.draw(app)


def draw_over(app: App, whole: Area) -> None:
    """Over the conversation, in a window without room beside it; a press elsewhere closes it."""
    with region("scrim", whole, theme.palette().scrim):
        _come_to_front(True)
        imgui.push_item_flag(imgui.ItemFlags_.no_nav, True)
        if pressable("sidebar.scrim", whole.width, whole.height).clicked:
            app.state.sidebar_over = False
        imgui.pop_item_flag()
    draw(app, area_over(app, whole), over=True)


def area_over(app: App, whole: Area) -> Area:
    """Where `draw_over` puts the chats."""
    width = min(theme.px(app.settings.sidebar_width), whole.width - theme.px(ROOM_BESIDE))
    return Area(whole.x, whole.y, width, whole.height)


def _come_to_front(over: bool) -> None:
    """Once, so that menus, which open later, come over it."""
    if over and imgui.is_window_appearing():
        imgui.internal.bring_window_to_display_front(imgui.internal.get_current_window())


# New chats --------------------------------------------------------------------------------------


def _new(app: App) -> None:
    room = imgui.get_content_region_avail().x / theme.current().scale
    width = room - theme.CONTROL_HEIGHT - theme.SMALL
    hint = commands.hint("new")
    if button("New chat", name="new", icon=icons.NEW, width=width, tooltip=hint):
        commands.run(app, "new")
    imgui.same_line()
    if icon_button(
        icons.CHEVRON_DOWN,
        name="new.more",
        tooltip="Notebook, private chat, import",
        size=theme.CONTROL_HEIGHT,
    ):
        open_menu(MENU)
    items = [_item("new"), _item("notebook"), _item("private"), None, _item("import")]
    chosen = menu(items, name=MENU, width=MENU_WIDTH)
    if chosen is not None:
        commands.run(app, chosen)


def _item(command_id: str) -> MenuItem:
    command = commands.COMMANDS[command_id]
    keys = chords.shown(command.keys[0]) if command.keys else ""
    return MenuItem(command.id, command.label, command.icon, keys)


# Searching --------------------------------------------------------------------------------------


def _search(app: App) -> None:
    state, start = app.state, imgui.get_cursor_screen_pos()
    width = imgui.get_content_region_avail().x
    edit = text_field(
        state.query,
        name="search",
        placeholder="Search chats",
        icon=icons.SEARCH,
        width=(width - _room_for_clear(app)) / theme.current().scale,
        focus=state.search_focus,
    )
    left = imgui.is_item_deactivated() and imgui.is_key_pressed(imgui.Key.escape, False)
    state.search_focus = False
    state.query = "" if left else edit.text
    if _room_for_clear(app):
        side = theme.px(theme.CONTROL_HEIGHT)
        imgui.set_cursor_screen_pos((start.x + width - side, start.y))
        if icon_button(icons.CLOSE, name="search.clear", tooltip="Clear the search", size=36):
            state.query = ""
    begins = app.finder.ask(state.query, unsaved(app))
    if begins is not None:
        app.loop.request_at(begins)


def _room_for_clear(app: App) -> float:
    return theme.px(theme.CONTROL_HEIGHT + theme.TIGHT) if app.finder.asked else 0.0


def unsaved(app: App) -> list[Chat]:
    """Chats that the search takes from memory: the open one, and private ones."""
    open_one = [] if app.talk.chat.is_empty else [app.talk.chat]
    return [*open_one, *(each for each in app.shelf.private.values() if each not in open_one)]


# Its edge ---------------------------------------------------------------------------------------


def _edge(app: App, area: Area) -> None:
    """Dragged to change the width, pressed twice to bring back the usual one."""
    side = theme.px(EDGE)
    imgui.set_cursor_screen_pos((area.right - side, area.y))
    imgui.push_item_flag(imgui.ItemFlags_.no_nav, True)
    grip = pressable("sidebar.edge", side, area.height)
    imgui.pop_item_flag()
    line = area.right - theme.px(1)
    color = theme.palette().border
    if grip.hovered or grip.held:
        imgui.set_mouse_cursor(imgui.MouseCursor_.resize_ew)
        color = theme.palette().accent
        line = area.right - theme.px(2)
    draw = imgui.get_window_draw_list()
    draw.add_rect_filled((line, area.y), (area.right, area.bottom), theme.ink(color))
    if grip.hovered and imgui.is_mouse_double_clicked(0):
        app.set("sidebar_width", DEFAULTS.sidebar_width)
    elif grip.held and imgui.is_mouse_dragging(0):
        wanted = (imgui.get_mouse_pos().x - area.x) / theme.current().scale
        actions.set_sidebar_width(app, wanted)


# Dropped files ----------------------------------------------------------------------------------


def take_dropped(app: App, area: Area) -> None:
    """Files that were dropped here are chats to import."""
    here = [drop for drop in app.state.dropped if _holds(area, drop.x, drop.y)]
    if not here:
        return
    app.state.dropped = [drop for drop in app.state.dropped if drop not in here]
    for problem in import_files(app, [path for drop in here for path in drop.paths]):
        app.toasts.show(problem, kind="danger", seconds=12)


def _holds(area: Area, x: float, y: float) -> bool:
    return area.x <= x < area.right and area.y <= y < area.bottom
