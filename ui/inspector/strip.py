"""The text as a row of tokens that can be pointed at and chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from imgui_bundle import imgui

from gpt2gl_ui import marks, theme
from gpt2gl_ui.inspector import pieces
from gpt2gl_ui.inspector.texts import Text
from gpt2gl_ui.palette import Color
from gpt2gl_ui.widgets import Area, available_width, fill, outline

HEIGHT, INSET = 22, 4
MOST_ROWS = 4  # then it scrolls


@dataclass
class Layout:
    """Where each token stands, from the top left."""

    key: object = None
    places: list[tuple[float, int, float]] = field(default_factory=list)  # x, row, width

    @property
    def rows(self) -> int:
        return self.places[-1][1] + 1 if self.places else 0


@dataclass(frozen=True)
class Pointed:
    hovered: int | None
    clicked: int | None


class Strip:
    """Keeps its layout from frame to frame."""

    def __init__(self) -> None:
        self.layout = Layout()

    def draw(
        self,
        name: str,
        text: Text,
        selected: int | None,
        tint: Callable[[int], Color | None] = lambda position: None,
    ) -> Pointed:
        """All tokens of a text; `tint` gives what is behind one."""
        with pieces.small():
            return self._draw(name, text, selected, tint)

    def _draw(
        self, name: str, text: Text, selected: int | None, tint: Callable[[int], Color | None]
    ) -> Pointed:
        width = available_width() - theme.px(theme.MEDIUM)
        self._arrange(text, width)
        tall = theme.px(HEIGHT)
        rows = min(max(self.layout.rows, 1), MOST_ROWS)
        more = self.layout.rows > MOST_ROWS
        imgui.begin_child(f"##{name}", (0.0, rows * tall + (tall / 2 if more else 0)))
        start = imgui.get_cursor_screen_pos()
        area, at = pieces.touch(f"{name}.tokens", width, self.layout.rows * tall)
        hovered = None
        low, high = imgui.get_scroll_y(), imgui.get_scroll_y() + imgui.get_window_height()
        pointer = imgui.get_mouse_pos()
        for position, (x, row, wide) in enumerate(self.layout.places):
            if not low - tall <= row * tall <= high:
                continue
            place = Area(start.x + x, start.y + row * tall, wide, tall - theme.px(2))
            if at is not None and _holds(place, pointer.x, pointer.y):
                hovered = position
            self._token(place, text.label(position), tint(position), position == selected)
            marks.place(f"{name}.{position}", (place.x, place.y, place.width, place.height))
        imgui.end_child()
        return Pointed(hovered, hovered if area.clicked else None)

    @staticmethod
    def _token(place: Area, label: str, behind: Color | None, is_selected: bool) -> None:
        now = theme.palette()
        if behind is not None:
            fill(place, behind, 3)
        if is_selected:
            outline(place, now.accent, 3, 1.5)
        y = place.y + (place.height - imgui.get_text_line_height()) / 2
        draw = imgui.get_window_draw_list()
        draw.add_text((place.x + theme.px(INSET), round(y)), theme.ink(now.text), label)

    def _arrange(self, text: Text, width: float) -> None:
        key = (text.tokens, width, imgui.get_font_size())
        if key == self.layout.key:
            return
        self.layout = Layout(key)
        x, row = 0.0, 0
        for position in range(len(text.tokens)):
            wide = imgui.calc_text_size(text.label(position)).x + 2 * theme.px(INSET)
            if x and x + wide > width:
                x, row = 0.0, row + 1
            self.layout.places.append((x, row, min(wide, width)))
            x += wide + theme.px(1)


def _holds(area: Area, x: float, y: float) -> bool:
    return area.x <= x < area.right and area.y <= y < area.bottom
