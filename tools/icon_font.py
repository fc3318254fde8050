"""Makes assets/fonts/LucideIcons.ttf: the icons that the window uses, out of Lucide's font.

    npm pack lucide-static && tar xzf lucide-static-*.tgz
    python tools/icon_font.py package/font/lucide.ttf package/LICENSE
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from gpt2gl_ui import icons

FONTS = Path(__file__).parents[1] / "assets" / "fonts"
UNITS_PER_EM = 1000  # As in Lucide's font.
# The share of a line of Inter that lies under its base line (494 of 2478 units). An icon fills
# the line from top to bottom, which centres it on the capitals.
BELOW_BASE_LINE = 199


def make(source: Path) -> TTFont:
    """Lucide's font with our icons only, at our code points."""
    font = TTFont(source)
    _keep(font, icons.LUCIDE_NAMES)
    _give_code_points(font, icons.LUCIDE_NAMES)
    _set_base_line(font)
    return font


def _keep(font: TTFont, names: list[str]) -> None:
    options = Options(glyph_names=True, layout_features=[], hinting=False, notdef_outline=True)
    subsetter = Subsetter(options)
    subsetter.populate(glyphs=names)
    subsetter.subset(font)


def _give_code_points(font: TTFont, names: list[str]) -> None:
    mapping = {icons.FIRST_CODE_POINT + index: name for index, name in enumerate(names)}
    table = font["cmap"].tables[0].newSubtable(12)
    table.platformID, table.platEncID, table.language = 3, 10, 0
    table.cmap = mapping
    font["cmap"].tables = [table]


def _set_base_line(font: TTFont) -> None:
    """Glyphs span the em from its top to `BELOW_BASE_LINE`; the line's height is the em."""
    glyphs = font["glyf"]
    shift = -BELOW_BASE_LINE - _em_bottom(font)
    for name in font.getGlyphOrder():
        glyph = glyphs[name]
        if glyph.numberOfContours > 0:
            glyph.coordinates.translate((0, shift))
            glyph.recalcBounds(glyphs)
            # Lucide's font says 0 for all, and FreeType would shift each glyph to there.
            font["hmtx"][name] = (font["hmtx"][name][0], glyph.xMin)
    ascent, descent = UNITS_PER_EM - BELOW_BASE_LINE, -BELOW_BASE_LINE
    font["hhea"].ascent, font["hhea"].descent, font["hhea"].lineGap = ascent, descent, 0
    metrics = font["OS/2"]
    metrics.sTypoAscender, metrics.sTypoDescender, metrics.sTypoLineGap = ascent, descent, 0
    metrics.usWinAscent, metrics.usWinDescent = ascent, -descent


def _em_bottom(font: TTFont) -> int:
    """Where Lucide's 24 × 24 box has its lower edge, from an icon that is symmetric in it."""
    cross = font["glyf"]["x"]
    cross.recalcBounds(font["glyf"])
    return (cross.yMin + cross.yMax) // 2 - UNITS_PER_EM // 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("font", type=Path, help="lucide.ttf of the npm package lucide-static")
    parser.add_argument("licence", type=Path, help="LICENSE of the same package")
    arguments = parser.parse_args()
    make(arguments.font).save(FONTS / f"{icons.FONT}.ttf")
    shutil.copyfile(arguments.licence, FONTS / f"{icons.FONT}-ISC.txt")


if __name__ == "__main__":
    main()
