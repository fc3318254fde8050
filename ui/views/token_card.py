"""The card of a token: how likely it was, and what could have come instead."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, marks, theme
from gpt2gl_ui.chats.messages import NO_TOKEN, Alternative, TokenInfo
from gpt2gl_ui.views.tint import own_probability
from gpt2gl_ui.views.token_walk import TokenWalk
from gpt2gl_ui.widgets import Area, fill, muted, outline, pressable, text_in, title

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

REST_SECONDS = 0.4  # how long the pointer has to rest on a token
WIDTH, HEIGHT, ROW, LABEL, FIGURE, BAR = 340, 380, 24, 112, 60, 4
MARGIN = 8
CLICK = "Click another one to go on from there."
WAIT = "Another one can be taken once nothing is written."
# What a token's white space is shown as.
_SHOWN = str.maketrans({" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\0": "␀"})
_FLAG = imgui.WindowFlags_
_WINDOW = (
    (_FLAG.no_decoration | _FLAG.no_move | _FLAG.no_saved_settings | _FLAG.always_auto_resize)
    | (_FLAG.no_focus_on_appearing | _FLAG.no_docking | _FLAG.no_nav)
)


def shown(text: str) -> str:
    """A token's text on one line, with white space as signs; what is no text as its place."""
    visible = text.translate(_SHOWN)
    whole = "".join(each if each.isprintable() else "\ufffd" for each in visible)
    return whole or "(part of a character)"


@dataclass(frozen=True)
class Place:
    """A token of a message and its rectangle on the screen."""

    message: str
    index: int
    area: Area


