"""All steps in order, and running them over the logits of one position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import OptionError
from .options import SAMPLING_OPTIONS, Sampling
from .processors import PROCESSORS
from .state import Logits, State, Step, TokenIds
from .warpers import WARPERS

SAMPLERS: dict[str, Step] = {**PROCESSORS, **WARPERS}
"""Name of a step, which is that of its field in `Sampling` -> the step, in order of application."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Tokens that may be chosen: `ids` [n] ascending, and `logits` [n], -inf where excluded."""

    ids: TokenIds
    logits: Logits

    def narrowed(self) -> Candidates:
        """These candidates without the excluded ones, if those are the greater part.

        Dropping fewer would cost more time than the later steps save.
        """
        living = self.logits != -np.inf
        if 2 * np.count_nonzero(living) > living.size:
            return self
        kept = np.flatnonzero(living)
        return Candidates(self.ids[kept], self.logits[kept])


def filtered(vocabulary: Candidates, state: State) -> Candidates:
    """Run every step on the logits of the whole `vocabulary`, of which one is finite, none NaN.

    At least one of the candidates returned is not excluded. Raises `OptionError` if the options
    forbid every token.
    """
    logits = vocabulary.logits
    for process in PROCESSORS.values():
        logits = process(logits, state)
    if logits.max() == -np.inf:
        raise _nothing_left(state)
    candidates = Candidates(vocabulary.ids, logits)
    for warp in WARPERS.values():
        warped = warp(candidates.logits, state)
        if warped is not candidates.logits:
            candidates = Candidates(candidates.ids, warped).narrowed()
    return candidates


def _nothing_left(state: State) -> OptionError:
    options = ", ".join(_active_processors(state.options))
    return OptionError(
        f"no token is left to choose after {state.context.size} tokens of text: "
        f"{options} together forbid all of them; relax one of these options"
    )


def _active_processors(options: Sampling) -> Iterator[str]:
    defaults = Sampling()
    for name in PROCESSORS:
        if getattr(options, name) != getattr(defaults, name):
            yield SAMPLING_OPTIONS[name].cli
