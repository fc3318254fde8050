"""Where a line may be broken: after spaces and hyphens, and between ideographs.

A small part of Unicode's line breaking (UAX 14). Text with wide characters goes through array
operations over code points; all other text has breaks only around words, and a search for those
is quicker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SPACES = (0x20, 0x09, 0x1680, 0x205F, 0x3000)
# From (inclusive) to (exclusive): kana, ideographs, Hangul, full-width forms, emoji.
WIDE = (
    *((0x2E80, 0x3000), (0x3001, 0xA4D0), (0xAC00, 0xD7A4), (0xF900, 0xFB00)),
    *((0xFF01, 0xFF61), (0x1F300, 0x1FB00), (0x20000, 0x40000)),
)
NOT_FIRST = "、。，．：；？！）」』】〉》〕｝］’”ー々ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ・…"
NOT_LAST = "（「『【〈《〔｛［‘“"
# Joiners and modifiers: they belong to the character before them.
EXTENDS = ((0x300, 0x370), (0x200B, 0x2010), (0xFE00, 0xFE10), (0x1F3FB, 0x1F400), (0x20D0, 0x2100))
JOINER = 0x200D

# Characters with rules beyond words: spaces of other widths, and all that may be wide.
SPECIAL = re.compile("[\u1680\u2000-\u200a\u205f\u2e80-\ud7ff\uf900-\U0010ffff]")
WORD = re.compile(r"\n|[^ \t\n]+")
HYPHEN = re.compile("(?<=[A-Za-z\u00c0-\u024f]-)(?=[A-Za-z\u00c0-\u024f])")

Codes = NDArray[np.uint32]
Mask = NDArray[np.bool_]


def within(codes: Codes, ranges: tuple[tuple[int, int], ...]) -> Mask:
    found = np.zeros(len(codes), bool)
    for low, high in ranges:
        found |= (codes >= low) & (codes < high)
    return found


def one_of(codes: Codes, characters: str) -> Mask:
    return np.isin(codes, [ord(each) for each in characters])


def is_space(codes: Codes) -> Mask:
    """Spaces that may hang over a line's end; those that forbid a break are not among them."""
    return np.isin(codes, SPACES) | within(codes, ((0x2000, 0x2007), (0x2008, 0x200B)))


def letters(codes: Codes) -> Mask:
    return within(codes | np.uint32(0x20), ((0x61, 0x7B),)) | within(codes, ((0xC0, 0x250),))


def soft_breaks(codes: Codes) -> Mask:
    """[n] -> [n]: whether a line may begin at a character, for reasons near it; never at 0."""
    space, allowed = is_space(codes), np.zeros(len(codes), bool)
    before, after = codes[:-1], codes[1:]
    allowed[1:] = space[:-1] & ~space[1:] & (after != 10)
    letter = letters(codes)
    allowed[2:] |= letter[:-2] & (codes[1:-1] == 0x2D) & letter[2:]
    if codes.max(initial=0) >= 0x2000:
        wide = within(codes, WIDE)
        between = (wide[:-1] | wide[1:]) & ~space[1:] & (after != 10) & (before != 10)
        between &= ~within(after, EXTENDS) & ~one_of(after, NOT_FIRST)
        allowed[1:] |= between & ~one_of(before, NOT_LAST) & (before != JOINER)
    return allowed


def last_dark(codes: Codes) -> NDArray[np.int64]:
    """[n] -> [n]: index of the last character up to each that is no space; -1 for none."""
    dark = ~is_space(codes) & (codes != 10)
    return np.maximum.accumulate(np.where(dark, np.arange(len(codes)), -1))


@dataclass
class Breaks:
    """Where lines may begin in a text (`at`), and where the ink before each ends (`ends`).

    `hard` are those behind a newline; `dark_end` is where the last ink of all ends.
    """

    at: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    hard: list[int] = field(default_factory=list)
    dark_end: int = 0


def find_breaks(text: str) -> Breaks:
    """All places to break a text. Never behind what indents a line."""
    return of_code_points(text) if SPECIAL.search(text) else of_words(text)


def of_words(text: str) -> Breaks:
    found, line = Breaks(), 0
    for word in WORD.finditer(text):
        start, end = word.span()
        if text[start] == "\n":
            found.at.append(end)
            found.ends.append(max(found.dark_end, line))
            found.hard.append(end)
            line = end
            continue
        if found.dark_end > line:
            found.at.append(start)
            found.ends.append(found.dark_end)
        if text.find("-", start, end) >= 0:
            inside = [hyphen.start() for hyphen in HYPHEN.finditer(text, start, end)]
            found.at += inside
            found.ends += inside
        found.dark_end = end
    return found


def of_code_points(text: str) -> Breaks:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    dark, hard = last_dark(codes), np.flatnonzero(codes == 10) + 1
    inner = hard[hard < len(codes)]
    line = np.zeros(len(codes), np.int64)
    line[inner] = inner
    line = np.maximum.accumulate(line)
    soft = soft_breaks(codes)
    soft[1:] &= dark[:-1] >= line[:-1]
    at = np.union1d(np.flatnonzero(soft), hard)
    ends = np.maximum(dark[at - 1] + 1, line[at - 1])
    return Breaks(at.tolist(), ends.tolist(), hard.tolist(), int(dark[-1]) + 1)
