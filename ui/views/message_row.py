"""The line under a message: its versions, how it was made, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.templates import USER
from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.chats.messages import Message
from gpt2gl_ui.views.message_actions import Action, actions_of
from gpt2gl_ui.views.meta import BETWEEN, meta_line, moment
from gpt2gl_ui.widgets import Area, icon_button, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

HEIGHT, BUTTON, COUNT_WIDTH = 32, 28, 40
LEAST_FOR_ALL = 420  # points: in less the rarer actions are in the menu only
ALWAYS = ("copy", "edit", "regenerate", "answer", "continue")


@dataclass
class Row:
    """One message's; `name` begins the marks of what is in it, as in `message.3.copy`."""

    app: App
    message: Message
    name: str
    area: Area
    shown: bool  # whether the actions can be seen
    # Known when drawn: whether the keyboard stands on one of the buttons, and which was pressed.
    focused: bool = False
    pressed: str = ""

    def draw(self) -> None:
        buttons = self._actions() if self.shown else []
        widths = theme.px(BUTTON) * len(buttons)
        _, versions = self.app.talk.chat.versions(self.message.id)
        counter = theme.px(2 * BUTTON + COUNT_WIDTH) if len(versions) > 1 else 0.0
        left, right = self.area.x, self.area.right
        at_right = self.message.role == USER
        if counter:
            x = right - counter if at_right else left
            self._versions(x, len(versions))
            left, right = (left, x) if at_right else (x + counter + theme.px(theme.SMALL), right)
        self._buttons(right - widths, buttons)
        room = Area(left, self.area.y, max(right - widths - left, 1.0), self.area.height)
        self._meta(room, 1.0 if at_right else 0.0)

    def _actions(self) -> list[Action]:
        found = actions_of(self.message)
        if self.area.width < theme.px(LEAST_FOR_ALL):
            return [action for action in found if action.key in ALWAYS]
        return found

    def _buttons(self, x: float, actions: list[Action]) -> None:
        for number, action in enumerate(actions):
            place = x + number * theme.px(BUTTON)
            self._button(action.key, action.icon, action.label, place, action.enabled(self.app))

    def _button(self, key: str, icon: str, label: str, x: float, enabled: bool) -> None:
        imgui.set_cursor_screen_pos((x, self.area.y + theme.px((HEIGHT - BUTTON) / 2)))
        name = f"{self.name}.{key}"
        if icon_button(icon, name=name, tooltip=label, enabled=enabled, size=BUTTON):
            self.pressed = key
        self.focused = self.focused or imgui.is_item_focused()

    def _versions(self, x: float, count: int) -> None:
        place = self.app.talk.chat.versions(self.message.id)[0]
        idle = not self.app.talk.is_writing
        more = idle and place > 0
        self._button("previous", icons.CHEVRON_LEFT, "Previous version", x, more)
        middle, width = x + theme.px(BUTTON), theme.px(COUNT_WIDTH)
        with fonts.pushed(fonts.current().body, theme.CAPTION):
            area = Area(middle, self.area.y, width, self.area.height)
            text_in(area, f"{place + 1}/{count}", theme.palette().text_muted)
        more = idle and place + 1 < count
        self._button("next", icons.CHEVRON_RIGHT, "Next version", middle + width, more)

    def _meta(self, room: Area, align: float) -> None:
        text = meta_line(self.app, self.message)
        if self.shown:
            time = moment(self.message.created)
            text = f"{text}{BETWEEN}{time}" if text else time
        if text:
            with fonts.pushed(fonts.current().body, theme.CAPTION):
                text_in(room, text, theme.palette().text_muted, align, theme.TIGHT)
