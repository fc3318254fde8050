"""Texts and a style for the tests of gpt2gl_ui.text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import settings
from hypothesis import strategies as st
from imgui_bundle import imgui

from gpt2gl_ui.text import document, layout, style

few = settings(max_examples=40, deadline=None)
COLOURS = style.Colours(*range(1, 8))
# Words, long words, scripts without spaces, joined emoji, combining marks, controls, surrogates.
PIECES = (
    *("word", " ", "  ", "\n", "\n\n", "a-b", "unbroken" * 12, "2*3*4", "_", "<|endoftext|>"),
    *(
        "日本語の文章。",
        "「引用」",
        "한국어",
        "👩‍👩‍👧",
        "👍🏽",
        "e\u0301",
        "\t",
        "\0",
        "\r",
        "\r\n",
    ),
    *("\x1b[0m", "\u00a0", "\u200b", "\u2028", "\ud800", "é", "…", "$"),
)
MARKUP = (
    *("**", "*", "_", "`", "```", "```py\n", "~~~", "# ", "## ", "- ", "1. ", "2) ", "> ", "---\n"),
    *("[a](http://b.c)", "[", "](", ")", "<http://x.y>", "https://a.b/c_d", "&amp;", "\\*", "\\"),
    *("    ", "  \n", "===\n", "![i](j)", "<b>", "|"),
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=30).map("".join)
markdown_texts = st.lists(st.sampled_from(PIECES + MARKUP), max_size=30).map("".join)
widths = st.sampled_from([1.0, 40.0, 130.0, 400.0, 10_000.0])


@contextmanager
def measuring() -> Iterator[style.TextStyle]:
    """An imgui context with the shipped fonts, for measuring without a window; then the old."""
    before = imgui.get_current_context()
    context = imgui.create_context()
    imgui.set_current_context(context)
    style.face_of.cache_clear()
    from gpt2gl.resources import font_path

    atlas = imgui.get_io().fonts
    names = ("Inter-Regular", "Inter-SemiBold", "JetBrainsMono-Regular")
    faces = [atlas.add_font_from_file_ttf(str(font_path(name)), 16.0) for name in names]
    yield style.TextStyle(*faces, 16.0, COLOURS)
    style.face_of.cache_clear()
    imgui.destroy_context(context)
    if before is not None:
        imgui.set_current_context(before)


def laid_out(source: document.Document, width: float, look: style.TextStyle) -> layout.Layout:
    made = layout.Layout(look)
    made.lay_out(source, 0, width, look)
    return made


def all_lines(made: layout.Layout) -> list[layout.Line]:
    return list(made.lines(0.0, made.height))


def plain(source: str) -> document.PlainDocument:
    made = document.PlainDocument()
    made.update(source)
    return made
