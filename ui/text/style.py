"""Fonts, sizes and colours of a message, and how wide characters are in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from imgui_bundle import imgui

from gpt2gl_ui import fonts, theme
from gpt2gl_ui.text.document import Block, Run

REPLACEMENT = "\ufffd"
TAB = "    "
HEADING_SCALES = {1: 1.45, 2: 1.25, 3: 1.1}


@dataclass(frozen=True)
class Colours:
    """For draw lists, as `imgui.get_color_u32` gives them."""

    text: int
    muted: int
    link: int
    code_background: int
    selection: int
    ring: int
    border: int


@dataclass(frozen=True)
class TextStyle:
    """How text looks. `size` is the font size in pixels, as imgui counts it.

    A change of anything but the colours lays text out again; `generation` is there to say that
    fonts have got new characters. Without an `italic` font italics are drawn in the muted colour.
    """

    body: imgui.ImFont
    semibold: imgui.ImFont
    mono: imgui.ImFont
    size: float
    colours: Colours
    italic: imgui.ImFont | None = None
    line_spacing: float = 1.25
    scale: float = 1.0
    generation: int = 0

    def metrics(self) -> tuple[Any, ...]:
        """What the layout depends on."""
        faces = (self.body, self.semibold, self.mono, self.italic)
        return (*faces, self.size, self.line_spacing, self.scale, self.generation)

    def px(self, points: float) -> float:
        return max(1.0, float(round(points * self.scale)))

    def size_of(self, block: Block) -> float:
        if block.kind == "code":
            return self.size * 0.92
        return self.size * (HEADING_SCALES.get(block.level, 1.0) if block.level else 1.0)

    def line_height(self, block: Block) -> float:
        return float(round(self.size_of(block) * self.line_spacing))

    def small_face(self) -> Face:
        """For labels on buttons."""
        return face_of(self.body, self.size * 0.8, self.generation)

    def face(self, block: Block, run: Run) -> Face:
        size = self.size_of(block)
        if run.code:
            inline = 1.0 if block.kind == "code" else 0.92
            return face_of(self.mono, size * inline, self.generation)
        if run.bold or block.kind == "heading":
            return face_of(self.semibold, size, self.generation)
        chosen = self.italic if run.italic and self.italic else self.body
        return face_of(chosen, size, self.generation)


class Widths(dict[str, float]):
    """Pixels from the start of a character to its end, measured when first asked for."""

    def __init__(self, face: Face) -> None:
        super().__init__()
        self.face = face

    def __missing__(self, character: str) -> float:
        # imgui keeps baked sizes for the frame only.
        baked = self.face.font.get_font_baked(self.face.size)
        shown = self.face[ord(character)]
        self[character] = width = float(sum(baked.get_char_advance(ord(each)) for each in shown))
        return width


class Face(dict[int, str]):
    """A font in a size: maps characters to what is drawn for them, and knows their widths.

    Used with `str.translate`. imgui ends a text at a zero byte and breaks it at a newline, so that
    control characters are replaced; what joins or modifies others is left out when the font lacks
    it; a tab is four spaces. A character is hashed by its code point.
    """

    def __init__(self, font: imgui.ImFont, size: float) -> None:
        super().__init__({9: TAB, 10: "", 13: ""})
        # imgui bakes whole sizes only, and would stretch the glyphs to others.
        self.font, self.size = font, float(max(round(size), 1))
        self.widths = Widths(self)
        self.ascent = float(font.get_font_baked(self.size).ascent)

    def __missing__(self, code: int) -> str:
        self[code] = shown = self._shown(code)
        return shown

    def _shown(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        if category in ("Mn", "Me", "Cf") and not self.font.is_glyph_in_font(code):
            return ""
        return REPLACEMENT if category in ("Cc", "Cs", "Zl", "Zp") else chr(code)

    def shown(self, text: str) -> str:
        return text if text.isascii() and text.isprintable() else text.translate(self)

    def advances(self, text: str) -> Iterator[float]:
        """The width of each character in pixels."""
        return map(self.widths.__getitem__, text)

    def width(self, text: str) -> float:
        """Pixels from the start of a text to its end."""
        return sum(self.advances(text))


@lru_cache(maxsize=64)
def face_of(font: imgui.ImFont, size: float, generation: int) -> Face:
    return Face(font, size)


def colours() -> Colours:
    """Those of the theme in use."""
    palette, ink = theme.palette(), theme.ink
    return Colours(
        text=ink(palette.text),
        muted=ink(palette.text_muted),
        link=ink(palette.accent),
        code_background=ink(palette.code_background),
        selection=ink(palette.selection),
        ring=ink(palette.focus),
        border=ink(palette.border),
    )


def current(size: float = theme.BODY, generation: int = 0) -> TextStyle:
    """The style of the theme and the fonts in use; `size` in points of the type scale."""
    look, faces = theme.current(), fonts.current()
    pixels = size * look.scale * look.font_scale
    italic = getattr(faces, "italic", None)
    return TextStyle(
        faces.body,
        faces.semibold,
        faces.mono,
        pixels,
        colours(),
        italic,
        scale=look.scale,
        generation=generation,
    )
