"""What the user has switched off, scaled or patched, as interventions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpt2gl.interventions import Intervention, Patch, Scale
from gpt2gl.session import Session

HEAD, MLP, LAYER = "head", "mlp", "layer"
Floats = npt.NDArray[np.float32]
NEW_TOKENS = 16
SHOWN_LOGITS = 8


@dataclass(frozen=True, order=True)
class Part:
    """A head, an MLP (head -1) or a layer (head -1) of the model."""

    kind: str
    layer: int
    head: int = -1

    @property
    def label(self) -> str:
        names = {HEAD: f"head {self.head} of layer {self.layer}", MLP: f"MLP of layer {self.layer}"}
        return names.get(self.kind, f"layer {self.layer}")


@dataclass(frozen=True)
class Source:
    """Where a patch comes from: a residual (0 after the embedding) at a position of a text."""

    tokens: tuple[int, ...]
    point: int
    position: int

    @property
    def name(self) -> str:
        return "embed" if self.point == 0 else f"h.{self.point - 1}.resid_post"


@dataclass
class Changes:
    """What is changed now. `version` is another after each change."""

    factors: dict[Part, float] = field(default_factory=dict)
    source: Source | None = None
    version: int = 0
    applied: int = 0
    _values: dict[Source, Floats] = field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        return bool(self.factors) or self.source is not None

    def factor(self, part: Part) -> float:
        return self.factors.get(part, 1.0)

    def scale(self, part: Part, factor: float) -> None:
        """Scale a part; 1 is as the model is."""
        before = dict(self.factors)
        self.factors.pop(part, None)
        if factor != 1.0:
            self.factors[part] = factor
        if before != self.factors:
            self.version += 1

    def patch(self, source: Source | None) -> None:
        """Put a residual of another text in place of this one's; None ends it."""
        if source != self.source:
            self.source = source
            self.version += 1

    def reset(self) -> None:
        """The model as it is."""
        if self.is_active:
            self.factors.clear()
            self.source = None
            self.version += 1

    def forget(self) -> None:
        """For another model."""
        self.reset()
        self._values.clear()
        self.applied = self.version

    def interventions(self) -> list[Intervention]:
        """All of it, once the values of the patch are there."""
        found: list[Intervention] = list(_scales(self.factors))
        if self.source is not None and self.source in self._values:
            row = self._values[self.source]
            found.append(Patch(self.source.name, row[None], (self.source.position,)))
        return found

    def apply_steps(self, session: Session) -> Generator[None, None, None]:
        """Have the session run under them."""
        version = self.version
        source = self.source
        if source is not None and source not in self._values:
            session.set_interventions(())
            trace = yield from session.trace_steps(source.tokens, [source.name])
            self._values[source] = trace[source.name][source.position]
        session.set_interventions(self.interventions())
        self.applied = version


def _scales(factors: dict[Part, float]) -> list[Scale]:
    """One for each tensor, so that strengths change without other textures."""
    heads: dict[int, dict[int, float]] = {}
    found: list[Scale] = []
    for part, factor in sorted(factors.items()):
        if part.kind == HEAD:
            heads.setdefault(part.layer, {})[part.head] = factor
        elif part.kind == MLP:
            found.append(Scale(f"h.{part.layer}.mlp.out", factor))
        else:
            found.append(Scale(f"h.{part.layer}.attn.out", factor))
            found.append(Scale(f"h.{part.layer}.mlp.out", factor))
    for layer, of in heads.items():
        found.append(Scale(f"h.{layer}.attn.z", tuple(of.values()), heads=tuple(of)))
    return found


# Comparing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Logits [vocab_size] after a text, and the tokens that follow when the best is taken."""

    logits: Floats
    tokens: tuple[int, ...]


def outcome_steps(
    session: Session, tokens: Sequence[int], n_new: int
) -> Generator[None, None, Outcome]:
    """Continue a text greedily; at the end the cache holds the text alone again."""
    text, first = list(tokens), None
    most = session.model.config.n_positions
    end = session.model.config.eos_token_id
    while len(text) - len(tokens) < n_new and len(text) <= most:
        yield from session.encode_steps(text)
        logits = session.model.logits()
        first = logits if first is None else first
        text.append(int(logits.argmax()))
        if text[-1] == end:
            break
    yield from session.encode_steps(tokens)
    assert first is not None
    return Outcome(first, tuple(text[len(tokens) :]))


def unchanged_steps(
    session: Session, tokens: Sequence[int], n_new: int
) -> Generator[None, None, Outcome]:
    """The same without any intervention; those of the session are back afterwards."""
    before = session.interventions
    session.set_interventions(())
    try:
        return (yield from outcome_steps(session, tokens, n_new))
    finally:
        if not session.is_closed:
            session.set_interventions(before)


def largest_changes(
    before: Floats, after: Floats, count: int = SHOWN_LOGITS
) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """The tokens whose logits gained and lost most, with by how much."""
    change = after - before
    order = np.argsort(change, kind="stable")
    gains = [(int(i), float(change[i])) for i in order[::-1][:count]]
    losses = [(int(i), float(change[i])) for i in order[:count]]
    return gains, losses
