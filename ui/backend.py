"""pyglet's events become imgui's input, and imgui's frames become pixels.

imgui's unit is the framebuffer pixel: styles and fonts are scaled by `Window.ui_scale`, and
nothing else has to be.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from imgui_bundle import imgui, implot

from gpt2gl_ui.keys import BUTTONS, CURSORS, KEYS, MODIFIERS
from gpt2gl_ui.renderer import Colour, Renderer
from gpt2gl_ui.window import Window

LONGEST_STEP = 0.5
SHORTEST_STEP = 1e-4
# A notch of the wheel is spread over a few frames, so that the eye can follow.
WHEEL_SECONDS = 0.04
WHEEL_REST = 0.02
NOWHERE = -3.4e38


def sound(text: str) -> str:
    """Text that UTF-8 can hold: half a surrogate pair becomes the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Kind(Enum):
    """What an input event may have to wait for."""

    PRESS = auto()
    MODIFIER = auto()
    BUTTON = auto()
    MOVE = auto()
    OTHER = auto()


class Backend:
    """imgui's context for one window, and ImPlot's.

    A frame is `new_frame()`, widgets, `render()`, `window.flip()`.
    """

    def __init__(self, window: Window, clock: Callable[[], float] = time.monotonic) -> None:
        self.background: Colour = (0.0, 0.0, 0.0, 1.0)
        # Called after every input event, e.g. to ask for frames.
        self.on_input: Callable[[], None] = lambda: None
        self._clock = clock
        self._last = clock()
        self._queue: deque[tuple[Kind, Callable[[], None]]] = deque()
        self._keys: set[imgui.Key] = set()
        self._buttons: set[int] = set()
        self._pointer = (NOWHERE, NOWHERE)
        self._wheel = [0.0, 0.0]
        self._cursor: object = None
        self._in_frame = False
        self.context = imgui.create_context()
        self.plots = implot.create_context()
        self.io = imgui.get_io()
        self._configure()
        self._handlers = self._event_handlers()
        self._attach(window)
        self.renderer = Renderer()

    def new_frame(self) -> None:
        """Hand queued input to imgui and begin its frame."""
        imgui.set_current_context(self.context)
        implot.set_current_context(self.plots)
        now = self._clock()
        self.io.delta_time = min(max(now - self._last, SHORTEST_STEP), LONGEST_STEP)
        self._last = now
        self._send_queued()
        self._send_wheel()
        self.io.display_size = imgui.ImVec2(*map(float, self.window.get_framebuffer_size()))
        imgui.new_frame()
        self._in_frame = True

    def render(self) -> None:
        """End imgui's frame and draw it into the window's back buffer."""
        imgui.render()
        self._in_frame = False
        size = self.window.get_framebuffer_size()
        self.renderer.render(imgui.get_draw_data(), size, self.background)
        self._show_cursor()

    def abandon_frame(self) -> None:
        """After an error while drawing: imgui closes what was left open, nothing is shown."""
        if self._in_frame:
            self._in_frame = False
            imgui.end_frame()

    @property
    def wants_frame(self) -> bool:
        """Whether input is waiting, or goes on without events: held keys, a turning wheel."""
        held = self._keys or self._buttons
        waiting = self._queue or self.context.input_events_queue
        return bool(held or waiting or any(self._wheel))

    def move_to(self, window: Window) -> None:
        """Go on in another window with a context of its own, e.g. after this one's was lost."""
        self.window.remove_handlers(**self._handlers)
        self._attach(window)
        self.renderer.rebuild()

    def close(self) -> None:
        """Free the GL objects and imgui's context; the window stays."""
        self.window.remove_handlers(**self._handlers)
        self.renderer.close()
        implot.destroy_context(self.plots)
        imgui.destroy_context(self.context)

    def _attach(self, window: Window) -> None:
        self.window = window
        self._cursor = None
        window.push_handlers(**self._handlers)
        self.io.display_size = imgui.ImVec2(*map(float, window.get_framebuffer_size()))

    def _configure(self) -> None:
        io = self.io
        io.set_ini_filename("")
        io.set_log_filename("")
        io.config_flags |= imgui.ConfigFlags_.nav_enable_keyboard
        io.backend_flags |= imgui.BackendFlags_.has_mouse_cursors
        io.config_input_text_cursor_blink = False
        io.config_error_recovery_enable_assert = False
        io.config_error_recovery_enable_tooltip = False
        platform = imgui.get_platform_io()
        platform.platform_get_clipboard_text_fn = lambda _: (
            sound(self.window.get_clipboard_text() or "")
        )
        platform.platform_set_clipboard_text_fn = lambda _, text: (
            self.window.set_clipboard_text(text)
        )

    def _event_handlers(self) -> dict[str, Callable[..., None]]:
        return {
            "on_key_press": self._on_key_press,
            "on_key_release": self._on_key_release,
            "on_text": self._on_text,
            "on_mouse_motion": self._on_mouse_motion,
            "on_mouse_drag": self._on_mouse_motion,
            "on_mouse_enter": self._on_mouse_enter,
            "on_mouse_leave": self._on_mouse_leave,
            "on_mouse_press": self._on_mouse_press,
            "on_mouse_release": self._on_mouse_release,
            "on_mouse_scroll": self._on_mouse_scroll,
            "on_activate": self._on_activate,
            "on_deactivate": self._on_deactivate,
            "on_resize": self._on_change,
            "on_expose": self._on_change,
            "on_show": self._on_change,
            "on_file_drop": self._on_change,
            "on_scale": self._on_change,
        }

    def _put(self, kind: Kind, send: Callable[[], None]) -> None:
        self._queue.append((kind, send))
        self.on_input()

    def _send_queued(self) -> None:
        """A modifier that changes after a key was pressed waits for the next frame.

        Otherwise Shift+Enter typed within one frame reaches imgui as Enter alone, since imgui
        looks at the modifiers of the frame's end. A button that is pressed where the pointer has
        just come waits too: what others may overlap knows from the frame before that it is the
        one pointed at, and would miss a tap.
        """
        pressed = moved = False
        while self._queue:
            kind, send = self._queue[0]
            if (kind is Kind.MODIFIER and pressed) or (kind is Kind.BUTTON and moved):
                return
            pressed = pressed or kind in (Kind.PRESS, Kind.BUTTON)
            moved = moved or kind is Kind.MOVE
            self._queue.popleft()
            send()

    def _send_wheel(self) -> None:
        part = 1.0 - math.exp(-self.io.delta_time / WHEEL_SECONDS)
        moved = [left if abs(left) < WHEEL_REST else left * part for left in self._wheel]
        if any(moved):
            self._wheel = [left - step for left, step in zip(self._wheel, moved, strict=True)]
            self.io.add_mouse_wheel_event(*moved)

    def _show_cursor(self) -> None:
        wanted = imgui.get_mouse_cursor()
        if wanted == self._cursor:
            return
        self._cursor = wanted
        self.window.set_mouse_visible(wanted != imgui.MouseCursor_.none)
        name = CURSORS.get(imgui.MouseCursor_(wanted))
        self.window.set_mouse_cursor(self.window.get_system_mouse_cursor(name))

    def _on_key_press(self, symbol: int, modifiers: int) -> None:
        self._on_key(symbol, True)

    def _on_key_release(self, symbol: int, modifiers: int) -> None:
        self._on_key(symbol, False)

    def _on_key(self, symbol: int, down: bool) -> None:
        if symbol in MODIFIERS:
            for each in MODIFIERS[symbol]:
                self._put_key(Kind.MODIFIER, each, down)
        elif symbol in KEYS:
            _hold(self._keys, KEYS[symbol], down)
            self._put_key(Kind.PRESS if down else Kind.OTHER, KEYS[symbol], down)

    def _put_key(self, kind: Kind, key: imgui.Key, down: bool) -> None:
        self._put(kind, lambda: self.io.add_key_event(key, down))

    def _on_text(self, text: str) -> None:
        printable = "".join(each for each in sound(text) if each >= " " and each != "\x7f")
        if printable:
            self._put(Kind.OTHER, lambda: self.io.add_input_characters_utf8(printable))

    def _on_mouse_motion(self, x: float, y: float, *_: Any) -> None:
        place = self._place(x, y)
        kind = Kind.OTHER if place == self._pointer else Kind.MOVE
        self._pointer = place
        self._put(kind, lambda: self.io.add_mouse_pos_event(*place))

    def _on_mouse_enter(self, x: float, y: float) -> None:
        self._on_mouse_motion(x, y)

    def _on_mouse_leave(self, x: float, y: float) -> None:
        # While a button is down the drag goes on outside the window.
        if not self._buttons:
            self._pointer = (NOWHERE, NOWHERE)
            self._put(Kind.OTHER, lambda: self.io.add_mouse_pos_event(NOWHERE, NOWHERE))

    def _on_mouse_press(self, x: float, y: float, button: int, modifiers: int) -> None:
        self._on_button(x, y, button, True)

    def _on_mouse_release(self, x: float, y: float, button: int, modifiers: int) -> None:
        self._on_button(x, y, button, False)

    def _on_button(self, x: float, y: float, button: int, down: bool) -> None:
        if button in BUTTONS:
            index = BUTTONS[button]
            _hold(self._buttons, index, down)
            self._on_mouse_motion(x, y)
            kind = Kind.BUTTON if down else Kind.OTHER
            self._put(kind, lambda: self.io.add_mouse_button_event(index, down))

    def _on_mouse_scroll(self, x: float, y: float, scroll_x: float, scroll_y: float) -> None:
        self._wheel = [self._wheel[0] - scroll_x, self._wheel[1] + scroll_y]
        self.on_input()

    def _on_activate(self) -> None:
        self._put(Kind.OTHER, lambda: self.io.add_focus_event(True))

    def _on_deactivate(self) -> None:
        """Keys that are released elsewhere send nothing here; imgui lets go of them all."""
        self._keys.clear()
        self._buttons.clear()
        self._put(Kind.OTHER, lambda: self.io.add_focus_event(False))

    def _on_change(self, *_: Any) -> None:
        self.on_input()

    def _place(self, x: float, y: float) -> tuple[float, float]:
        """pyglet counts from the bottom left, in window units."""
        width, height = self.window.get_size()
        pixels = self.window.get_framebuffer_size()
        return x * pixels[0] / max(1, width), (height - 1 - y) * pixels[1] / max(1, height)


def _hold(held: set[Any], what: Any, down: bool) -> None:
    """imgui repeats held keys and scrolls under held buttons, which takes frames."""
    (held.add if down else held.discard)(what)
