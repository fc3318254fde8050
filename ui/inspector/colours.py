"""Colours for numbers, as the engine's pictures have them (glsl/lib/colormap.glsl)."""

from __future__ import annotations

from functools import lru_cache

from gpt2gl_ui.palette import Color

# viridis (van der Walt & Smith, CC0), our own polynomial fit, highest power first.
_VIRIDIS = (
    (-5.43208, 4.64157, 26.27211),
    (4.75179, -13.74944, -65.32097),
    (6.20374, 14.15396, 56.65630),
    (-4.59993, -5.75824, -19.29181),
    (-0.32724, 0.21481, 0.09198),
    (0.10771, 1.39647, 1.38677),
    (0.27446, 0.00577, 0.33266),
)
DARK_INK: Color = (0.06, 0.07, 0.09, 1.0)
LIGHT_INK: Color = (1.0, 1.0, 1.0, 1.0)
STEPS = 256


def sequential(value: float) -> Color:
    """The colour of 0 to 1."""
    return _sequential(round(min(max(value, 0.0), 1.0) * (STEPS - 1)))


@lru_cache(maxsize=STEPS)
def _sequential(step: int) -> Color:
    t, channels = step / (STEPS - 1), [0.0, 0.0, 0.0]
    for row in _VIRIDIS:
        channels = [c * t + k for c, k in zip(channels, row, strict=True)]
    red, green, blue = (min(max(c, 0.0), 1.0) for c in channels)
    return red, green, blue, 1.0


def ink_on(color: Color) -> Color:
    """Black or white, whichever is read on the colour."""
    red, green, blue = (channel**2.2 for channel in color[:3])
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return DARK_INK if light > 0.18 else LIGHT_INK
