"""A line of text in which what was searched for stands out."""

from __future__ import annotations

from collections.abc import Sequence

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.palette import Color
from gpt2gl_ui.widgets import Area, elided, fill

Span = tuple[int, int]
Spans = Sequence[Span]
LEAD = 10  # characters that are shown before the first match


def drawn_text(
    area: Area, text: str, color: Color, spans: Spans, *, background: bool = True
) -> None:
    """One line in the current font, from the left, cut to the area.

    The characters of `spans` are marked by a surface behind them, or else by the accent colour.
    """
    shown = elided(text, area.width)
    kept = len(shown) if shown == text else len(shown) - 1
    size = imgui.calc_text_size(shown)
    top = round(area.y + (area.height - size.y) / 2)
    marked = [(start, min(end, kept)) for start, end in spans if start < kept]
    if background:
        for low, high in (_places(area.x, shown, span) for span in marked):
            fill(Area(low, top, high - low, size.y), theme.palette().selection, theme.TIGHT)
    draw = imgui.get_window_draw_list()
    draw.add_text((round(area.x), top), theme.ink(color), shown)
    if not background:
        ink = theme.ink(theme.palette().accent)
        for span in marked:
            low, _ = _places(area.x, shown, span)
            draw.add_text((low, top), ink, shown[span[0] : span[1]])


def _places(left: float, text: str, span: Span) -> tuple[float, float]:
    before = imgui.calc_text_size(text[: span[0]]).x
    return left + before, left + imgui.calc_text_size(text[: span[1]]).x


def moved_to_match(text: str, spans: Spans) -> tuple[str, Spans]:
    """The text from a little before its first match on, so that a narrow line shows that."""
    start = max(0, spans[0][0] - LEAD) if spans else 0
    if start < 2:
        return text, spans
    blank = text.find(" ", start, spans[0][0])
    start = blank + 1 if blank >= 0 else start
    return "…" + text[start:], [(a - start + 1, b - start + 1) for a, b in spans]