class TokenCard:
    """At most one; it opens where the pointer rests, and stays while the pointer is on it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rests: Place | None = None
        self._since = 0.0
        self.open: Place | None = None
        self._window: Area | None = None

    def point(self, app: App, place: Place | None) -> None:
        """Tell once in a frame which token the pointer is at."""
        if self.open is not None and place is None and self._pointer_stays():
            return
        same = place is not None and self._rests is not None and place.index == self._rests.index
        if place is None or not same or place.message != getattr(self._rests, "message", None):
            self._since, self.open = self._clock(), None
            if place is not None:
                app.loop.request_at(app.loop.clock() + REST_SECONDS + 0.01)
        self._rests = place
        if place is not None and self._clock() - self._since >= REST_SECONDS:
            self.open = place

    def close(self) -> None:
        self.open = self._rests = self._window = None

    def _pointer_stays(self) -> bool:
        """On the card, or on the way from the token to it."""
        if self.open is None or self._window is None:
            return False
        token, card, mouse = self.open.area, self._window, imgui.get_mouse_pos()
        left, right = min(token.x, card.x), max(token.right, card.right)
        top, bottom = min(token.y, card.y), max(token.bottom, card.bottom)
        on_card = card.x <= mouse.x <= card.right and card.y <= mouse.y <= card.bottom
        near = token.x - MARGIN <= mouse.x <= token.right + MARGIN
        between = left <= mouse.x <= right and top <= mouse.y <= bottom and near
        return on_card or between

    def hold(self, place: Place) -> None:
        """Open it at a token without waiting, for the keyboard."""
        self.open = self._rests = place

    def draw(self, app: App, walk: TokenWalk) -> None:
        """Draw the card if one is open; takes an alternative that was pressed, or chosen by
        `walk`."""
        token = self._token(app)
        if self.open is None or token is None:
            self._window = None
            return
        chosen = self._draw(app, self.open, token, walk)
        if chosen is not None:
            place = self.open
            self.close()
            app.state.stick = True
            app.talk.take_instead(place.message, place.index, chosen)

    def _token(self, app: App) -> TokenInfo | None:
        if self.open is None or self.open.message not in app.talk.chat:
            return None
        answer = app.talk.chat[self.open.message].answer
        if answer is None or self.open.index >= len(answer.tokens):
            return None
        token = answer.tokens[self.open.index]
        return None if token.id == NO_TOKEN else token

    def _draw(
        self, app: App, place: Place, token: TokenInfo, walk: TokenWalk
    ) -> Alternative | None:
        self._place_window(place.area)
        imgui.push_style_color(imgui.Col_.window_bg, theme.palette().raised)
        imgui.push_style_var(imgui.StyleVar_.window_rounding, theme.px(theme.ROUND_LARGE))
        imgui.push_style_var(imgui.StyleVar_.window_border_size, theme.px(1))
        inset = theme.px(theme.MEDIUM)
        imgui.push_style_var(imgui.StyleVar_.window_padding, (inset, inset))
        imgui.begin("##token.card", None, _WINDOW)
        imgui.pop_style_var(3)
        imgui.pop_style_color()
        imgui.internal.bring_window_to_display_front(imgui.internal.get_current_window())
        low, size = imgui.get_window_pos(), imgui.get_window_size()
        self._window = Area(low.x, low.y, size.x, size.y)
        marks.place("token.card", (low.x, low.y, size.x, size.y))
        chosen = _contents(app, token, walk)
        imgui.end()
        return chosen

    def _place_window(self, token: Area) -> None:
        """Under the token, over it, or beside it: wherever there is room."""
        view, gap = imgui.get_main_viewport(), theme.px(2)
        width = theme.px(WIDTH + 2 * theme.MEDIUM)
        height = self._window.height if self._window is not None else theme.px(HEIGHT)
        right, bottom = view.pos.x + view.size.x, view.pos.y + view.size.y
        x, y = min(token.x, right - width - theme.px(MARGIN)), token.bottom + gap
        if y + height > bottom and token.y - gap - height > view.pos.y:
            y = token.y - gap - height
        elif y + height > bottom:
            y = bottom - height - gap
            x = token.right + gap if token.right + gap + width < right else token.x - width - gap
        imgui.set_next_window_pos((max(x, view.pos.x), max(y, view.pos.y)))


def _contents(app: App, token: TokenInfo, walk: TokenWalk) -> Alternative | None:
    title(shown(token.text), theme.BODY)
    facts = [f"Probability {_percent(own_probability(token))}"]
    if token.entropy is not None:
        facts.append(f"{token.entropy:.1f} bits of choice")
    muted("  ·  ".join(facts), theme.CAPTION)
    if not token.alternatives:
        muted("Its alternatives were not recorded.", theme.CAPTION)
        return None
    imgui.dummy((theme.px(WIDTH), theme.px(2)))
    imgui.push_style_var(imgui.StyleVar_.item_spacing, (0.0, theme.px(1)))
    chosen = None
    for number, each in enumerate(token.alternatives):
        taken = each.id == token.id
        stood_on = number == walk.choice
        pressed = _row(each, number, taken, app.talk.can_write, stood_on)
        if pressed or (stood_on and walk.taken and app.talk.can_write and not taken):
            chosen = each
    imgui.pop_style_var()
    _legend(app, walk.token is not None)
    return chosen


def _row(
    alternative: Alternative, number: int, taken: bool, enabled: bool, stood_on: bool
) -> bool:
    """True when this one was pressed to be taken; `stood_on` by the keyboard."""
    now = theme.palette()
    area = pressable(f"token.alternative.{number}", theme.px(WIDTH), theme.px(ROW))
    usable = enabled and not taken
    if area.hovered and usable:
        fill(area, now.hover, theme.ROUND_SMALL)
    if stood_on:
        fill(area, now.hover, theme.ROUND_SMALL)
        outline(area, now.focus, theme.ROUND_SMALL, 2)
    elif taken:
        outline(area, now.accent, theme.ROUND_SMALL)
    label = Area(area.x, area.y, theme.px(LABEL), area.height)
    with fonts.pushed(fonts.current().mono, theme.CAPTION):
        excluded = alternative.kept <= 0
        text_in(label, shown(alternative.text), now.text_muted if excluded else now.text, 0.0, 6)
        text_in(area, _percent(alternative.probability), now.text_muted, 1.0, 6)
    _bars(area, alternative)
    return area.clicked and usable


def _bars(area: Area, alternative: Alternative) -> None:
    now, high = theme.palette(), theme.px(BAR)
    x = area.x + theme.px(LABEL + theme.SMALL)
    room = area.right - theme.px(FIGURE + theme.SMALL) - x
    middle = area.y + area.height / 2
    for y, share, color in (
        (middle - high - 1, alternative.probability, now.accent),
        (middle + 1, alternative.kept, now.success),
    ):
        fill(Area(x, y, room, high), now.pressed, BAR / 2)
        if share > 0:
            fill(Area(x, y, max(room * min(share, 1.0), high), high), color, BAR / 2)


def _legend(app: App, by_key: bool) -> None:
    """What the bars are, in their colours."""
    now = theme.palette()
    imgui.dummy((0, theme.px(2)))
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        for text, color in (("the model", now.accent), ("after sampling options", now.success)):
            start, high = imgui.get_cursor_screen_pos(), imgui.get_text_line_height()
            fill(Area(start.x, start.y + high * 0.35, theme.px(10), theme.px(BAR)), color, 2)
            imgui.set_cursor_screen_pos((start.x + theme.px(16), start.y))
            imgui.text_colored(now.text_muted, text)
            imgui.same_line(0, theme.px(theme.LARGE))
        imgui.new_line()
    hint = "Up and Down choose, Enter goes on from there." if by_key else CLICK
    muted(hint if app.talk.can_write else WAIT, theme.CAPTION)


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %" if share >= 0.001 or share == 0 else "< 0.1 %"
