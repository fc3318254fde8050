"""Byte pair encoding of one piece of text: Sennrich et al. 2016, section 3.2, on bytes.

A piece starts as its bytes. As long as some adjacent pair has a merge, the pair whose merge ranks
first is merged, the leftmost one where it occurs more than once.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from gpt2gl.tokenizer.split import PATTERN

_ABSENT: Final = -1
_Entry: TypeAlias = tuple[int, int, tuple[int, int], int]
"""Rank of the merge, where in the piece, the pair, the merged token."""


class PieceEncoder(Protocol):
    """What turns the bytes of one piece into token ids."""

    def encode_piece(self, piece: bytes) -> list[int]:
        """The ids of the piece's tokens in order."""
        ...


@dataclass(frozen=True)
class MergeTable:
    """The merges of a vocabulary, as token ids.

    Attributes:
        byte_ids: [256] the id of each single byte.
        left: [n_merges] the first token of each merge, first rank first.
        right: [n_merges] the second token of each merge.
        merged: [n_merges] the token that each merge makes.
        token_bytes: the bytes of every byte and merged token.
    """

    byte_ids: Sequence[int]
    left: Sequence[int]
    right: Sequence[int]
    merged: Sequence[int]
    token_bytes: Mapping[int, bytes]


class TiktokenBpe:
    """Byte pair encoding by `tiktoken`, for merge tables that `spells_alike` accepts.

    tiktoken's token numbers are merge ranks: 0..255 for the bytes, then the merges in order. The
    model's ids may be numbered otherwise, so each number is looked up in `_ids`.
    """

    def __init__(self, table: MergeTable) -> None:
        from tiktoken import Encoding

        self._ids = [*table.byte_ids, *table.merged]
        ranks = {table.token_bytes[token]: rank for rank, token in enumerate(self._ids)}
        self._encoding = Encoding(
            "gpt2gl", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}
        )

    def encode_text(self, text: str) -> list[int]:
        """The ids of the tokens of a whole text, which is split into pieces here."""
        return [self._ids[rank] for rank in self._encoding.encode_ordinary(text)]

    def encode_piece(self, piece: bytes) -> list[int]:
        """The ids of the piece's tokens in order."""
        # The underscore is tiktoken's; no public method encodes bytes that may not be UTF-8.
        return [self._ids[rank] for rank in self._encoding._encode_single_piece(piece)]


class PairBpe:
    """Byte pair encoding by the definition, for merge tables that tiktoken would read otherwise.

    tiktoken merges any two neighbours that spell a token, this only the pairs that are listed.
    Time is O(n log n) in the length of the piece.
    """

    def __init__(self, table: MergeTable) -> None:
        self._byte_ids = table.byte_ids
        pairs = zip(table.left, table.right, strict=True)
        self._merges = dict(zip(pairs, enumerate(table.merged), strict=True))

    def encode_piece(self, piece: bytes) -> list[int]:
        """The ids of the piece's tokens in order."""
        chain = _Chain([self._byte_ids[byte] for byte in piece])
        queue = [entry for at in range(len(piece)) if (entry := self._entry(chain, at))]
        heapq.heapify(queue)
        while queue:
            _, at, pair, merged = heapq.heappop(queue)
            if chain.pair(at) != pair:
                continue
            chain.merge(at, merged)
            for changed in (chain.before[at], at):
                if entry := self._entry(chain, changed):
                    heapq.heappush(queue, entry)
        return chain.tokens()

    def _entry(self, chain: _Chain, at: int) -> _Entry | None:
        pair = chain.pair(at)
        found = self._merges.get(pair) if pair else None
        return (found[0], at, pair, found[1]) if pair and found else None


class _Chain:
    """Tokens of a piece, linked both ways so that a merge costs the same wherever it is."""

    def __init__(self, ids: list[int]) -> None:
        self._ids = ids
        self._after = list(range(1, len(ids) + 1))
        self.before = list(range(-1, len(ids) - 1))

    def pair(self, at: int) -> tuple[int, int] | None:
        """The token that starts at byte `at` and the next one; None where there are no two."""
        if at < 0 or self._ids[at] == _ABSENT or self._after[at] == len(self._ids):
            return None
        return self._ids[at], self._ids[self._after[at]]

    def merge(self, at: int, merged: int) -> None:
        """Put one token in the place of the pair at `at`."""
        second = self._after[at]
        self._ids[at], self._ids[second] = merged, _ABSENT
        self._after[at] = self._after[second]
        if self._after[at] < len(self._ids):
            self.before[self._after[at]] = at

    def tokens(self) -> list[int]:
        """The token ids in order."""
        return [token for token in self._ids if token != _ABSENT]
