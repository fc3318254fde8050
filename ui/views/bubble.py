"""One message on the screen: its size, kept until it changes, and its text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.templates import ASSISTANT, USER
from gpt2gl_ui import fonts, theme
from gpt2gl_ui.chats.messages import Message
from gpt2gl_ui.text.painting import Tokens
from gpt2gl_ui.text.pointer import Pointed
from gpt2gl_ui.text.selection import Selection
from gpt2gl_ui.text.style import TextStyle
from gpt2gl_ui.text.view import RichText
from gpt2gl_ui.views import message_row
from gpt2gl_ui.views.meta import reading
from gpt2gl_ui.views.tint import TokenMap
from gpt2gl_ui.widgets import Area, fill, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

PADDING_X, PADDING_Y = 16, 11
# Under the row of buttons: an answer is nearer to what it answers than to what is said next.
GAPS = {USER: 0, ASSISTANT: 20}
USER_SHARE = 0.86  # of the column, so that it is seen who speaks
CHARACTER = 0.42  # of the font's size: about how wide one is
FEW_LINES = 40  # a longer message is as wide as it may be


@dataclass
class Bubble:
    """A message's text with what was measured of it."""

    message: Message
    text: RichText
    tokens: TokenMap
    width: float = 0.0
    height: float = 0.0  # of the surface
    _measured: object = None

    @classmethod
    def of(cls, message: Message) -> Bubble:
        return cls(message, RichText(message.id, message.role == ASSISTANT), TokenMap())

    @property
    def whole_height(self) -> float:
        """With the row under it, and the space to the next message."""
        return self.height + theme.px(message_row.HEIGHT + GAPS[self.message.role])

    def is_measured(self, message: Message, column: float, style: TextStyle, growing: bool) -> bool:
        """Whether the size is known; if not, the height becomes one that is likely."""
        if message is self.message and self._measured == (column, style.metrics(), growing):
            return True
        if self._measured is None:
            in_line = max((column - 2 * theme.px(PADDING_X)) / (style.size * CHARACTER), 1.0)
            lines = 1 + int(len(message.text) / in_line) + message.text.count("\n")
            text = lines * round(style.size * style.line_spacing)
            self.height = text + 2 * theme.px(PADDING_Y)
        return False

    def measure(self, message: Message, column: float, style: TextStyle, growing: bool) -> None:
        """Find the size in a column."""
        basis = (column, style.metrics(), growing)
        same_text = self._measured == basis and message.text == self.message.text
        self.message, self._measured = message, basis
        if same_text:
            return
        self.text.update(message.text, streaming=growing)
        inset = 2 * theme.px(PADDING_X)
        room = column - inset if message.role == ASSISTANT else column * USER_SHARE - inset
        room = max(room, theme.px(40))
        height = self.text.height(room, style)
        if message.role == USER:
            room = self._natural_width(room, style)
            height = self.text.height(room, style)
        least = round(style.size * style.line_spacing)
        self.width = room + inset
        self.height = max(height, least) + 2 * theme.px(PADDING_Y)

    def _natural_width(self, room: float, style: TextStyle) -> float:
        boxes = self.text.layout(room, style).boxes
        flows = [box.flow for box in boxes]
        if sum(flow.line_count for flow in flows) > FEW_LINES:
            return room
        widths = [
            flow.x_of(line, flow.line_range(line)[1])
            for flow in flows
            for line in range(flow.line_count)
        ]
        # One pixel more, so that rounding breaks no line anew.
        return min(room, max(widths, default=0.0) + 1.0)

    def area(self, x: float, y: float, column: float) -> Area:
        """The surface in a column whose upper left corner is at (x, y)."""
        left = x + column - self.width if self.message.role == USER else x
        return Area(round(left), y, self.width, self.height)

    def inner(self, area: Area) -> Area:
        """Where in the surface the text is."""
        x, y = theme.px(PADDING_X), theme.px(PADDING_Y)
        return Area(area.x + x, area.y + y, area.width - 2 * x, area.height - 2 * y)

    def draw(
        self, app: App, area: Area, style: TextStyle, selection: Selection, name: str
    ) -> Pointed:
        """Draw the surface and the text; what the pointer is at in it."""
        now = theme.palette()
        color = now.user_bubble if self.message.role == USER else now.assistant_bubble
        fill(area, color, theme.ROUND_LARGE)
        inner = self.inner(area)
        if not self.message.text and app.talk.writing == self.message.id:
            with fonts.pushed(fonts.current().body):
                text_in(inner, reading(app.talk), now.text_muted, 0.0)
            return Pointed()
        imgui.set_cursor_screen_pos((inner.x, inner.y))
        tokens = app.inspector.attention_in(self.message) or self.token_places(app)
        pointed = self.text.draw(
            inner.width, style, selection, tokens, lambda link: _take_link(app, link), f"{name}."
        )
        # What a person wrote may be tinted, but was not generated token by token.
        return pointed if self.message.answer else replace(pointed, token=None)

    def token_places(self, app: App) -> Tokens | None:
        """The tokens of an answer; None for what has none."""
        answer = self.message.answer
        if answer is None or not answer.tokens:
            return None
        hovered = app.state.hovered_token
        here = hovered is not None and hovered[0] == self.message.id
        selected = hovered[1] if hovered is not None and here else None
        return self.tokens.of(answer.tokens, app.settings.token_tint, selected)


def _take_link(app: App, address: str) -> None:
    """Copied rather than opened: what a model wrote never leads out to the network by itself."""
    imgui.set_clipboard_text(address)
    app.toasts.show("The address was copied")
