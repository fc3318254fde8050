"""Draws the attention of every layer and head for one sentence: docs/images/attention.png.

    python tools/attention_picture.py [TEXT] [FILE]

Needs Pillow, which the test extra installs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import gpt2gl
from gpt2gl.resources import font_path

TEXT = (
    "Once upon a time there was a king who had three daughters,"
    " and the youngest of them was so fair"
)
OUT = Path(__file__).parents[1] / "docs" / "images" / "attention.png"
SIDE, GAP, MARGIN, HEADER = 108, 10, 28, 74
INK, PAPER, QUIET = (24, 28, 40), (250, 250, 252), (110, 118, 140)
# From paper to ink through blue: attention 0 to 1, brightened by the square root, since most
# weights are small.
STOPS = np.array([[244, 246, 251], [139, 178, 240], [46, 98, 214], [18, 32, 92]], float)


def coloured(weights: np.ndarray[Any, Any]) -> Image.Image:
    """[query, key] probabilities as a picture, one cell a weight."""
    at = np.sqrt(weights) * (len(STOPS) - 1)
    low = np.minimum(at.astype(int), len(STOPS) - 2)
    part = (at - low)[..., None]
    rgb = STOPS[low] * (1 - part) + STOPS[low + 1] * part
    rgb[np.triu_indices(len(weights), 1)] = PAPER
    cells = Image.fromarray(rgb.astype(np.uint8))
    return cells.resize((SIDE, SIDE), Image.Resampling.NEAREST)


def draw(trace: Any, n_layer: int, n_head: int, title: str) -> Image.Image:
    width = 2 * MARGIN + 64 + n_layer * (SIDE + GAP) - GAP
    height = HEADER + n_head * (SIDE + GAP) - GAP + MARGIN
    picture = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(picture)
    small = ImageFont.truetype(str(font_path("Inter-Regular")), 13)
    large = ImageFont.truetype(str(font_path("Inter-SemiBold")), 17)
    pen.text((MARGIN, 16), title, INK, large)
    for layer in range(n_layer):
        x = MARGIN + 64 + layer * (SIDE + GAP)
        pen.text((x, HEADER - 24), f"layer {layer}", QUIET, small)
        for head in range(n_head):
            y = HEADER + head * (SIDE + GAP)
            picture.paste(coloured(trace[f"h.{layer}.attn.probs"][head]), (x, y))
            if layer == 0:
                pen.text((MARGIN, y + SIDE // 2 - 8), f"head {head}", QUIET, small)
    return picture


def main(text: str = TEXT, out: str = str(OUT)) -> None:
    with gpt2gl.load() as session:
        tokens = session.prompt_tokens(text)
        config = session.model.config
        title = f"Who attends to whom: {len(tokens)} tokens, rows look back at columns"
        picture = draw(session.trace(tokens), config.n_layer, config.n_head, title)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    picture.save(out, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
