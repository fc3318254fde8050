"""The tokens of an answer as places in its text, tinted by how sure the model was."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from gpt2gl_ui import theme
from gpt2gl_ui.chats.messages import NO_TOKEN, TokenInfo
from gpt2gl_ui.palette import Color, faded
from gpt2gl_ui.text.painting import Tokens

STRONGEST = 0.42  # opacity of the tint, with which text on it is still read with ease
STRONGEST_WEIGHT = 0.75
MANY_BITS = 8.0


def own_probability(token: TokenInfo) -> float:
    """The one under the model's own distribution, before any sampling option."""
    return math.exp(min(token.logprob, 0.0))


def _unlikely(token: TokenInfo) -> Color:
    return faded(theme.palette().warning, STRONGEST * (1.0 - own_probability(token)))


def _undecided(token: TokenInfo) -> Color:
    share = min((token.entropy or 0.0) / MANY_BITS, 1.0)
    return faded(theme.palette().accent, STRONGEST * share)


def weight_tint(weight: float) -> Color:
    """Behind a token that another attends to so much, 0 to 1; small weights are seen too."""
    share = math.sqrt(min(max(weight, 0.0), 1.0))
    return faded(theme.palette().accent, STRONGEST_WEIGHT * share)


# The setting `token_tint` -> the colour of a token.
TINTS: dict[str, Callable[[TokenInfo], Color]] = {
    "probability": _unlikely,
    "entropy": _undecided,
}


@dataclass
class TokenMap:
    """Grows with the answer: a token that was added costs as much as itself."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    colours: list[int] = field(default_factory=list)
    _look: object = None
    _last: TokenInfo | None = None

    def of(self, tokens: tuple[TokenInfo, ...], tint: str, selected: int | None) -> Tokens:
        """The places of all tokens, with colours unless `tint` is off."""
        look = (tint, theme.palette())
        known = len(self.starts)
        if look != self._look or known > len(tokens) or (known and tokens[known - 1] != self._last):
            self.starts, self.ends, self.colours = [], [], []
            self._look, known = look, 0
        for token in tokens[known:]:
            self._add(token, TINTS.get(tint))
        self._last = tokens[-1] if tokens else None
        return Tokens(self.starts, self.ends, self.colours if tint in TINTS else (), selected)

    def _add(self, token: TokenInfo, tint: Callable[[TokenInfo], Color] | None) -> None:
        start = self.ends[-1] if self.ends else 0
        self.starts.append(start)
        self.ends.append(start + len(token.text))
        plain = tint is None or token.id == NO_TOKEN
        self.colours.append(0 if plain or tint is None else theme.ink(tint(token)))
