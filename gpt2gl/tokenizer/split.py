"""GPT-2's split of text into pieces; byte pair encoding never merges across two of them.

The pattern is that of the GPT-2 release (`encoder.py`). `tiktoken` runs it as a regular expression,
but its engine overflows its stack on very long white space and Python's `re` knows no `\\p{L}`.
`split_pieces` cuts the same pieces in linear time: it draws the *shape* of the text, one ASCII
character for each character's class, and matches that. The class of a character outside ASCII is
asked of `tiktoken`, so that both roads always agree, whichever Unicode version it was built with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

PATTERN: Final = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The split pattern, in the syntax of `tiktoken`."""

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + ("\u2028\u2029\u202f\u205f\u3000")
)
"""Unicode White_Space, what `\\s` means in PATTERN; Python's own `\\s` has U+001C to U+001F too."""

LONG_RUN: Final = 512
"""Characters from which a run of white space, or of anything else, counts as long."""

_BLOCK: Final = LONG_RUN // 2
_UNIFORM_BLOCK: Final = re.compile(f"[{WHITE_SPACE}]{{{_BLOCK}}}|[^{WHITE_SPACE}]{{{_BLOCK}}}")

# Shapes: letters of a contraction stand for themselves, other letters are "L", numbers "0", white
# space other than " " is "_", the apostrophe stands for itself and all else is "!".
_LETTER, _NUMBER, _SPACE, _OTHER = "L0_!"
_CONTRACTING: Final = "sdmtlver"
_SHAPE: Final = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[Lsdmtlver]+| ?0+| ?[!']+|[ _]+(?![^ _])|[ _]+")


def has_long_run(text: str) -> bool:
    """True if some run in `text` has LONG_RUN characters or more, false if all have under half.

    A piece is part of one run, or of one run and the space before. A long run covers one whole
    block of the text's division into blocks of half its length, wherever it starts.
    """
    starts = range(0, len(text) - _BLOCK + 1, _BLOCK)
    return any(_UNIFORM_BLOCK.match(text, start) for start in starts)


def split_pieces(text: str) -> Iterator[str]:
    """The pieces of `text` in order: what PATTERN finds, in time linear in the text's length."""
    for match in _SHAPE.finditer(text.translate(_shapes(text))):
        yield text[match.start() : match.end()]


def _shapes(text: str) -> dict[int, str]:
    chars = "".join(set(text))
    shapes = dict.fromkeys(map(ord, chars), _OTHER)
    shapes.update(dict.fromkeys(map(ord, _members(r"\p{L}", chars)), _LETTER))
    shapes.update(dict.fromkeys(map(ord, _members(r"\p{N}", chars)), _NUMBER))
    shapes.update(dict.fromkeys(map(ord, WHITE_SPACE), _SPACE))
    shapes.update({ord(char): char for char in f" '{_CONTRACTING}"})
    return shapes


def _members(char_class: str, chars: str) -> str:
    """Those of `chars` that are in the class."""
    return bytes(_filter(char_class)(chars)).decode("utf-8")


@cache
def _filter(char_class: str) -> Callable[[str], list[int]]:
    """A function from text to the UTF-8 bytes of its characters of one class, by `tiktoken`."""
    from tiktoken import Encoding

    bytes_only = {bytes([byte]): byte for byte in range(256)}
    name = f"gpt2gl {char_class}"
    encoding = Encoding(name, pat_str=char_class, mergeable_ranks=bytes_only, special_tokens={})
    return encoding.encode_ordinary
