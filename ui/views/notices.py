"""What stands between messages: where the model's view begins, and why there is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, marks, theme
from gpt2gl_ui.views.meta import dropped_tokens
from gpt2gl_ui.widgets import Area, button, fill, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App
    from gpt2gl_ui.talk import Talk

MARKER, NOTICE = 36, 52  # points that they take


def first_seen(talk: Talk) -> int | None:
    """Which message the model's view begins with; None where it saw all."""
    seen = talk.first_seen
    return seen if dropped_tokens(talk) and 0 < seen < len(talk.chat.path()) else None


def draw_marker(talk: Talk, below: Area) -> None:
    """A line over the first message that the model still sees."""
    now = theme.palette()
    text = f"The model sees what follows: {dropped_tokens(talk):,} tokens above did not fit"
    middle = below.y - theme.px(MARKER) / 2
    area = Area(below.x, middle - theme.px(10), below.width, theme.px(20))
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        half = min(imgui.calc_text_size(text).x / 2 + theme.px(theme.MEDIUM), below.width / 2)
        center = below.x + below.width / 2
        for left, right in ((below.x, center - half), (center + half, below.right)):
            if right > left:
                fill(Area(left, round(middle), right - left, theme.px(1)), now.border, 0)
        text_in(area, text, now.text_muted)
    marks.place("conversation.trimmed", (area.x, area.y, area.width, area.height))


def draw_notice(app: App, text: str, area: Area) -> None:
    """Why there is no answer, and a way to get one."""
    with fonts.pushed(fonts.current().body):
        shown = f"{icons.INFO}  {text}"
        text_in(area, shown, theme.palette().text_muted, 0.0, theme.TIGHT)
        left = imgui.calc_text_size(shown).x + theme.px(theme.LARGE)
    marks.place("conversation.notice", (area.x, area.y, area.width, area.height))
    imgui.set_cursor_screen_pos((area.x + left, area.y))
    enabled = app.talk.can_write
    if button("Answer", name="conversation.answer", icon=icons.REGENERATE, enabled=enabled):
        app.state.stick = True
        app.talk.regenerate()
