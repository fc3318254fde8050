"""Draws the app's icon: a triangle, as everything is drawn with one, and the caret after it.

    python tools/app_icon.py

Writes assets/icon.svg and assets/icon-16.png to icon-512.png from the one set of shapes below.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

ASSETS = Path(__file__).parents[1] / "assets"
PNG_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
SUPERSAMPLING = 8
# All shapes are in a square of this side.
SIDE = 64
Rectangle = tuple[float, float, float, float]
TILE: Rectangle = (0, 0, 64, 64)
TILE_RADIUS = 15
TILE_COLORS = ("#333d86", "#171b3c")
TRIANGLE = ((13.5, 45.5), (40.0, 45.5), (26.75, 20.5))
TRIANGLE_COLORS = ("#ffffff", "#b9c4ff")
# Rounds the triangle's corners: a line of this width around it, with round joins.
TRIANGLE_LINE = 5
CARET: Rectangle = (48, 16, 52, 48)
CARET_COLOR = "#95a5ff"


def svg() -> str:
    points = " ".join(f"{x:g},{y:g}" for x, y in TRIANGLE)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}">',
            "<title>gpt2gl</title>",
            f"<defs>{_gradient('tile', TILE_COLORS)}{_gradient('ink', TRIANGLE_COLORS)}</defs>",
            _rect(TILE, TILE_RADIUS, "url(#tile)"),
            f'<polygon points="{points}" fill="url(#ink)" stroke="url(#ink)"'
            f' stroke-width="{TRIANGLE_LINE}" stroke-linejoin="round"/>',
            _rect(CARET, _caret_radius(), CARET_COLOR),
            "</svg>\n",
        ]
    )


def _gradient(name: str, colors: tuple[str, str]) -> str:
    stops = f'<stop stop-color="{colors[0]}"/><stop offset="1" stop-color="{colors[1]}"/>'
    ends = f'gradientUnits="userSpaceOnUse" x1="0" y1="0" x2="0" y2="{SIDE}"'
    return f'<linearGradient id="{name}" {ends}>{stops}</linearGradient>'


def _rect(shape: Rectangle, radius: float, fill: str) -> str:
    left, top, right, bottom = shape
    place = f'x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}"'
    return f'<rect {place} rx="{radius:g}" fill="{fill}"/>'


def _caret_radius() -> float:
    return (CARET[2] - CARET[0]) / 2


def png(size: int) -> Image.Image:
    """The icon with `size` pixels to the side, on a transparent ground."""
    side = size * SUPERSAMPLING
    unit = side / SIDE
    image = Image.new("RGBA", (side, side))
    image.paste(_shades(side, TILE_COLORS), mask=_rounded(side, TILE, TILE_RADIUS))
    image.paste(_shades(side, TRIANGLE_COLORS), mask=_triangle(side, unit))
    image.paste(CARET_COLOR, mask=_rounded(side, CARET, _caret_radius()))
    return image.resize((size, size), Image.Resampling.BOX)


def _shades(side: int, colors: tuple[str, str]) -> Image.Image:
    """From the first colour at the top to the second at the bottom."""
    weight = Image.linear_gradient("L").resize((side, side))
    upper, lower = (Image.new("RGB", (side, side), color) for color in colors)
    return Image.composite(lower, upper, weight)


def _rounded(side: int, shape: Rectangle, radius: float) -> Image.Image:
    mask, unit = Image.new("L", (side, side)), side / SIDE
    left, top, right, bottom = (edge * unit for edge in shape)
    box = (left, top, right - 1, bottom - 1)
    ImageDraw.Draw(mask).rounded_rectangle(box, radius * unit, fill=255)
    return mask


def _triangle(side: int, unit: float) -> Image.Image:
    mask = Image.new("L", (side, side))
    draw = ImageDraw.Draw(mask)
    points = [(x * unit, y * unit) for x, y in TRIANGLE]
    draw.polygon(points, fill=255)
    draw.line([*points, points[0]], fill=255, width=round(TRIANGLE_LINE * unit))
    radius = TRIANGLE_LINE * unit / 2
    for x, y in points:
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    return mask


def main() -> None:
    (ASSETS / "icon.svg").write_text(svg(), encoding="utf-8")
    for size in PNG_SIZES:
        png(size).save(ASSETS / f"icon-{size}.png", optimize=True)


if __name__ == "__main__":
    main()
