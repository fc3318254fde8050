"""The window's layout: chats at the left, the conversation, the inspector at the right."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.inspector import panel
from gpt2gl_ui.state import IMPORT, MODELS, PALETTE, SETTINGS, SHORTCUTS, Editing
from gpt2gl_ui.views import (
    composer,
    conversation,
    header,
    import_panel,
    keyboard,
    models_panel,
    notebook,
    palette,
    settings_panel,
    shortcuts,
    sidebar,
    status,
)
from gpt2gl_ui.widgets import Area

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

HEADER_HEIGHT, STATUS_HEIGHT = 52, 28
_id = attrgetter("id")
NARROW = 720  # points: with less the conversation has the window for itself
LEAST_MAIN, LEAST_INSPECTOR = 360, 340

DIALOGUES = {
    SETTINGS: settings_panel.draw,
    MODELS: models_panel.draw,
    PALETTE: palette.draw,
    SHORTCUTS: shortcuts.draw,
    IMPORT: import_panel.draw,
}


def draw_window(app: App) -> None:
    """Everything of one frame."""
    keyboard.handle(app)
    _forget_gone(app)
    view = imgui.get_main_viewport()
    status_height = theme.px(STATUS_HEIGHT)
    whole = Area(view.pos.x, view.pos.y, view.size.x, view.size.y - status_height)
    main = _sides(app, whole)
    over = app.state.is_narrow and app.state.sidebar_over
    if over:
        sidebar.take_dropped(app, sidebar.area_over(app, whole))
    if app.state.inspector_full or (app.settings.inspector_open and app.state.is_narrow):
        panel.draw(app, main)
    else:
        _main(app, main)
    status.draw(app, Area(whole.x, whole.bottom, whole.width, status_height))
    if over:
        sidebar.draw_over(app, whole)
    if app.state.dialogue is not None:
        DIALOGUES[app.state.dialogue](app)
    app.toasts.draw(STATUS_HEIGHT + _over_composer(app, main), main.x + main.width / 2)


def _forget_gone(app: App) -> None:
    """A message or a title that went away while it was being changed is changed no longer.

    Otherwise the window would wait for the end of something that nobody can see.
    """
    state, chat = app.state, app.talk.chat
    if state.editing is not None and state.editing.id not in map(_id, chat.path()):
        state.editing = None
    if state.renaming is not None and not _can_rename(app, state.renaming):
        state.renaming = None


def _can_rename(app: App, renaming: Editing) -> bool:
    if renaming.place == "header":
        return renaming.id == app.talk.chat.id
    return renaming.id in map(_id, app.shelf.listed())


def _sides(app: App, whole: Area) -> Area:
    """Draw the sidebar and the inspector where they are open; what is left is the middle."""
    left, right = 0.0, 0.0
    narrow = app.state.is_narrow = whole.width < theme.px(NARROW)
    inspected = app.settings.inspector_open and not app.state.inspector_full and not narrow
    if app.settings.sidebar_open and not narrow:
        left = min(theme.px(app.settings.sidebar_width), whole.width - theme.px(LEAST_MAIN))
        if inspected and whole.width - left < theme.px(LEAST_MAIN + LEAST_INSPECTOR):
            left = 0.0  # the list of chats gives way
    if inspected:
        room = whole.width - left - theme.px(LEAST_MAIN)
        right = max(0.0, min(theme.px(app.settings.inspector_width), room))
    if left:
        sidebar.draw(app, Area(whole.x, whole.y, left, whole.height))
    if right:
        panel.draw(app, Area(whole.right - right, whole.y, right, whole.height))
    return Area(whole.x + left, whole.y, whole.width - left - right, whole.height)


def _over_composer(app: App, main: Area) -> float:
    """Points over the status at which notices hide nothing that is being written."""
    if app.talk.chat.mode == NOTEBOOK or app.state.dialogue is not None:
        return theme.WIDE
    return composer.height(app, main.width) / theme.current().scale + theme.TIGHT


def _main(app: App, area: Area) -> None:
    top = theme.px(HEADER_HEIGHT)
    header.draw(app, Area(area.x, area.y, area.width, top))
    rest = Area(area.x, area.y + top, area.width, area.height - top)
    if app.talk.chat.mode == NOTEBOOK:
        notebook.draw(app, rest)
        return
    low = composer.height(app, rest.width)
    conversation.draw(app, Area(rest.x, rest.y, rest.width, rest.height - low))
    composer.draw(app, Area(rest.x, rest.bottom - low, rest.width, low))
