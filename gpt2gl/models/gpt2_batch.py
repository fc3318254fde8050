"""Several continuations of one prompt at once: weights are fetched once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import ContextLengthError, OptionError
from gpt2gl.gl.call import Step
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import read_rows
from gpt2gl.kv_cache import allocate_cache
from gpt2gl.models.gpt2 import GPT2

# Positions that a fragment may look at beyond the newest: it takes keys four at a time.
SLACK = 4


def rows_for(model: GPT2, n: int) -> int:
    """Rows a fragment writes for n texts.

    Raises:
        OptionError: more texts than the device's colour attachments, or the plain layout.
    """
    if not LAYOUTS[model.layout].fold_ln:
        raise OptionError(
            "--precision fp32-plain draws one text at a time: choose another for --num"
        )
    most = model.device.limits.rows_per_fragment
    if not 1 <= n <= most:
        raise OptionError(f"a batch of {n} texts; this device takes 1 to {most} at once")
    return 4 if n <= 4 else 8


class Batch:
    """Texts that share the prompt in the model's cache and go on by themselves.

    Their own keys and values are in textures of this object, sized for `max_tokens` tokens each;
    the model's cache is only read, and must keep the prompt meanwhile.
    """

    def __init__(self, model: GPT2, n_prompt: int, n: int, max_tokens: int) -> None:
        """`n` texts of `max_tokens` tokens at most, after `n_prompt` tokens in the cache.

        Raises:
            OptionError: too many texts at once.
            DeviceError: the GPU has no room for their caches.
        """
        self.model = model
        self.n = n
        self.n_prompt = n_prompt
        self.n_done = 0
        device, dims, config = model.device, model.dims, model.config
        rows = rows_for(model, n)
        self.max_tokens = min(max_tokens, config.n_positions - n_prompt)
        positions = self.max_tokens + SLACK
        self._tails = allocate_cache(device, dims, config.n_layer, rows, positions)
        scratch, self._logits = model.batch_scratch(rows)
        self._plan = device.record(model.planner.batch(scratch, self._tails, self._logits))

    def decode(self, tokens: Sequence[int]) -> Iterator[None]:
        """Add one token to each text, yielding between bounded draws.

        Raises:
            ContextLengthError: the texts are as long as the batch was made for.
        """
        if self.n_done == self.max_tokens:
            raise ContextLengthError(f"the batch was made for {self.max_tokens} tokens a text")
        step = Step(self.n_prompt + self.n_done, self.n, self.n_prompt)
        self.model.device.set_step(step, tokens)
        yield from self.model.device.draw(self._plan, step)
        self.model.device.check()
        self.n_done += 1

    def logits(self) -> NDArray[np.float32]:
        """[n, vocab_size] logits after the last token of each text; waits for the device."""
        return read_rows(self.model.device, self._logits, 0, self.n)

    def close(self) -> None:
        """Free the textures of the texts."""
        self._tails.close(self.model.device)
        self.model.device.trim()
