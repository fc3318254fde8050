"""The button that copies a code block, in the block's upper right corner."""

from __future__ import annotations

from imgui_bundle import imgui

from gpt2gl_ui.marks import mark
from gpt2gl_ui.text.layout import Box
from gpt2gl_ui.text.painting import Painter

LABEL, DONE = "Copy", "Copied"
# In points.
HEIGHT, PADDING, MARGIN, ROUNDING = 24, 8, 5, 6


def code_boxes(painter: Painter) -> list[Box]:
    """The code blocks that can be seen."""
    top, bottom = painter.top - painter.y, painter.bottom - painter.y
    return [box for box in painter.layout.visible(top, bottom) if box.block.kind == "code"]


class CopyButton:
    """Takes the click when made, and is drawn later, above the text."""

    def __init__(self, painter: Painter, box: Box, name: str) -> None:
        style, px = painter.style, painter.style.px
        face = style.small_face()
        right = painter.x + painter.layout.width - px(MARGIN)
        width = face.width(DONE) + 2 * px(PADDING)
        # It stays in sight while any of a long block is.
        y = max(painter.y + box.top, min(painter.top, painter.y + box.bottom - px(HEIGHT + MARGIN)))
        self.painter, self.face = painter, face
        self.low = imgui.ImVec2(right - width, y + px(MARGIN))
        self.high = imgui.ImVec2(right, self.low.y + px(HEIGHT))
        imgui.set_cursor_screen_pos(self.low)
        if imgui.invisible_button(name, imgui.ImVec2(width, px(HEIGHT))):
            imgui.set_clipboard_text(box.block.text)
        mark(name)
        self.hovered, self.held = imgui.is_item_hovered(), imgui.is_item_active()
        if self.hovered:
            imgui.set_mouse_cursor(imgui.MouseCursor_.hand)

    def draw(self) -> None:
        colours, px = self.painter.style.colours, self.painter.style.px
        if self.hovered:
            self.painter.draw.add_rect_filled(self.low, self.high, colours.border, px(ROUNDING))
        label = DONE if self.held else LABEL
        x = round((self.low.x + self.high.x - self.face.width(label)) / 2)
        y = round((self.low.y + self.high.y - self.face.size) / 2)
        colour = colours.text if self.hovered else colours.muted
        place = imgui.ImVec2(x, y)
        self.painter.draw.add_text(self.face.font, self.face.size, place, colour, label)
