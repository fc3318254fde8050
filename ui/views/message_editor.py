"""A message while it is changed in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.templates import USER
from gpt2gl_ui import fonts, theme
from gpt2gl_ui.chats.messages import Message
from gpt2gl_ui.views.text_box import TextBox, line_count
from gpt2gl_ui.widgets import Area, button, fill, outline, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

LEAST_LINES, MOST_LINES = 2, 14
PADDING, BUTTONS = 14, 44


class MessageEditor:
    """The field over the message that `state.editing` names."""

    def __init__(self) -> None:
        self._box = TextBox("message.editor")
        self._id = ""

    def height(self, app: App, width: float) -> float:
        """Pixels that `draw` takes."""
        editing = app.state.editing
        text = "" if editing is None else editing.text
        with fonts.pushed(fonts.current().body):
            lines = max(LEAST_LINES, line_count(text, self._inside(width), MOST_LINES))
            field = lines * imgui.get_text_line_height()
        return field + theme.px(PADDING) * 2 + theme.px(BUTTONS)

    def _inside(self, width: float) -> float:
        """The field's own width less the room that it keeps for a scroll bar."""
        return width - 2 * theme.px(PADDING) - imgui.get_style().scrollbar_size

    def draw(self, app: App, message: Message, area: Area) -> None:
        """Draw into the area, as high as `height`; saves or ends the editing when asked to."""
        editing = app.state.editing
        assert editing is not None
        if self._id != editing.id:
            self._id = editing.id
            self._box.replace(editing.text)
        save, cancel = self._keys()
        now, inset = theme.palette(), theme.px(PADDING)
        fill(area, now.raised, theme.ROUND_LARGE)
        outline(area, now.focus, theme.ROUND_LARGE, 2)
        imgui.set_cursor_screen_pos((area.x + inset, area.y + inset))
        low = area.bottom - theme.px(BUTTONS)
        size = area.width - 2 * inset, low - area.y - inset
        with fonts.pushed(fonts.current().body):
            editing.text = self._box.draw(editing.text, *size, focus=editing.focus)
        editing.focus = False
        pressed = self._buttons(message, Area(area.x + inset, low, size[0], theme.px(36)))
        if save or pressed == "save":
            self._save(app, message, editing.text)
        elif cancel or pressed == "cancel":
            self._end(app)

    def _keys(self) -> tuple[bool, bool]:
        """Whether to save, and whether to cancel."""
        cancel = self._box.take(imgui.Key.escape)
        save = imgui.get_io().key_ctrl and self._box.take_enter()
        return save, cancel

    def _buttons(self, message: Message, area: Area) -> str:
        label = "Save and answer" if message.role == USER else "Save"
        with fonts.pushed(fonts.current().semibold):
            widths = [imgui.calc_text_size(each).x + theme.px(32) for each in (label, "Cancel")]
        x = area.right - sum(widths) - theme.px(theme.SMALL)
        with fonts.pushed(fonts.current().body, theme.CAPTION):
            hint = Area(area.x, area.y, max(x - area.x - theme.px(theme.SMALL), 1.0), area.height)
            text_in(hint, "Ctrl+Enter saves, Esc cancels", theme.palette().text_muted, 0.0)
        imgui.set_cursor_screen_pos((x, area.y))
        pressed = "cancel" if button("Cancel", name="message.editor.cancel", kind="ghost") else ""
        imgui.set_cursor_screen_pos((x + widths[1] + theme.px(theme.SMALL), area.y))
        if button(label, name="message.editor.save", kind="primary"):
            return "save"
        return pressed

    def _save(self, app: App, message: Message, text: str) -> None:
        if not text.strip():
            app.toasts.show("An empty message cannot be saved: delete it instead", kind="warning")
            return
        if app.talk.is_writing:
            app.toasts.show("An answer is being written: stop it first", kind="warning")
            return
        self._end(app)
        if text != message.text:
            app.state.stick = app.state.stick or message.role == USER
            app.talk.edit(message.id, text)
        elif message.role == USER:
            app.talk.regenerate(message.id)

    def _end(self, app: App) -> None:
        app.state.editing, self._id = None, ""
        app.state.composer.focus = True
        app.loop.wake()
