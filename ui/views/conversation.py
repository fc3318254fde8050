"""The messages of the open chat: laid out once, drawn where they can be seen."""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import icons, marks, theme
from gpt2gl_ui.chats.messages import Message
from gpt2gl_ui.text.pointer import take_keys
from gpt2gl_ui.text.selection import Selection
from gpt2gl_ui.text.style import TextStyle
from gpt2gl_ui.text.style import current as current_style
from gpt2gl_ui.views import message_row, welcome
from gpt2gl_ui.views.bubble import Bubble
from gpt2gl_ui.views.message_actions import menu_items, perform
from gpt2gl_ui.views.message_editor import MessageEditor
from gpt2gl_ui.views.meta import unanswered
from gpt2gl_ui.views.notices import MARKER, NOTICE, draw_marker, draw_notice, first_seen
from gpt2gl_ui.views.region import region
from gpt2gl_ui.views.token_card import Place, TokenCard
from gpt2gl_ui.views.token_walk import TokenWalk, bring_into_view
from gpt2gl_ui.widgets import Area, fill, icon_button, menu, open_menu, outline

if TYPE_CHECKING:
    from gpt2gl_ui.app import App
    from gpt2gl_ui.talk import Talk

MEASURING = 0.005  # seconds of a frame
COLUMN = 752  # points: text of at most 720, which is as wide as lines are read with ease
SIDE, TOP, BOTTOM = 24, 20, 8
NEAR_END = 24  # closer than this counts as the end
JUMP = 36
_CHILD = imgui.ChildFlags_.nav_flattened
_SCROLLS = imgui.WindowFlags_.no_saved_settings


def draw(app: App, area: Area) -> None:
    """The messages of the open chat, or an invitation where there are none."""
    with region("conversation", area, theme.palette().background):
        if not app.talk.chat.path() and app.talk.writing is None:
            app.state.hovered_token = None
            welcome.draw(app, area)
            return
        app.state.kept("transcript", Transcript).draw(app, area)


def column_of(area: Area) -> tuple[float, float]:
    """Left edge and width of the column that messages and the composer share."""
    bar = imgui.get_style().scrollbar_size
    width = min(theme.px(COLUMN), max(area.width - 2 * theme.px(SIDE), theme.px(120)))
    return area.x + round((area.width - bar - width) / 2 + bar / 2), width


