"""What the search through chats found, in place of the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.chats.search import MESSAGE, TITLE, Hit
from gpt2gl_ui.views.highlight import drawn_text, moved_to_match
from gpt2gl_ui.widgets import Area, fill, pressable, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

ROW, LINE = 56, 22
TOP = 6


def draw(app: App) -> None:
    """A line for how much was found, and the places."""
    finder = app.finder
    _summary(len(finder.hits), finder.searching)
    imgui.push_style_var(imgui.StyleVar_.item_spacing, (0.0, 0.0))
    imgui.begin_child("##found", (0, 0), imgui.ChildFlags_.nav_flattened)
    clipper = imgui.ListClipper()
    clipper.begin(len(finder.hits), theme.px(ROW))
    while clipper.step():
        for index in range(clipper.display_start, clipper.display_end):
            if _row(app, finder.hits[index], index):
                open_hit(app, finder.hits[index])
    imgui.end_child()
    imgui.pop_style_var()


def open_hit(app: App, hit: Hit) -> None:
    """Open the chat of a hit, and bring its message into view."""
    if not app.shelf.open(hit.chat_id):
        return
    chat = app.talk.chat
    app.state.sidebar_over = False
    if hit.place != MESSAGE or hit.message_id is None or hit.message_id not in chat:
        return
    if all(message.id != hit.message_id for message in chat.path()):
        if app.talk.is_writing:  # the answer that grows must stay in view
            return
        chat.show(hit.message_id)
    app.state.stick = False
    app.state.scroll_to = hit.message_id


def _summary(count: int, searching: bool) -> None:
    word = "place" if count == 1 else "places"
    text = "Searching…" if searching and not count else f"{count} {word} found"
    if not count and not searching:
        text = "Nothing was found"
    start, width = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x
    area = Area(start.x, start.y, width, theme.px(28))
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        text_in(area, text, theme.palette().text_muted, 0.0, theme.SMALL)
    imgui.dummy((width, theme.px(20)))


def _row(app: App, hit: Hit, index: int) -> bool:
    width, now = imgui.get_content_region_avail().x, theme.palette()
    area = pressable(f"found.{index}", width, theme.px(ROW))
    inner = Area(area.x, area.y + 1, area.width, area.height - 2)
    if area.hovered:
        fill(inner, now.hover)
    elif hit.chat_id == app.talk.chat.id:
        fill(inner, now.raised)
    _titled(app, area, hit)
    if hit.place != TITLE:
        snippet, spans = moved_to_match(hit.snippet, hit.matches)
        with fonts.pushed(fonts.current().body, theme.CAPTION):
            drawn_text(_line(area, 1), snippet, now.text_muted, spans)
    return area.clicked


def _line(area: Area, number: int, left: float = 0.0) -> Area:
    x = area.x + theme.px(theme.MEDIUM) + left
    top = area.y + theme.px(TOP) + number * theme.px(LINE)
    return Area(x, top, area.right - theme.px(theme.SMALL) - x, theme.px(LINE))


def _titled(app: App, area: Area, hit: Hit) -> None:
    now, left = theme.palette(), 0.0
    with fonts.pushed(fonts.current().body):
        if hit.chat_id in app.shelf.private:
            text_in(_line(area, 0), icons.LOCK, now.text_muted, 0.0)
            left = theme.px(theme.WIDE)
        alone = hit.place == TITLE
        line = _line(_middle(area) if alone else area, 0, left)
        shown = hit.snippet if alone else hit.title
        drawn_text(line, shown, now.text, hit.matches if alone else ())


def _middle(area: Area) -> Area:
    """Where a title stands that has nothing under it."""
    return Area(area.x, area.y + theme.px(LINE / 2), area.width, area.height)
