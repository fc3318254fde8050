"""Where messages are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, marks, theme
from gpt2gl_ui.engine import FAILED
from gpt2gl_ui.palette import faded
from gpt2gl_ui.views.conversation import column_of
from gpt2gl_ui.views.dropping import dropped_text
from gpt2gl_ui.views.region import region
from gpt2gl_ui.views.text_box import TextBox, cleaned, line_count
from gpt2gl_ui.views.token_count import TokenCount
from gpt2gl_ui.widgets import Area, fill, outline, text_in, tooltip

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

MOST_LINES, MOST_SENT = 8, 200
PADDING, BAR, BELOW = 14, 44, 12
SEND = 32
PLACEHOLDER = "Write a message"


def draw(app: App, area: Area) -> None:
    """The field with its counter and the button that sends or stops."""
    with region("composer", area, theme.palette().background):
        app.state.kept("composer", lambda: Writing(app)).draw(app, area)


def height(app: App, width: float) -> float:
    """How high the composer is now, in pixels."""
    column = column_of(Area(0, 0, width, 0))[1]
    with fonts.pushed(fonts.current().body):
        lines = line_count(app.state.composer.text, _room(column), MOST_LINES)
        field = lines * imgui.get_text_line_height()
    return field + theme.px(PADDING) + theme.px(BAR) + theme.px(BELOW)


def _room(column: float) -> float:
    """The width that the field breaks lines at: it keeps room for a scroll bar."""
    return column - 2 * theme.px(PADDING) - imgui.get_style().scrollbar_size


def why_not(app: App) -> str:
    """Why nothing can be sent now; nothing where it can."""
    if app.is_loading:
        return "The model is still loading: your text waits here"
    if app.talk.is_writing:
        return "An answer is being written: stop it first"
    if app.engine.state == FAILED:
        return "The model could not be loaded: choose another one"
    return "" if app.is_ready else "No model is loaded: choose one first"


class Writing:
    """What is kept of the composer between frames."""

    def __init__(self, app: App) -> None:
        self.box = TextBox("composer")
        self.count = TokenCount(app.loop.wake_from_thread)
        self._known = ""  # the text as this view left it

    def draw(self, app: App, area: Area) -> None:
        x, column = column_of(area)
        frame = Area(x, area.y, column, area.height - theme.px(BELOW))
        self._take_drops(app)
        self._keys(app, _room(column))
        self._surface(frame)
        self._field(app, frame)
        self._bar(app, frame)

    def _surface(self, frame: Area) -> None:
        now, active = theme.palette(), self.box.active
        fill(frame, now.raised, theme.ROUND_LARGE)
        outline(frame, now.focus if active else now.border, theme.ROUND_LARGE, 2 if active else 1)

    def _field(self, app: App, frame: Area) -> None:
        composer, inset = app.state.composer, theme.px(PADDING)
        if composer.text is not self._known and composer.text != self._known:
            composer.text = cleaned(composer.text)
            self.box.replace(composer.text)
        imgui.set_cursor_screen_pos((frame.x + inset, frame.y + inset))
        size = frame.width - 2 * inset, frame.height - inset - theme.px(BAR)
        free = app.state.dialogue is None and app.state.renaming is None
        focus = composer.focus and free and app.state.editing is None
        with fonts.pushed(fonts.current().body):
            text = self.box.draw(composer.text, *size, focus=focus, placeholder=PLACEHOLDER)
        if focus:
            composer.focus = False
        if text != composer.text:
            composer.recalled = None
        composer.text = self._known = text

    # Keys --------------------------------------------------------------------------------------

    def _keys(self, app: App, room: float) -> None:
        """Keys that mean something else here than in any other field."""
        if self.box.take_enter():
            self.send(app)
        if self.box.take(imgui.Key.escape):
            app.talk.stop()
        with fonts.pushed(fonts.current().body):
            self._history(app, room)
        if self.box.active and imgui.get_io().key_shift and self.box.take(imgui.Key.tab):
            app.state.focus_messages = bool(app.talk.chat.path())

    def _history(self, app: App, room: float) -> None:
        composer, io = app.state.composer, imgui.get_io()
        if not self.box.active or io.key_shift or io.key_ctrl or io.key_alt:
            return
        text, keys = composer.text, (imgui.Key.up_arrow, imgui.Key.down_arrow)
        up, down = (imgui.is_key_pressed(key, False) for key in keys)
        older = composer.sent and (composer.recalled or 0) < len(composer.sent)
        if up and older and self.box.on_first_line(text, room):
            self.box.take(imgui.Key.up_arrow)
            self._recall(app, (composer.recalled or 0) + 1)
        elif down and composer.recalled and self.box.on_last_line(text, room):
            self.box.take(imgui.Key.down_arrow)
            self._recall(app, composer.recalled - 1)

    def _recall(self, app: App, number: int) -> None:
        """Show the text sent so many times ago; 0 is what was being written."""
        composer = app.state.composer
        if not composer.recalled:
            composer.kept = composer.text
        composer.recalled = number or None
        self._put(app, composer.sent[-number] if number else composer.kept)

    def _put(self, app: App, text: str) -> None:
        app.state.composer.text = self._known = text
        self.box.replace(text)

    def send(self, app: App) -> None:
        """Send what was written, or say why that cannot be; it stays then."""
        composer = app.state.composer
        text = composer.text
        if not text.strip():
            return
        if reason := why_not(app):
            app.toasts.show(reason, kind="warning")
            return
        if app.talk.send(text):
            if composer.sent[-1:] != [text]:
                composer.sent = [*composer.sent, text][-MOST_SENT:]
            composer.recalled, composer.kept = None, ""
            self._put(app, "")
            app.state.stick = True
            app.loop.wake()

    def _take_drops(self, app: App) -> None:
        if not app.state.dropped:
            return
        text, before = dropped_text(app), app.state.composer.text
        if text:
            gap = "\n" if before and not before.endswith("\n") else ""
            self._put(app, f"{before}{gap}{text}")
            app.state.composer.recalled, app.state.composer.focus = None, True

    # The lower edge ----------------------------------------------------------------------------

    def _bar(self, app: App, frame: Area) -> None:
        inset, high = theme.px(PADDING), theme.px(BAR)
        row = Area(frame.x + inset, frame.bottom - high, frame.width - 2 * inset, high)
        self._hints(app, row)
        size = theme.px(SEND)
        left = frame.right - size - theme.px(theme.SMALL)
        imgui.set_cursor_screen_pos((left, row.y + (high - size) / 2))
        if app.talk.is_writing:
            hint = "Stop writing (Esc)"
            if _round_button(icons.STOP, "composer.stop", hint, primary=True):
                app.talk.stop()
            return
        reason = why_not(app)
        ready = not reason and bool(app.state.composer.text.strip())
        if _round_button(icons.SEND, "composer.send", reason or "Send (Enter)", primary=ready):
            self.send(app)
            app.state.composer.focus = True

    def _hints(self, app: App, row: Area) -> None:
        """At the left how much was written, or why nothing can be sent."""
        now, text, full = theme.palette(), app.state.composer.text, False
        shown, reason = "", why_not(app)
        help = "Enter sends, Shift+Enter breaks the line, Up brings back what was sent"
        if app.talk.is_writing:
            shown = "Esc stops"
        elif reason:
            shown = reason
        elif text:
            shown, full = self._counted(app, text)
            help = "Tokens of this text, of those that the model’s context holds"
        else:
            shown = "Enter sends  ·  Shift+Enter breaks the line"
        room = Area(row.x, row.y, row.width - theme.px(SEND + theme.SMALL), row.height)
        imgui.set_cursor_screen_pos((room.x, room.y))
        imgui.dummy((max(room.width, 1.0), room.height))
        marks.mark("composer.tokens")
        tooltip(help)
        with fonts.pushed(fonts.current().body, theme.CAPTION):
            text_in(room, shown, now.warning if full else now.text_muted, 0.0)

    def _counted(self, app: App, text: str) -> tuple[str, bool]:
        """The number of tokens in words, and whether that is more than fits."""
        session = app.engine.session
        if session is None or session.tokenizer_or_none is None:
            return "", False
        number = self.count.of(text, session.tokenizer)
        if number is None:
            return "Counting tokens…", False
        holds = session.model.config.n_positions
        more = ": the model will see only the end of it" if number > holds else ""
        return f"{number:,} / {holds:,} tokens{more}", number > holds


def _round_button(icon: str, name: str, hint: str, *, primary: bool) -> bool:
    """A disc with an icon; quiet, but never without an answer, where there is nothing to do."""
    now, size = theme.palette(), theme.px(SEND)
    start = imgui.get_cursor_screen_pos()
    color = now.accent if primary else faded(now.control, 0.3)
    disc = Area(start.x, start.y, size, size)
    pressed = imgui.invisible_button(f"##{name}", (size, size), imgui.ButtonFlags_.enable_nav)
    marks.mark(name)
    if primary and imgui.is_item_hovered():
        color = now.accent_hover
        imgui.set_mouse_cursor(imgui.MouseCursor_.hand)
    fill(disc, color, SEND / 2)
    with fonts.pushed(fonts.current().body):
        text_in(disc, icon, now.accent_text if primary else now.text_muted)
    tooltip(hint)
    return bool(pressed)
