"""The logit lens: ln_f and the vocabulary projection applied to every layer's residual stream.

nostalgebraist, "interpreting GPT: the logit lens" (2020). The head's own passes draw it, right
after each residual, while that is still in its texture.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpt2gl.gl.call import Step
from gpt2gl.gl.storage import read_rows

if TYPE_CHECKING:
    from gpt2gl.models.gpt2 import GPT2

Floats = NDArray[np.float32]
# Called with the name of a residual, positions of the text [P], and logits [P, vocab_size].
OnLogits = Callable[[str, Sequence[int], Floats], None]


def lens_names(n_layer: int) -> tuple[str, ...]:
    """The residual stream before the first layer and after each."""
    return ("embed", *(f"h.{i}.resid_post" for i in range(n_layer)))


def lens_steps(
    model: GPT2, tokens: Sequence[int], positions: Sequence[int], on_logits: OnLogits
) -> Iterator[None]:
    """Run the plain plan over `tokens` and hand over what each layer would have said.

    Yields between bounded draws. The text in the cache is replaced. `positions` ascend; tokens
    after the last of them are not looked at.
    """
    names = lens_names(model.config.n_layer)
    plan = model.plan("trace")
    end = 1 + max(i for i, prepared in enumerate(plan) if prepared.call.label == names[-1])
    for first in range(0, positions[-1] + 1, model.chunk):
        chunk = tokens[first : first + model.chunk]
        step = Step(first, len(chunk))
        rows = [p - first for p in positions if first <= p < first + len(chunk)]
        model.device.set_step(step, chunk)
        for prepared in plan[:end]:
            yield from model.device.draw((prepared,), step)
            if rows and prepared.call.label in names:
                logits = yield from _logits(model, step, chunk, rows)
                on_logits(prepared.call.label, [first + row for row in rows], logits)
        model.device.check()


def _logits(
    model: GPT2, step: Step, chunk: Sequence[int], rows: Sequence[int]
) -> Generator[None, None, Floats]:
    """[len(rows), vocab_size] logits of rows of the residual stream as it is now."""
    if len(rows) == 1:
        # The head for one row takes the step's last.
        model.device.set_step(Step(step.n_past, rows[0] + 1), chunk)
        yield from model.device.draw(model.plan("prefill_head"), step)
        model.device.set_step(step, chunk)
        return model.logits()[None]
    plan = model.plan("row_logits")
    yield from model.device.draw(plan, step)
    found = read_rows(model.device, plan[-1].call.output, rows[0], rows[-1] - rows[0] + 1)
    return found[[row - rows[0] for row in rows]]
