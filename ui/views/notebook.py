"""Free text that the model continues where the cursor stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.chats.notebook import Notebook
from gpt2gl_ui.views.composer import why_not
from gpt2gl_ui.views.conversation import column_of
from gpt2gl_ui.views.dropping import dropped_text
from gpt2gl_ui.views.line_breaks import Interval, LineBreaks
from gpt2gl_ui.views.meta import BETWEEN, REASONS, dropped_tokens, reading
from gpt2gl_ui.views.region import region
from gpt2gl_ui.views.text_box import TextBox, cleaned
from gpt2gl_ui.views.token_count import TokenCount
from gpt2gl_ui.widgets import Area, button, fill, outline, text_in

if TYPE_CHECKING:
    from gpt2gl_ui.app import App
    from gpt2gl_ui.talk import Talk

PADDING, TOP, BAR, BELOW = 20, 16, 48, 12
MOST_UNDONE = 50
PLACEHOLDER = "Write a beginning, then press Ctrl+Enter to have it continued"


def draw(app: App, area: Area) -> None:
    """The editor with its buttons."""
    with region("notebook", area, theme.palette().background):
        app.state.kept("notebook", lambda: Editor(app)).draw(app, area)


@dataclass(frozen=True)
class Written:
    """What one generation added, and where."""

    start: int
    text: str


class Editor:
    """What is kept of the notebook between frames."""

    def __init__(self, app: App) -> None:
        self.box = TextBox("notebook")
        self.breaks = LineBreaks()
        self.count = TokenCount(app.loop.wake_from_thread)
        self.undone: list[Written] = []
        self._talk: Talk | None = None
        self._known = ""
        self._begun: int | None = None  # where the generation under way began
        self._focus = True
        self._spans: object = None
        self._generated: list[Interval] = []

    @property
    def _document(self) -> Notebook:
        assert self._talk is not None
        return self._talk.chat.notebook

    def draw(self, app: App, area: Area) -> None:
        if app.talk is not self._talk:
            self._begin(app.talk)
        x, column = column_of(area)
        top, high = area.y + theme.px(TOP), theme.px(BAR)
        frame = Area(x, top, column, area.bottom - top - high - theme.px(BELOW))
        self._take_drops(app)
        self._keys(app)
        self._note_generation(app)
        now, active = theme.palette(), self.box.active
        fill(frame, now.raised, theme.ROUND_LARGE)
        outline(frame, now.focus if active else now.border, theme.ROUND_LARGE, 2 if active else 1)
        self._field(app, frame)
        self._bar(app, Area(x, frame.bottom + theme.px(6), column, high))

    def _begin(self, talk: Talk) -> None:
        self._talk, self._known = talk, cleaned(talk.chat.notebook.text)
        self.box.replace(self._known)
        self.undone, self._begun, self._focus = [], None, True

    # The text ----------------------------------------------------------------------------------

    def _field(self, app: App, frame: Area) -> None:
        text, inset = cleaned(self._document.text), theme.px(PADDING)
        if text is not self._known and text != self._known:
            self.box.replace(text, app.talk.cursor if self._begun is not None else self.box.cursor)
        inner = Area(
            frame.x + inset, frame.y + inset / 2, frame.width - 1.5 * inset, frame.height - inset
        )
        imgui.set_cursor_screen_pos((inner.x, inner.y))
        focus = (self._focus or app.state.composer.focus) and app.state.dialogue is None
        if focus:
            self._focus = app.state.composer.focus = False
        with fonts.pushed(fonts.current().body):
            size = inner.width, inner.height
            after = self.box.draw(
                text,
                *size,
                focus=focus,
                placeholder=PLACEHOLDER,
                read_only=app.talk.is_writing,
            )
            if after != text and not app.talk.is_writing:
                self._document.apply_edit(after, self.box.cursor)
                app.talk.chat.touch()
                app.chat_changed(app.talk.chat)
            self._known = after
            self._tint(after, inner)

    def _tint(self, text: str, inner: Area) -> None:
        """Behind what the model wrote. The field's text is drawn over it: its window comes later
        than this one's own shapes."""
        generated = self._intervals()
        if not generated:
            return
        self.breaks.update(text, max(inner.width - imgui.get_style().scrollbar_size, 1.0))
        scroll, high = self.box.scroll(), imgui.get_font_size()
        first = max(int(scroll / high), 0)
        last = min(int((scroll + inner.height) / high) + 1, len(self.breaks.starts))
        draw, ink = imgui.get_window_draw_list(), theme.ink(theme.palette().generated)
        draw.push_clip_rect((inner.x, inner.y), (inner.right, inner.bottom), True)
        for line, left, right in self.breaks.pieces(generated, range(first, last)):
            y = inner.y + line * high - scroll
            draw.add_rect_filled((inner.x + left, y), (inner.x + right, y + high), ink)
        draw.pop_clip_rect()

    def _intervals(self) -> list[Interval]:
        spans = self._document.spans
        if spans is not self._spans:
            self._spans, self._generated, at = spans, [], 0
            for span in spans:
                if span.generated:
                    self._generated.append((at, at + len(span.text)))
                at += len(span.text)
        return self._generated

    # Writing -----------------------------------------------------------------------------------

    def _keys(self, app: App) -> None:
        if imgui.get_io().key_ctrl and self.box.take_enter():
            self.write_on(app)
        if self.box.take(imgui.Key.escape):
            app.talk.stop()

    def write_on(self, app: App) -> None:
        """Have the text continued at the cursor, or say why that cannot be."""
        if reason := why_not(app):
            app.toasts.show(reason, kind="warning")
            return
        self._begun = min(self.box.cursor, len(self._document.text))
        app.talk.write_on(self._begun)
        self._focus = True

    def _note_generation(self, app: App) -> None:
        """Once a generation has ended, remember it to be undone."""
        if self._begun is None or app.talk.is_writing:
            return
        text = self._document.text[self._begun : app.talk.cursor]
        if text:
            self.undone = [*self.undone, Written(self._begun, text)][-MOST_UNDONE:]
        self._begun = None

    def undo(self, app: App) -> None:
        """Take out what the last generation wrote, wherever it stands by now."""
        last, text = self.undone.pop(), self._document.text
        start = last.start if text.startswith(last.text, last.start) else text.find(last.text)
        if start < 0:
            app.toasts.show("That text was changed since: Ctrl+Z undoes step by step")
            return
        self._document.apply_edit(text[:start] + text[start + len(last.text) :], start)
        self.box.cursor, self._focus = start, True
        app.talk.chat.touch()
        app.chat_changed(app.talk.chat)

    def _take_drops(self, app: App) -> None:
        if not app.state.dropped or app.talk.is_writing:
            return
        text, whole = dropped_text(app), self._document.text
        at = min(self.box.cursor, len(whole))
        if text:
            self._document.apply_edit(whole[:at] + text + whole[at:], at + len(text))
            self.box.cursor, self._focus = at + len(text), True
            app.talk.chat.touch()
            app.chat_changed(app.talk.chat)

    # The lower edge ----------------------------------------------------------------------------

    def _bar(self, app: App, row: Area) -> None:
        right = row.right
        writing = app.talk.is_writing
        label = "Stop" if writing else "Continue"
        icon = icons.STOP if writing else icons.CONTINUE
        right = _place_left_of(right, row, f"{icon}  {label}")
        hint = "Esc" if writing else "Ctrl+Enter"
        if button(label, name="notebook.continue", kind="primary", icon=icon, tooltip=hint):
            if writing:
                app.talk.stop()
            else:
                self.write_on(app)
        if self.undone and not writing:
            right = _place_left_of(right - theme.px(8), row, f"{icons.UNDO}  Undo generation")
            if button("Undo generation", name="notebook.undo", kind="ghost", icon=icons.UNDO):
                self.undo(app)
        room = Area(row.x, row.y, max(right - row.x - theme.px(8), 1.0), theme.px(36))
        with fonts.pushed(fonts.current().body, theme.CAPTION):
            text_in(room, self._status(app), theme.palette().text_muted, 0.0, theme.TIGHT)

    def _status(self, app: App) -> str:
        """How long the text is, what is going on, and how the last generation ended."""
        if app.talk.is_writing:
            return reading(app.talk) if app.talk.working is not None else "Writing…"
        parts = [self._counted(app), why_not(app)]
        finished = app.talk.finished
        if finished is not None:
            ended = "nothing was written" if not finished.new_tokens else ""
            parts.append(REASONS.get(finished.reason, ended))
        if dropped := dropped_tokens(app.talk):
            parts.append(f"context full: {dropped:,} tokens dropped")
        return BETWEEN.join(part for part in parts if part)

    def _counted(self, app: App) -> str:
        session = app.engine.session
        if session is None or session.tokenizer_or_none is None:
            return ""
        number = self.count.of(self._document.text, session.tokenizer)
        if number is None:
            return "Counting tokens…"
        return f"{number:,} / {session.model.config.n_positions:,} tokens"


def _place_left_of(right: float, row: Area, label: str) -> float:
    """Put imgui's cursor where a button with this label ends at `right`; gives its left edge."""
    with fonts.pushed(fonts.current().semibold):
        width = imgui.calc_text_size(label).x + 2 * theme.px(theme.LARGE)
    imgui.set_cursor_screen_pos((right - width, row.y))
    return float(right - width)
