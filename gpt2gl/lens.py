"""What the logit lens shows: each layer's guesses at positions of a text.

nostalgebraist, "interpreting GPT: the logit lens" (2020). The logits come from the engine's own
passes, see `gpt2gl.models.gpt2_lens`; here they become guesses, probabilities and ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpt2gl.analysis import probabilities, ranks, top_k
from gpt2gl.errors import OptionError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Lens:
    """Guesses of N = n_layer + 1 residual streams at P positions.

    Attributes:
        names: [N] the residuals, `embed` and each `h.i.resid_post`.
        positions: [P] ascending.
        tokens: [N, P, top] most probable tokens, the first most.
        probabilities: [N, P, top] theirs.
        chosen: [P] the token that each position is judged by.
        chosen_probabilities: [N, P] its probability.
        chosen_ranks: [N, P] its rank, 1 for the most probable.
    """

    names: tuple[str, ...]
    positions: tuple[int, ...]
    tokens: Ints
    probabilities: Floats
    chosen: Ints
    chosen_probabilities: Floats
    chosen_ranks: Ints


def check_positions(positions: Sequence[int] | None, n_tokens: int) -> tuple[int, ...]:
    """Positions in ascending order; all of the text where none are given.

    Raises:
        OptionError: there are none, or one is outside the text.
    """
    wanted = range(n_tokens) if positions is None else sorted(set(positions))
    if not wanted or not 0 <= wanted[0] <= wanted[-1] < n_tokens:
        raise OptionError(f"lens positions {positions}; allowed: some of 0 to {n_tokens - 1}")
    return tuple(int(position) for position in wanted)


def check_top(top: int, vocab_size: int) -> int:
    """How many guesses to keep.

    Raises:
        OptionError: more than there are tokens, or none.
    """
    if not 1 <= top <= vocab_size:
        raise OptionError(f"the lens has a top of {top}; allowed: 1 to {vocab_size}")
    return top


class LensReader:
    """Takes logits as they come and keeps what a `Lens` needs of them.

    Args:
        names: [N] the residuals, in order of computation.
        tokens: the text.
        positions: [P] ascending.
        top: how many guesses to keep.
        chosen: tokens to judge positions by, where that is not the text's next token, or at its
            end the one that the last layer finds most probable.
    """

    def __init__(
        self,
        names: Sequence[str],
        tokens: Sequence[int],
        positions: Sequence[int],
        top: int,
        chosen: Mapping[int, int],
    ) -> None:
        self.names = tuple(names)
        self.positions = tuple(positions)
        n, p = len(self.names), len(self.positions)
        follows = {**dict(enumerate(tokens[1:])), **chosen}
        self._chosen = np.array([follows.get(i, -1) for i in self.positions], np.int64)
        self._tokens = np.zeros((n, p, top), np.int64)
        self._probabilities = np.zeros((n, p, top), np.float32)
        self._chosen_probabilities = np.zeros((n, p), np.float32)
        self._chosen_ranks = np.zeros((n, p), np.int64)
        # Rows [vocab_size] of a position whose chosen token only the last layer will tell.
        self._open: list[tuple[int, int, Floats]] = []

    def on_logits(self, name: str, positions: Sequence[int], logits: Floats) -> None:
        """Logits [len(positions), vocab_size] of one residual at some of the positions."""
        layer = self.names.index(name)
        for position, row in zip(positions, logits, strict=True):
            column = self.positions.index(position)
            p = probabilities(row)
            order = top_k(row, self._tokens.shape[-1])
            self._tokens[layer, column] = order
            self._probabilities[layer, column] = p[order]
            if self._chosen[column] >= 0:
                self._judge(layer, column, row)
                continue
            self._open.append((layer, column, row))
            if layer == len(self.names) - 1:
                self._chosen[column] = order[0]

    def _judge(self, layer: int, column: int, row: Floats) -> None:
        """Rank and probability of the chosen token in one row of logits."""
        chosen = self._chosen[column]
        self._chosen_probabilities[layer, column] = probabilities(row)[chosen]
        self._chosen_ranks[layer, column] = ranks(row, chosen)

    def result(self) -> Lens:
        """The lens, once all logits have come."""
        for layer, column, row in self._open:
            self._judge(layer, column, row)
        return Lens(
            self.names,
            self.positions,
            self._tokens,
            self._probabilities,
            self._chosen,
            self._chosen_probabilities,
            self._chosen_ranks,
        )
