"""Byte pair encoding of very long pieces, window by window, with the exact result.

A sequence of tokens is the encoding of its own spelling if and only if each two neighbours are the
encoding of theirs: the first merge that crossed from one token into the next would, up to then,
have seen only these two. So a long piece may be encoded in windows, given that the two tokens at
every seam are checked; where the check fails, the seam is redone further back in a wider window.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate
from typing import Final

WINDOW: Final = 1024
"""Bytes encoded at once."""


def encode_long_piece(
    piece: bytes, encode: Callable[[bytes], list[int]], token_bytes: Mapping[int, bytes]
) -> list[int]:
    """Token ids of a piece of any length; equal to `encode(piece)`.

    Args:
        piece: the bytes of one piece.
        encode: exact encoding of a shorter piece.
        token_bytes: the bytes of each token.
    """
    seams = _Seams(encode, token_bytes)
    # A kept half and a step back of an eighth then differ by more than any token.
    shortest = max(WINDOW, 8 * max(map(len, token_bytes.values())))
    width, start = shortest, 0
    while start < len(piece):
        is_last = start + width >= len(piece)
        found, length = seams.encode(piece[start : start + width], width if is_last else width // 2)
        if seams.accept(found):
            start += length
            width = shortest
        else:
            start -= seams.step_back(width // 8)
            width *= 2
    return seams.tokens


class _Seams:
    """The tokens found so far, and what is asked of them at a seam."""

    def __init__(
        self, encode: Callable[[bytes], list[int]], token_bytes: Mapping[int, bytes]
    ) -> None:
        self.encode = cache(self._encode)
        self.tokens: list[int] = []
        self._encode_piece = encode
        self._token_bytes = token_bytes

    def _encode(self, window: bytes, limit: int) -> tuple[list[int], int]:
        """The leading tokens that spell no more than `limit` bytes, and how many they spell."""
        tokens = self._encode_piece(window)
        ends = list(accumulate(len(self._token_bytes[token]) for token in tokens))
        count = bisect_right(ends, limit)
        return tokens[:count], ends[count - 1]

    def accept(self, found: list[int]) -> bool:
        """Append the tokens if they may follow those before; whether they may."""
        pair = [*self.tokens[-1:], found[0]]
        spelling = b"".join(self._token_bytes[token] for token in pair)
        if self._encode_piece(spelling) != pair:
            return False
        self.tokens += found
        return True

    def step_back(self, n_bytes: int) -> int:
        """Forget tokens at the end that spell `n_bytes` or a little more; how many bytes."""
        forgotten = 0
        while self.tokens and forgotten < n_bytes:
            forgotten += len(self._token_bytes[self.tokens.pop()])
        return forgotten
