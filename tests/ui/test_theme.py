"""The palettes have the contrast that they promise, and imgui's style is ours in every respect."""

from __future__ import annotations

from itertools import product

import pytest
from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.palette import DARK, LIGHT, Color, Palette, color, faded, mixed
from tests.ui.imgui_frames import frames

PALETTES = (DARK, LIGHT)
SURFACES = ("background", "surface", "raised", "user_bubble", "assistant_bubble")
TEXT_SURFACES = (*SURFACES, "hover", "code_background", "generated")
STATES = ("danger", "success", "warning", "accent")
# Ink, what it lies on, and the least contrast between them.
PAIRS = [
    *product(["text"], TEXT_SURFACES, [7.0]),
    *product(["text"], ["pressed", "selection"], [4.5]),
    *product(["text_muted"], (*SURFACES, "hover", "code_background"), [4.5]),
    *product(STATES, ["background", "surface", "raised"], [4.5]),
    ("accent_text", "accent", 4.5),
    ("accent_text", "accent_hover", 4.5),
    ("danger_text", "danger", 4.5),
    *product(["focus"], SURFACES, [3.0]),
    *product(["control"], ["background", "surface", "raised"], [3.0]),
]


def luminance(shade: Color) -> float:
    """Relative luminance of WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shade[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    """Contrast ratio of WCAG 2.2, 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_pairs() -> None:
    assert contrast(color("#000000"), color("#ffffff")) == pytest.approx(21.0)
    assert contrast(color("#777777"), color("#ffffff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_contrast(palette: Palette) -> None:
    ratios = {(a, b): contrast(getattr(palette, a), getattr(palette, b)) for a, b, _ in PAIRS}
    assert not {(a, b): ratios[a, b] for a, b, least in PAIRS if ratios[a, b] < least}


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
@pytest.mark.parametrize("state", STATES)
def test_contrast_of_badges(palette: Palette, state: str) -> None:
    ink = getattr(palette, state)
    assert contrast(ink, mixed(palette.background, ink, 0.14)) >= 4.5


def test_colors_from_text() -> None:
    assert color("#ff0080") == (1.0, 0.0, pytest.approx(0.502, abs=0.001), 1.0)
    assert color("#00000000")[3] == 0.0
    assert faded(color("#ffffff80"), 0.5)[3] == pytest.approx(0.251, abs=0.001)
    assert mixed((0, 0, 0, 1), (1, 1, 1, 0), 0.25) == (0.25, 0.25, 0.25, 1)


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_every_color_of_the_style_is_ours(palette: Palette) -> None:
    marker = imgui.ImVec4(0.1234, 0.5678, 0.9, 0.3)
    indices = [index for index in imgui.Col_ if index != imgui.Col_.count]
    with frames():
        style = imgui.get_style()
        for index in indices:
            style.set_color_(index, marker)
        theme.apply(palette)
        left = [index.name for index in indices if style.color_(index).x == marker.x]
    assert not left


def test_scale_enlarges_everything() -> None:
    with frames(scale=1.0) as once:
        spacing, text = imgui.get_style().item_spacing.x, []
        once.run(lambda: text.append(imgui.get_font_size()))
    with frames(scale=2.0) as twice:
        assert imgui.get_style().item_spacing.x == 2 * spacing
        assert theme.px(theme.LARGE) == 2 * theme.LARGE
        twice.run(lambda: text.append(imgui.get_font_size()))
    assert text[1] == pytest.approx(2 * text[0], abs=1)


@pytest.mark.parametrize(("font_scale", "growth"), [(0.75, 1.0), (1.0, 1.0), (1.5, 1.25)])
def test_what_holds_larger_text_grows_by_half_as_much(font_scale: float, growth: float) -> None:
    with frames() as run:
        theme.apply(DARK, scale=1.0, font_scale=font_scale)
        sizes: list[float] = []
        run.run(lambda: sizes.append(imgui.get_font_size()))
        assert sizes[0] == pytest.approx(font_scale * theme.BODY, abs=1)
        assert imgui.get_style().item_spacing.x == growth * theme.SMALL
        assert theme.px(theme.CONTROL_HEIGHT) == growth * theme.CONTROL_HEIGHT


def test_thin_lines_do_not_vanish() -> None:
    with frames():
        theme.apply(DARK, scale=0.5)
        assert theme.px(0.4) == 1.0


@pytest.mark.parametrize(
    ("choice", "dark", "name"),
    [
        ("dark", False, "dark"),
        ("light", True, "light"),
        ("system", True, "dark"),
        ("system", False, "light"),
    ],
)
def test_palette_of_a_setting(choice: str, dark: bool, name: str) -> None:
    assert theme.named(choice, dark=lambda: dark).name == name
