"""One sentence on each tab for those who see it for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.inspector.inspector import ACTIVATIONS, ATTENTION, INTERVENE, LENS, STEP, TOKENS
from gpt2gl_ui.widgets import Area, available_width, fill, icon_button, wrapped

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

TEXTS = {
    ATTENTION: "Each small square is one head. Bright: this word (row) looks at that word"
    " (column). Words look only at those before them.",
    ACTIVATIONS: "A word travels through the layers as a row of numbers. Orange is above zero, blue"
    " below; each layer adds to what came before.",
    LENS: "What each layer would have said next, if it were the last. Read from below: from a first"
    " guess at the bottom to the answer at the top.",
    TOKENS: "The model never picks a word outright: it gives every token a probability, and one is"
    " drawn. Long bars were sure, short ones a surprise.",
    INTERVENE: "Switch parts off and see what the model can no longer do. Press a square: a head,"
    " an MLP, or a whole layer.",
    STEP: "All the model does is draw textures, one from the others. Go through it draw by draw.",
}


def draw(app: App, tab: str) -> None:
    """The hint of a tab, unless it was dismissed."""
    if tab in app.settings.hints_seen:
        return
    now, start = theme.palette(), imgui.get_cursor_screen_pos()
    width, inset, side = available_width(), theme.px(theme.SMALL + 2), theme.px(26)
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        lines = wrapped(TEXTS[tab], width - 2 * inset - side)
        line = imgui.get_text_line_height() + theme.px(2)
        area = Area(start.x, start.y, width, len(lines) * line + 2 * inset - theme.px(2))
        fill(area, now.user_bubble)
        draw_list = imgui.get_window_draw_list()
        for index, text in enumerate(lines):
            place = (start.x + inset, start.y + inset + index * line)
            draw_list.add_text(place, theme.ink(now.text), text)
    imgui.set_cursor_screen_pos((area.right - side - theme.px(4), start.y + theme.px(4)))
    if icon_button(icons.CLOSE, name="inspector.hint", tooltip="Understood", size=24):
        app.set("hints_seen", (*app.settings.hints_seen, tab))
    imgui.set_cursor_screen_pos((start.x, area.bottom))
    imgui.dummy((width, theme.px(theme.TIGHT)))
