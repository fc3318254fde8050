"""Notices that go away by themselves, over the lower edge of the window."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, marks, theme
from gpt2gl_ui.palette import mixed
from gpt2gl_ui.widgets import button, icon_button, status_color
from gpt2gl_ui.widgets.core import Area, fill, outline, text_in, wrapped

SECONDS, SECONDS_WITH_ACTION = 4.0, 8.0
MOST = 3
HEIGHT, GAP, WIDEST = 48, 8, 560
MOST_LINES, LONGEST = 4, 500
LEFT = theme.LARGE + 28  # room for the icon

_ICONS = {
    "neutral": icons.INFO,
    "success": icons.CHECK,
    "warning": icons.WARNING,
    "danger": icons.ERROR,
}


@dataclass(frozen=True)
class Toast:
    text: str
    kind: str
    action: str
    on_action: Callable[[], None] | None
    expires: float
    """In seconds of the clock."""
    number: int


class Toasts:
    """The notices on the screen, the newest lowest; at most `MOST` at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._toasts: list[Toast] = []
        self._count = 0

    def show(
        self,
        text: str,
        *,
        kind: str = "neutral",
        action: str = "",
        on_action: Callable[[], None] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Show a line; `kind` as of a badge, `action` is the label of a button, such as Undo."""
        stay = seconds or (SECONDS_WITH_ACTION if action else SECONDS)
        self._count += 1
        toast = Toast(text, kind, action, on_action, self._clock() + stay, self._count)
        self._toasts = [*self._toasts, toast][-MOST:]

    def visible(self) -> list[Toast]:
        """What is on the screen now."""
        now = self._clock()
        self._toasts = [toast for toast in self._toasts if toast.expires > now]
        return list(self._toasts)

    def seconds_to_change(self) -> float | None:
        """When a frame is needed to take the next one away; None when there is nothing."""
        shown = self.visible()
        return min(toast.expires for toast in shown) - self._clock() if shown else None

    def dismiss(self, toast: Toast) -> None:
        self._toasts = [each for each in self._toasts if each != toast]

    def draw(self, bottom: float = theme.WIDE, middle: float | None = None) -> None:
        """Draw them in windows of their own, `bottom` points over the window's lower edge, around
        `middle` in pixels, by default that of the window."""
        view = imgui.get_main_viewport()
        if middle is None:
            middle = view.pos.x + view.size.x / 2
        low = view.pos.y + view.size.y - theme.px(bottom)
        for toast in reversed(self.visible()):
            height = self._draw_one(toast, middle, low)
            low -= height + theme.px(GAP)

    def _draw_one(self, toast: Toast, middle: float, bottom: float) -> float:
        """Its height in pixels."""
        width = min(_width(toast), imgui.get_main_viewport().size.x - theme.px(theme.HUGE))
        lines = _lines(toast, width)
        height = theme.px(HEIGHT) + (len(lines) - 1) * _line_height()
        edge = imgui.get_main_viewport().size.x - width - theme.px(theme.SMALL)
        left = max(min(middle - width / 2, edge), theme.px(theme.SMALL))
        imgui.set_next_window_pos((round(left), bottom - height))
        imgui.set_next_window_size((width, height))
        imgui.push_style_var(imgui.StyleVar_.window_padding, (0.0, 0.0))
        imgui.begin(f"##toast{toast.number}", None, _WINDOW)
        imgui.pop_style_var()
        # A click into the window below would bring that over it.
        imgui.internal.bring_window_to_display_front(imgui.internal.get_current_window())
        if self._contents(toast, lines, width, height):
            self.dismiss(toast)
        imgui.end()
        return height

    def _contents(self, toast: Toast, lines: list[str], width: float, height: float) -> bool:
        """True when it has done its duty."""
        start, now = imgui.get_window_pos(), theme.palette()
        area = Area(start.x, start.y, width, height)
        marks.place(f"toast.{toast.number}", (area.x, area.y, area.width, area.height))
        fill(area, now.raised, theme.ROUND_LARGE)
        outline(area, mixed(now.border, now.control, 0.5), theme.ROUND_LARGE)
        text_in(area, _ICONS[toast.kind], status_color(toast.kind), 0.0, theme.LARGE)
        left, right, high = theme.px(LEFT), _right(toast), _line_height()
        top = area.y + (height - len(lines) * high) / 2
        with fonts.pushed(fonts.current().body):
            for number, line in enumerate(lines):
                place = Area(area.x + left, top + number * high, width - left - right, high)
                text_in(place, line, now.text, 0.0)
        return _buttons(toast, area)


_FLAG = imgui.WindowFlags_
_WINDOW = (
    (_FLAG.no_decoration | _FLAG.no_move | _FLAG.no_saved_settings | _FLAG.no_background)
    | (_FLAG.no_focus_on_appearing | _FLAG.no_docking)
)


def _right(toast: Toast) -> float:
    """The room that the buttons take."""
    with fonts.pushed(fonts.current().semibold):
        action = imgui.calc_text_size(toast.action).x + 2 * theme.px(theme.LARGE)
    return (action if toast.action else 0.0) + theme.px(theme.HUGE + theme.LARGE)


def _width(toast: Toast) -> float:
    with fonts.pushed(fonts.current().body):
        text = imgui.calc_text_size(toast.text).x
    return min(text + theme.px(LEFT + theme.SMALL) + _right(toast), theme.px(WIDEST))


def _lines(toast: Toast, width: float) -> list[str]:
    """The text as it is shown: what is beyond the last line is cut there."""
    with fonts.pushed(fonts.current().body):
        lines = wrapped(toast.text[:LONGEST], width - theme.px(LEFT) - _right(toast))
    return [*lines[: MOST_LINES - 1], " ".join(lines[MOST_LINES - 1 :])][: len(lines)]


def _line_height() -> float:
    with fonts.pushed(fonts.current().body):
        return float(imgui.get_text_line_height())


def _buttons(toast: Toast, area: Area) -> bool:
    top = area.y + (area.height - theme.px(theme.CONTROL_HEIGHT)) / 2
    imgui.set_cursor_screen_pos((area.right - _right(toast), top))
    pressed = False
    if toast.action:
        pressed = button(toast.action, name=f"toast.{toast.number}.action", kind="link")
        imgui.same_line(0, 0)
    imgui.set_cursor_screen_pos((area.right - theme.px(40), top))
    closed = icon_button(icons.CLOSE, name=f"toast.{toast.number}.close", tooltip="Dismiss")
    if pressed and toast.on_action:
        toast.on_action()
    return pressed or closed
