"""The colours of the two themes.

tests/ui/test_theme.py holds every pair of text and surface to the contrast of WCAG 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, sRGB, 0 to 1."""


def color(text: str) -> Color:
    """`#rrggbb` or `#rrggbbaa` as a Color."""
    red, green, blue, *opacity = (int(text[i : i + 2], 16) / 255 for i in range(1, len(text), 2))
    return red, green, blue, opacity[0] if opacity else 1.0


def faded(base: Color, opacity: float) -> Color:
    """The colour with its opacity multiplied by `opacity`."""
    return (*base[:3], base[3] * opacity)


def mixed(under: Color, over: Color, share: float) -> Color:
    """`share` of `over` and the rest of `under`, opacity of `under`."""
    red, green, blue = (a + (b - a) * share for a, b in zip(under[:3], over[:3], strict=True))
    return red, green, blue, under[3]


@dataclass(frozen=True, eq=False)
class Palette:
    """One theme. Surfaces from the back to the front: background, surface, raised.

    Compared by identity, which makes it a cheap key of a cache.
    """

    name: str
    background: Color
    surface: Color
    raised: Color
    hover: Color
    pressed: Color
    border: Color
    control: Color
    """Outlines that must be seen: an empty switch, the track of a slider."""
    text: Color
    text_muted: Color
    accent: Color
    accent_hover: Color
    accent_text: Color
    danger: Color
    danger_text: Color
    success: Color
    warning: Color
    focus: Color
    selection: Color
    user_bubble: Color
    assistant_bubble: Color
    code_background: Color
    generated: Color
    """Behind text that the model wrote in the notebook."""
    heat_neutral: Color
    """Where a heat-map has nothing to show."""
    scrim: Color
    """Over the window, under a dialogue."""


DARK = Palette(
    name="dark",
    background=color("#0f1116"),
    surface=color("#15181f"),
    raised=color("#1d212a"),
    hover=color("#272c37"),
    pressed=color("#313744"),
    border=color("#2b313d"),
    control=color("#747e90"),
    text=color("#eceef3"),
    text_muted=color("#a3abba"),
    accent=color("#95a5ff"),
    accent_hover=color("#b0bcff"),
    accent_text=color("#10132b"),
    danger=color("#ff8f8f"),
    danger_text=color("#2b0b0d"),
    success=color("#6fd3a0"),
    warning=color("#f2c063"),
    focus=color("#95a5ff"),
    selection=color("#4457b3"),
    user_bubble=color("#293056"),
    assistant_bubble=color("#191d25"),
    code_background=color("#0a0c10"),
    generated=color("#20254a"),
    heat_neutral=color("#20252e"),
    scrim=color("#00000080"),
)

LIGHT = Palette(
    name="light",
    background=color("#fbfbfd"),
    surface=color("#f1f3f7"),
    raised=color("#ffffff"),
    hover=color("#e6e9f0"),
    pressed=color("#d8dde7"),
    border=color("#dadfe8"),
    control=color("#7b8494"),
    text=color("#171a21"),
    text_muted=color("#535d6e"),
    accent=color("#4351d8"),
    accent_hover=color("#3541b8"),
    accent_text=color("#ffffff"),
    danger=color("#b4232c"),
    danger_text=color("#ffffff"),
    success=color("#136c3c"),
    warning=color("#8f5500"),
    focus=color("#4351d8"),
    selection=color("#bcc6ff"),
    user_bubble=color("#e3e7ff"),
    assistant_bubble=color("#f1f3f7"),
    code_background=color("#eceff5"),
    generated=color("#e8ebff"),
    heat_neutral=color("#e3e7ee"),
    scrim=color("#0b0d1266"),
)

PALETTES = {palette.name: palette for palette in (DARK, LIGHT)}
