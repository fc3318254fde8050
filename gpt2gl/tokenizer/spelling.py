"""Whether tiktoken's byte pair encoding is the same as the one that the merges define.

tiktoken merges neighbours whose *spelling* is a token; the definition merges the *pairs* that are
listed. Both agree on every text if each merge makes a new token and each such token, encoded by
the definition, is one token again. For take the first step where they part: tiktoken merges
neighbours l, r that spell a token t but are no listed pair. No merge has crossed the ends of this
stretch yet, so encoding t alone goes through the same l, r and stops there: t is not one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpt2gl.tokenizer.bpe import MergeTable

_N_BYTES: Final = 256
_Indices = NDArray[np.int64]


def spells_alike(table: MergeTable) -> bool:
    """Whether tiktoken may encode for this table; False also where it is merely not shown."""
    made = np.array([*table.byte_ids, *table.merged], dtype=np.int64)
    if len(np.unique(made)) != len(made):
        return False
    left, right = (_operands(made, halves) for halves in (table.left, table.right))
    if (np.maximum(left, right) >= np.arange(len(made))).any():
        return False
    return _all_whole(left, right)


def _operands(made: _Indices, halves: Sequence[int]) -> _Indices:
    """[n_bytes + n_merges] where in `made` one half of each token is; -1 for bytes, without halves.

    A half that is not in `made` gets an index past the end.
    """
    ids = np.array(halves, dtype=np.int64)
    index = np.full(max(made.max(), ids.max(initial=0)) + 1, len(made))
    index[made] = np.arange(len(made))
    return np.concatenate([np.full(_N_BYTES, -1), index[ids]])


def _all_whole(left: _Indices, right: _Indices) -> bool:
    """Whether each merged token, encoded alone, becomes one token.

    The halves of a token are one token each, by induction over the ranks. So only a merge across
    the middle could go wrong, before the halves are complete. The history at the middle is run
    backwards for all tokens at once: `x` and `y` are the neighbours there.
    """
    merge_of = _PairIndex(left, right)
    x, y = left[_N_BYTES:], right[_N_BYTES:]
    while True:
        newest = np.maximum(x, y)
        unfinished = newest >= _N_BYTES
        if not unfinished.any():
            return True
        x, y, newest = x[unfinished], y[unfinished], newest[unfinished]
        undo_x = x > y
        x, y = np.where(undo_x, right[x], x), np.where(undo_x, y, left[y])
        across = merge_of(x, y)
        # On equal rank the leftmost goes first: the merge across, unless x's own is further left.
        if ((across < newest) | ((across == newest) & ~undo_x)).any():
            return False


class _PairIndex:
    """Looks up which token a pair of neighbours merges into."""

    def __init__(self, left: _Indices, right: _Indices) -> None:
        self._size = len(left)
        keys = left[_N_BYTES:] * self._size + right[_N_BYTES:]
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def __call__(self, x: _Indices, y: _Indices) -> _Indices:
        """Index of the merged token; past the end where the pair has no merge."""
        keys = x * self._size + y
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, _N_BYTES + self._order[at], self._size)
