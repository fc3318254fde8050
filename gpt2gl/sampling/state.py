"""What a sampling step is given besides the logits, and the types that steps share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .options import Sampling

Logits: TypeAlias = NDArray[np.float32]
TokenIds: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class State:
    """The moment at which a token is chosen.

    `context` [n_context] holds the whole text so far, its first `n_prompt` tokens the prompt's.
    `eos_id` ends a text; None, or an id outside the vocabulary, means that nothing does.
    """

    options: Sampling
    context: TokenIds
    n_prompt: int
    eos_id: int | None

    @property
    def answer(self) -> TokenIds:
        """The tokens generated so far [n_context - n_prompt]."""
        return self.context[self.n_prompt :]


Step: TypeAlias = Callable[[Logits, State], Logits]
"""A pure function from logits [n] to logits [n]; a token that may not be chosen gets -inf.

A step that changes nothing may return its argument; no step writes to it.
"""
