"""Every sub-step of every layer against a reference implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import OptionError, VerificationError
from gpt2gl.session import Session
from gpt2gl.tolerances import Difference, compare, visible_keys
from gpt2gl.weights import Checkpoint
from gpt2gl_reference import gpt2_numpy, gpt2_transformers

Trace = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Row:
    """One compared tensor."""

    name: str
    shape: tuple[int, ...]
    difference: Difference


def _numpy(checkpoint: Checkpoint, tokens: Sequence[int]) -> Trace:
    weights = {name: tensor.read() for name, tensor in checkpoint.tensors.items()}
    trace: Trace = gpt2_numpy.forward(weights, checkpoint.config, tokens, dtype=np.float32)
    return trace


def _transformers(checkpoint: Checkpoint, tokens: Sequence[int]) -> Trace:
    if checkpoint.source is None or not checkpoint.source.is_dir():
        raise OptionError("--against transformers needs --model to be a folder")
    try:
        trace: Trace = gpt2_transformers.trace(checkpoint.source, tokens)
    except (ImportError, ValueError, OSError) as error:
        raise VerificationError(f"the transformers reference did not run: {error}") from error
    return trace


REFERENCES: Mapping[str, Callable[[Checkpoint, Sequence[int]], Trace]] = {
    "numpy": _numpy,
    "transformers": _transformers,
}


def reference(against: str, checkpoint: Checkpoint, tokens: Sequence[int]) -> Trace:
    """Named tensors of a pass over `tokens`, computed by another implementation.

    Raises:
        OptionError: no such reference, or it cannot read this kind of model.
        VerificationError: the reference itself fails.
    """
    if against not in REFERENCES:
        raise OptionError(f"--against is {against}; allowed: {' | '.join(REFERENCES)}")
    return REFERENCES[against](checkpoint, tokens)


def verify(session: Session, expected: Trace, tokens: Sequence[int]) -> Iterator[Row]:
    """Compare the traced pass tensor by tensor, then the logits of the fused plans."""
    layout = session.model.layout
    found = session.trace(tokens)
    for name, values in expected.items():
        actual = visible_keys(name, found[name])
        difference = compare(layout, name, actual, visible_keys(name, values))
        yield Row(name, values.shape, difference)
    last = expected["logits"][-1]
    for plan, logits in _fused_logits(session, tokens):
        yield Row(f"logits, {plan}", last.shape, compare(layout, "logits", logits, last))


def _fused_logits(
    session: Session, tokens: Sequence[int]
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """The last logits by prefill alone, and by prefill of the first half and decode of the rest."""
    yield "prefill", session.logits(tokens)
    half = max(1, len(tokens) // 2)
    session.logits([*tokens[:half], (tokens[half - 1] + 1) % session.model.config.vocab_size])
    for n in range(half + 1, len(tokens) + 1):
        logits = session.logits(tokens[:n])
    if half < len(tokens):
        yield "decode", logits
