"""A message as a widget: drawn at the cursor, selected with the pointer, copied."""

from __future__ import annotations

from collections.abc import Callable

from imgui_bundle import imgui

from gpt2gl_ui.text.copy_button import CopyButton, code_boxes
from gpt2gl_ui.text.document import Document, PlainDocument
from gpt2gl_ui.text.layout import Layout
from gpt2gl_ui.text.markdown import MarkdownDocument
from gpt2gl_ui.text.painting import Painter, Tokens
from gpt2gl_ui.text.pointer import Pointed, Pointer
from gpt2gl_ui.text.selection import Selection
from gpt2gl_ui.text.style import TextStyle

WEB = ("http://", "https://")


class RichText:
    """One message's text. Give it the source with `update`, then draw it in each frame."""

    def __init__(self, message: str, markdown: bool = False) -> None:
        """`message` names it in the selection; without `markdown` the text is as written."""
        self.message = message
        self.document: Document = MarkdownDocument() if markdown else PlainDocument()
        self._layout: Layout | None = None
        self._changed = 0

    @property
    def source(self) -> str:
        return self.document.source

    def update(self, source: str, streaming: bool = False) -> None:
        """Take a new source. One that only grew at its end costs as much as what was added."""
        self._changed = min(self._changed, self.document.update(source, streaming))

    def layout(self, width: float, style: TextStyle) -> Layout:
        """The layout for a width in pixels; measures with imgui's fonts, draws nothing."""
        if self._layout is None:
            self._layout, self._changed = Layout(style), 0
        self._layout.lay_out(self.document, self._changed, width, style)
        self._changed = len(self.document.blocks)
        return self._layout

    def height(self, width: float, style: TextStyle) -> float:
        """Pixels that `draw` will take."""
        return self.layout(width, style).height

    def draw(
        self,
        width: float,
        style: TextStyle,
        selection: Selection,
        tokens: Tokens | None = None,
        on_link: Callable[[str], None] | None = None,
        marks: str = "",
    ) -> Pointed:
        """Draw at imgui's cursor, as an item of `width` by `height(width, style)`.

        `on_link` gets addresses that were clicked, of http and https only. Copy buttons of code
        blocks are marked `<marks>copy-code-<n>`, counted from 0 in the message.
        """
        layout = self.layout(width, style)
        origin = imgui.get_cursor_screen_pos()
        draw = imgui.get_window_draw_list()
        low, high = draw.get_clip_rect_min(), draw.get_clip_rect_max()
        painter = Painter(layout, draw, origin.x, origin.y, low.y, high.y)
        # Before the text: of items that overlap, imgui gives the pointer to the first.
        buttons = [
            CopyButton(painter, box, f"{marks}copy-code-{box.code_number}")
            for box in code_boxes(painter)
        ]
        imgui.set_cursor_screen_pos(origin)
        size = imgui.ImVec2(max(width, 1.0), max(layout.height, 1.0))
        imgui.invisible_button(f"text-{self.message}", size)
        pointed = self._pointer(painter, selection, tokens, on_link)
        painter.paint(selection.range_in(self.message, len(self.source)), tokens)
        for button in buttons:
            button.draw()
        return pointed

    def _pointer(
        self,
        painter: Painter,
        selection: Selection,
        tokens: Tokens | None,
        on_link: Callable[[str], None] | None,
    ) -> Pointed:
        pointer = Pointer(painter, self.message, self.source, selection)
        pointer.select()
        pointed = pointer.look(tokens)
        if pointed.clicked and on_link and pointed.href.startswith(WEB):
            on_link(pointed.href)
        return pointed
