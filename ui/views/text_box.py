"""A field of several lines: imgui's own, with keys that do something else at times.

imgui keeps the text of the field that is active to itself, so that a change from outside has to
be announced (`replace`). It cannot hold a zero byte or half a surrogate pair: `cleaned` first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import marks, theme
from gpt2gl_ui.palette import faded
from gpt2gl_ui.widgets.core import elided

# What C strings and UTF-8 cannot hold; each becomes one character, so that positions stay.
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")
MEASURED = 6000  # characters: what is longer fills any field of a few lines
_FLAG = imgui.InputTextFlags_
_OWNER = 0x67705447  # who a key belongs to that is kept from the field


def cleaned(text: str) -> str:
    """The text with a replacement character for each one that imgui cannot hold."""
    if text.isascii() and "\0" not in text:
        return text
    return _IMPOSSIBLE.sub("\ufffd", text)


def line_count(text: str, width: float, most: int) -> int:
    """Lines that the current font takes for a text wrapped to `width` pixels, up to `most`."""
    if not text:
        return 1
    if len(text) > MEASURED or text.count("\n") >= most:
        return most
    height = imgui.calc_text_size(cleaned(text), False, max(width, 1.0)).y
    lines = round(height / imgui.get_text_line_height()) + text.endswith("\n")
    return max(1, min(lines, most))


@dataclass
class TextBox:
    """One field, kept from frame to frame. `cursor` counts characters; it is the last known."""

    name: str
    active: bool = False
    cursor: int = 0
    _id: int = 0
    _caret: int | None = None  # where the caret is to be put once the field is active

    def draw(
        self,
        text: str,
        width: float,
        height: float,
        *,
        focus: bool = False,
        placeholder: str = "",
        read_only: bool = False,
    ) -> str:
        """Draw at imgui's cursor, in the current font; gives the text after this frame."""
        start = imgui.get_cursor_screen_pos()
        if focus:
            imgui.set_keyboard_focus_here()
            if not self.active:
                self._caret = len(text) if self.cursor > len(text) else self.cursor
        flags = _FLAG.word_wrap | (_FLAG.read_only if read_only else 0)
        size = imgui.ImVec2(max(width, 1.0), max(height, 1.0))
        after = self._field(text, size, flags)
        marks.mark(self.name)
        self._id = imgui.get_item_id()
        self.active = imgui.is_item_active()
        if self.active:
            self._follow(after)
        if placeholder and not after:
            ink = theme.ink(theme.palette().text_muted)
            shown = elided(placeholder, width)
            imgui.get_window_draw_list().add_text((start.x, start.y), ink, shown)
        return after

    def _field(self, text: str, size: imgui.ImVec2, flags: int) -> str:
        clear, col = faded(theme.palette().raised, 0.0), imgui.Col_
        hidden = (col.frame_bg, col.frame_bg_hovered, col.frame_bg_active, col.border)
        for index in (*hidden, col.nav_cursor, col.child_bg):
            imgui.push_style_color(index, clear)
        imgui.push_style_var(imgui.StyleVar_.frame_padding, (0.0, 0.0))
        imgui.push_style_var(imgui.StyleVar_.frame_border_size, 0.0)
        _, after = imgui.input_text_multiline(f"##{self.name}", text, size, flags)
        imgui.pop_style_var(2)
        imgui.pop_style_color(len(hidden) + 2)
        return str(after)

    def _follow(self, text: str) -> None:
        state = imgui.internal.get_input_text_state(self._id)
        if state is None:
            return
        if self._caret is not None:
            self._put_caret(state, text)
        self.cursor = _characters(text, state.get_cursor_pos())

    def _put_caret(self, state: imgui.internal.InputTextState, text: str) -> None:
        place = len(text[: self._caret].encode())
        self._caret = None
        state.reload_user_buf_and_keep_selection()
        state.reload_selection_start = state.reload_selection_end = place

    def replace(self, text: str, cursor: int | None = None) -> None:
        """Announce that the next frame's text is another one; the caret goes to `cursor`, by
        default behind it."""
        self.cursor = len(text) if cursor is None else cursor
        state = imgui.internal.get_input_text_state(self._id) if self.active else None
        if state is None:
            return
        place = len(text[: self.cursor].encode())
        state.reload_user_buf_and_keep_selection()
        state.reload_selection_start = state.reload_selection_end = place
        state.cursor_follow = True

    def scroll(self) -> float:
        """How far the field is scrolled down, in pixels; call it where `draw` is called."""
        parent = imgui.internal.get_current_window().name
        inside = imgui.internal.find_window_by_name(f"{parent}/##{self.name}_{self._id:08X}")
        return float(inside.scroll.y) if inside is not None else 0.0

    def take(self, key: imgui.Key) -> bool:
        """Whether a key was pressed in the field just now; the field does not see it then."""
        if not self.active or not imgui.is_key_pressed(key, False):
            return False
        lock = imgui.internal.InputFlagsPrivate_.lock_this_frame
        imgui.internal.set_key_owner(key, _OWNER, lock)
        return True

    def take_enter(self) -> bool:
        """Whether Enter was pressed, without Shift, which breaks the line."""
        if imgui.get_io().key_shift:
            return False
        return self.take(imgui.Key.enter) or self.take(imgui.Key.keypad_enter)

    def on_first_line(self, text: str, width: float) -> bool:
        """Whether the caret has no line over it."""
        before = text[: self.cursor]
        return "\n" not in before and line_count(before, width, 2) == 1

    def on_last_line(self, text: str, width: float) -> bool:
        """Whether the caret has no line under it."""
        after = text[self.cursor :]
        return "\n" not in after and line_count(after, width, 2) == 1


def _characters(text: str, place: int) -> int:
    """How many characters the first `place` bytes are."""
    if text.isascii():
        return place
    return len(text.encode()[:place].decode(errors="ignore"))
