"""The byte-level alphabet of GPT-2: a printable character for each of the 256 bytes.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2,
and `bytes_to_unicode` of the GPT-2 release. Vocabulary files spell tokens in this alphabet.
"""

from __future__ import annotations

import codecs
from typing import Final

_N_BYTES: Final = 256


def _alphabet() -> str:
    """Bytes that print keep their Latin-1 character; the others take U+0100 and up, in order."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    stand_ins = iter(range(0x100, 0x100 + _N_BYTES))
    return "".join(chr(b if b in visible else next(stand_ins)) for b in range(_N_BYTES))


BYTE_CHARS: Final = _alphabet()
"""`BYTE_CHARS[b]` is the character that stands for byte `b`."""

# The alphabet is a character set of 8 bits, so Python's machinery for those encodes it.
_CHARMAP: Final = codecs.charmap_build(BYTE_CHARS)


def spelled_bytes(spelling: str) -> bytes | None:
    """The bytes that a token spelled in the byte-level alphabet stands for; None if it is not."""
    try:
        return codecs.charmap_encode(spelling, "strict", _CHARMAP)[0]
    except UnicodeEncodeError:
        return None
