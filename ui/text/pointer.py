"""The pointer over a message's text: selecting, and what it points at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui.text.painting import Painter, Tokens
from gpt2gl_ui.text.selection import Place, Selection, paragraph_at, word_at

Spread = Callable[[str, int], tuple[int, int]]
# What so many clicks in a row select.
SPREADS: dict[int, Spread] = {2: word_at, 3: paragraph_at}


@dataclass(frozen=True)
class Pointed:
    """What the pointer is at. `index` and `token` are None beside the text.

    `clicked`: the button went up where it went down, and nothing got selected by it.
    """

    hovered: bool = False
    index: int | None = None
    token: int | None = None
    href: str = ""
    clicked: bool = False


@dataclass(frozen=True)
class Pointer:
    """Used right after the message's own imgui item."""

    painter: Painter
    message: str
    source: str
    selection: Selection

    def _inside(self) -> tuple[float, float]:
        """The pointer from the message's corner."""
        mouse = imgui.get_mouse_pos()
        return mouse.x - self.painter.x, mouse.y - self.painter.y

    def select(self) -> None:
        """Start a selection here, or take part in one that is being made."""
        if imgui.is_item_activated():
            self._press()
        selection = self.selection
        selection.dragging = selection.dragging and imgui.is_mouse_down(imgui.MouseButton_.left)
        if selection.dragging:
            self._drag()

    def _press(self) -> None:
        x, y = self._inside()
        place = Place(self.message, self.painter.layout.index_at(x, y))
        clicks = imgui.get_mouse_clicked_count(imgui.MouseButton_.left)
        if imgui.get_io().key_shift:
            self.selection.extend(place)
        elif clicks >= min(SPREADS):
            self._spread(SPREADS[min(clicks, max(SPREADS))], x, y)
        else:
            self.selection.start(place)
        self.selection.dragging = clicks < min(SPREADS)

    def _spread(self, spread: Spread, x: float, y: float) -> None:
        layout = self.painter.layout
        found = layout.character_at(x, y)
        index = found[2] if found else layout.index_at(x, y)
        self.selection.select(self.message, *spread(self.source, index))

    def _drag(self) -> None:
        """Bring the end here when the pointer is in this message, or below all drawn so far.

        Messages are drawn from the top down: the last that starts above the pointer gets it.
        """
        selection, frame, mouse = self.selection, imgui.get_frame_count(), imgui.get_mouse_pos()
        top, bottom = self.painter.top, self.painter.bottom
        first = selection.frame != frame
        if first:
            selection.frame = frame
            selection.scroll_wish = mouse.y - min(max(mouse.y, top), bottom)
        y = min(max(mouse.y, top), bottom - 1) - self.painter.y
        if first or y >= 0:
            index = self.painter.layout.index_at(mouse.x - self.painter.x, max(y, 0.0))
            selection.extend(Place(self.message, 0 if y < 0 else index))

    def look(self, tokens: Tokens | None) -> Pointed:
        """What is under the pointer; shows the pointer's shape for it."""
        if not imgui.is_item_hovered():
            return Pointed()
        found = self.painter.layout.character_at(*self._inside())
        clicked = self._clicked()
        if found is None:
            imgui.set_mouse_cursor(imgui.MouseCursor_.text_input)
            return Pointed(hovered=True, clicked=clicked)
        _, piece, index = found
        shape = imgui.MouseCursor_.hand if piece.run.href else imgui.MouseCursor_.text_input
        imgui.set_mouse_cursor(shape)
        token = tokens.at(index) if tokens else None
        return Pointed(True, index, token, piece.run.href, clicked)

    def _clicked(self) -> bool:
        return imgui.is_item_deactivated() and self.selection.ends() is None


def take_keys(selection: Selection, source_of: Callable[[str], str]) -> bool:
    """Ctrl+C copies the selection, Ctrl+A selects all of its message; call once in a frame.

    Left alone while a text field has the keyboard. True when a key was used.
    """
    if imgui.get_io().want_text_input:
        return False
    control = imgui.Key.mod_ctrl
    if imgui.is_key_chord_pressed(control | imgui.Key.c) and (text := selection.text(source_of)):
        imgui.set_clipboard_text(text)
        return True
    if imgui.is_key_chord_pressed(control | imgui.Key.a) and selection.head:
        message = selection.head.message
        selection.select(message, 0, len(source_of(message)))
        return True
    return False