class Transcript:
    """What is kept of the conversation between frames.

    Messages that cannot be seen cost a comparison each; sizes are measured again only for those
    that changed, or all when the width or the fonts did.
    """

    def __init__(self) -> None:
        self.selection = Selection()
        self.card = TokenCard()
        self.walk = TokenWalk()
        self.editor = MessageEditor()
        self.bubbles: dict[str, Bubble] = {}
        self.tops: list[float] = []
        self.total = 0.0
        self.drawn = 0  # messages drawn in the last frame
        self._talk: Talk | None = None
        self._basis: object = None
        self._guessed = False  # whether heights are not all measured yet
        self._scroll = 0.0
        self._focused: str | None = None
        self._menu_for: str | None = None
        self._pointed: Place | None = None
        self._pressed: tuple[Message, str] | None = None  # done once all is drawn

    # Layout ------------------------------------------------------------------------------------

    def draw(self, app: App, area: Area) -> None:
        if app.talk is not self._talk:
            self._begin(app.talk)
        style, path = current_style(), app.talk.chat.path()
        x, column = column_of(area)
        anchor = self._anchor()
        if imgui.get_io().mouse_wheel > 0 and imgui.is_mouse_hovering_rect(
            (area.x, area.y), (area.right, area.bottom), False
        ):
            app.state.stick = False
        self._lay_out(app, path, column, style, area.height)
        self._scroll_before(app, area.height, anchor)
        imgui.set_next_window_content_size((0.0, self.total))
        imgui.begin_child("messages", (0, 0), _CHILD, _SCROLLS)
        self._follow_user(app, area.height)
        self._messages(app, path, Area(x, area.y, column, area.height), style)
        self._keys(app)
        self._context_menu(app)
        imgui.end_child()
        self._jump_button(app, area)
        self._token_card(app)
        if self._pressed is not None:
            (message, key), self._pressed = self._pressed, None
            perform(app, message, key)

    def _begin(self, talk: Talk) -> None:
        self._talk, self._basis = talk, None
        self.bubbles, self.tops, self.total, self._scroll = {}, [], 0.0, 0.0
        self._focused = self._menu_for = None
        self.selection.clear()
        self.card.close()

    def _lay_out(
        self, app: App, path: list[Message], column: float, style: TextStyle, height: float
    ) -> None:
        editing = app.state.editing
        state = (app.talk.chat.revision, app.talk.writing, app.talk.trimmed, app.talk.finished)
        basis = (*state, len(path), column, style.metrics(), editing is not None)
        if basis == self._basis and editing is None and not self._guessed:
            return
        self._basis = basis
        self.selection.show([message.id for message in path])
        self._measure(app, path, column, style, height)
        self.tops, y = [], theme.px(TOP)
        seen = first_seen(app.talk)
        for number, message in enumerate(path):
            if number == seen:
                y += theme.px(MARKER)
            self.tops.append(y)
            y += self._height_of(app, message, column)
        self.total = y + theme.px(BOTTOM) + (theme.px(NOTICE) if unanswered(app.talk) else 0.0)

    def _measure(
        self, app: App, path: list[Message], column: float, style: TextStyle, height: float
    ) -> None:
        """Measure what will be seen, then as much of the rest as there is time for: a long
        conversation that was just opened is measured over several frames, from where it is
        looked at."""
        start, covered, self._guessed = time.perf_counter(), 0.0, False
        for message in self._from_view(app, path):
            bubble = self.bubbles.get(message.id)
            if bubble is None:
                bubble = self.bubbles[message.id] = Bubble.of(message)
            growing = app.talk.writing == message.id
            if not bubble.is_measured(message, column, style, growing):
                if covered > 2 * height and time.perf_counter() - start > MEASURING:
                    self._guessed = True
                    continue
                bubble.measure(message, column, style, growing)
            covered += bubble.whole_height
        if self._guessed:
            app.loop.wake()

    def _from_view(self, app: App, path: list[Message]) -> list[Message]:
        """The messages, those first that are on the screen."""
        if app.state.stick:
            return path[::-1]
        ids = [message.id for message in path]
        wanted, first = app.state.scroll_to, max(bisect_right(self.tops, self._scroll) - 1, 0)
        first = ids.index(wanted) if wanted in ids else first
        return path[first:] + path[:first][::-1]

    def _height_of(self, app: App, message: Message, column: float) -> float:
        """A message's whole height."""
        editing = app.state.editing
        if editing is not None and editing.id == message.id:
            return self.editor.height(app, column) + theme.px(message_row.HEIGHT)
        return self.bubbles[message.id].whole_height

    # Scrolling ---------------------------------------------------------------------------------

    def _anchor(self) -> tuple[int, float] | None:
        """The message at the upper edge, and how much of it is over the edge, of 1."""
        if not self.tops:
            return None
        number = max(bisect_right(self.tops, self._scroll) - 1, 0)
        following = self.tops[number + 1] if number + 1 < len(self.tops) else self.total
        height = max(following - self.tops[number], 1.0)
        return number, (self._scroll - self.tops[number]) / height

    def _scroll_before(self, app: App, height: float, anchor: tuple[int, float] | None) -> None:
        """Put the view where it belongs, in this frame already."""
        wanted: float | None = None
        if app.state.scroll_to is not None:
            wanted = self._place_of(app, app.state.scroll_to, height)
            app.state.scroll_to = None
        elif app.state.stick and not self.selection.dragging:
            wanted = self.total - height
        elif anchor is not None and anchor[0] < len(self.tops):
            number, share = anchor
            following = self.tops[number + 1] if number + 1 < len(self.tops) else self.total
            moved = self.tops[number] + share * (following - self.tops[number])
            # What grows below the edge moves nothing.
            wanted = moved if number + 1 < len(self.tops) and moved != self._scroll else None
        if self.selection.dragging and self.selection.scroll_wish:
            wanted = self._scroll + self.selection.scroll_wish * 0.2
        if wanted is not None:
            wanted = float(round(min(max(wanted, 0.0), max(self.total - height, 0.0))))
        # Otherwise left alone, so that the wheel and the scroll bar can move it.
        if wanted is not None and wanted != self._scroll:
            self._scroll = wanted
            imgui.set_next_window_scroll((-1.0, wanted))

    def _place_of(self, app: App, message_id: str, height: float) -> float | None:
        """Where to scroll to for a message whose beginning is not in sight."""
        ids = [message.id for message in app.talk.chat.path()]
        if message_id not in ids:
            return None
        app.state.stick = False
        top = self.tops[ids.index(message_id)] - theme.px(TOP)
        return None if self._scroll <= top <= self._scroll + height * 0.7 else top

    def _follow_user(self, app: App, height: float) -> None:
        """Scrolling up lets go of the end; coming back to it holds on again."""
        scroll, end = imgui.get_scroll_y(), max(self.total - height, 0.0)
        if end == 0.0:
            app.state.stick = True
        elif abs(scroll - self._scroll) > 0.5:
            app.state.stick = scroll >= end - theme.px(NEAR_END) and scroll >= self._scroll
        self._scroll = scroll

    def _jump_button(self, app: App, area: Area) -> None:
        if app.state.stick or self._scroll >= self.total - area.height - theme.px(2 * NEAR_END):
            return
        size, now = theme.px(JUMP), theme.palette()
        left = round(area.x + (area.width - size) / 2)
        top = area.bottom - size - theme.px(theme.MEDIUM)
        imgui.set_cursor_screen_pos((left, top))
        flags = imgui.WindowFlags_.no_decoration | imgui.WindowFlags_.no_background
        imgui.begin_child("jump", (size, size), _CHILD, flags)
        circle = Area(left, top, size, size)
        fill(circle, now.raised, JUMP / 2)
        outline(circle, now.control, JUMP / 2)
        imgui.set_cursor_screen_pos((left, top))
        hint = "To the end"
        if icon_button(icons.ARROW_DOWN, name="conversation.end", tooltip=hint, size=JUMP):
            app.state.stick = True
            app.loop.wake()
        imgui.end_child()

    # Drawing -----------------------------------------------------------------------------------

    def _messages(self, app: App, path: list[Message], view: Area, style: TextStyle) -> None:
        origin, margin = view.y - self._scroll, view.height / 4
        first = max(bisect_right(self.tops, self._scroll - margin) - 1, 0)
        self.drawn, self._pointed = 0, None
        seen, focused, self._focused = first_seen(app.talk), self._focused, None
        self.walk.begin_frame(focused)
        for number in range(first, len(path)):
            if self.tops[number] > self._scroll + view.height + margin:
                break
            self.drawn += 1
            top = origin + self.tops[number]
            place = Area(view.x, top, view.width, self.bubbles[path[number].id].height)
            if number == seen:
                draw_marker(app.talk, place)
            self._message(app, path[number], number, place, style, focused)
        if (notice := unanswered(app.talk)) and path:
            y = origin + self.total - theme.px(NOTICE + BOTTOM)
            draw_notice(app, notice, Area(view.x, y, view.width, theme.px(theme.CONTROL_HEIGHT)))
        imgui.set_cursor_pos((0.0, 0.0))
        imgui.dummy((0.0, 0.0))

    def _message(
        self,
        app: App,
        message: Message,
        number: int,
        place: Area,
        style: TextStyle,
        focused: str | None,
    ) -> None:
        bubble, name = self.bubbles[message.id], f"message.{number}"
        editing = app.state.editing
        if editing is not None and editing.id == message.id:
            height = self.editor.height(app, place.width)
            self.editor.draw(app, message, Area(place.x, place.y, place.width, height))
            return
        surface = bubble.area(place.x, place.y, place.width)
        pointed = bubble.draw(app, surface, style, self.selection, name)
        marks.place(name, (surface.x, surface.y, surface.width, surface.height))
        under = self._handle(app, message, number, surface)
        row = theme.px(message_row.HEIGHT)
        whole = Area(place.x, place.y, place.width, surface.height + row)
        hovered = _is_pointed_at(whole)
        if hovered and imgui.is_mouse_released(imgui.MouseButton_.right):
            self._open_menu(message)
        shown = hovered or under or message.id in (focused, self._menu_for)
        line = Area(place.x, surface.bottom, place.width, row)
        drawn = message_row.Row(app, message, name, line, shown)
        drawn.draw()
        if drawn.pressed:
            self._pressed = message, drawn.pressed
        if under or (drawn.focused and imgui.get_io().nav_visible):
            self._focused = message.id
        if under and self.walk.take_keys(message):
            app.state.stick = False
        at = self.walk.token_of(message, pointed.token)
        if at is not None:
            self._pointed = self._token_place(app, bubble, surface, at, style)
            if self.walk.moved and self._pointed is not None:
                bring_into_view(self._pointed.area)

    def _handle(self, app: App, message: Message, number: int, surface: Area) -> bool:
        """What the keyboard stands on to reach a message; whether it does."""
        last = number == len(self.tops) - 1
        if app.state.focus_messages and last:
            app.state.focus_messages = False
            imgui.set_keyboard_focus_here()
            imgui.set_nav_cursor_visible(True)
        imgui.set_cursor_screen_pos((surface.x, surface.y))
        size = (max(surface.width, 1.0), max(surface.height, 1.0))
        opened = imgui.invisible_button(
            f"##message.{number}", size, imgui.ButtonFlags_.enable_nav
        )
        focused = imgui.is_item_focused() and imgui.get_io().nav_visible
        key = imgui.is_key_pressed(imgui.Key.menu, False)
        if focused and (opened or key):
            self._open_menu(message)
        return bool(focused)

    def _open_menu(self, message: Message) -> None:
        self._menu_for = message.id
        open_menu("message.menu")

    def _context_menu(self, app: App) -> None:
        if self._menu_for is None:
            return
        if self._menu_for not in app.talk.chat or not imgui.is_popup_open("##message.menu"):
            self._menu_for = None
            return
        message = app.talk.chat[self._menu_for]
        chosen = menu(menu_items(app, message), name="message.menu")
        if chosen is not None:
            self._menu_for, self._pressed = None, (message, chosen)

    # Keys and tokens ---------------------------------------------------------------------------

    def _keys(self, app: App) -> None:
        if not imgui.is_window_focused(imgui.FocusedFlags_.root_and_child_windows):
            return
        chat = app.talk.chat
        take_keys(self.selection, lambda name: chat[name].text if name in chat else "")
        if not imgui.get_io().want_text_input and imgui.is_key_pressed(imgui.Key.escape, False):
            app.state.composer.focus = not self.walk.escaped
            self.selection.clear()

    def _token_place(
        self, app: App, bubble: Bubble, surface: Area, number: int, style: TextStyle
    ) -> Place | None:
        tokens = bubble.token_places(app)
        if tokens is None or number >= len(tokens.starts):
            return None
        inner, start = bubble.inner(surface), tokens.starts[number]
        layout = bubble.text.layout(inner.width, style)
        x, y, height = layout.position_of(start)
        right = layout.position_of(tokens.ends[number])
        width = right[0] - x if right[1] == y else theme.px(12)
        area = Area(inner.x + x, inner.y + y, max(width, 1.0), height)
        return Place(bubble.message.id, number, area)

    def _token_card(self, app: App) -> None:
        if self.selection.dragging or self._menu_for is not None:
            self.card.close()
            self._pointed = None
        if self.walk.token is not None and self._pointed is not None:
            self.card.hold(self._pointed)
        else:
            self.card.point(app, self._pointed)
        self.card.draw(app, self.walk)
        at = self._pointed or self.card.open
        hovered = (at.message, at.index) if at is not None else None
        if hovered != app.state.hovered_token:
            app.state.hovered_token = hovered
            app.loop.wake()


def _is_pointed_at(area: Area) -> bool:
    flags = imgui.HoveredFlags_.allow_when_blocked_by_active_item
    return imgui.is_window_hovered(flags) and imgui.is_mouse_hovering_rect(
        (area.x, area.y), (area.right, area.bottom)
    )
