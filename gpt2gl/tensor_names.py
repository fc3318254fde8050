"""Names of the tensors inside a GPT-2, and patterns for them.

A tensor is named after its module in transformers' `GPT2LMHeadModel`, with short names for what
has no module there (`attn.q`, `attn.scores`, `resid_mid`); `gpt2gl.models.gpt2_trace` lists them
with their shapes. A pattern is one of `fnmatch`: `*` stands for anything, dots included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from gpt2gl.errors import OptionError

# The tensors of a block in the order of computation.
BLOCK_TENSORS = (
    *("ln_1", "attn.q", "attn.k", "attn.v", "attn.scores", "attn.probs", "attn.z", "attn.out"),
    *("resid_mid", "ln_2", "mlp.fc", "mlp.act", "mlp.out", "resid_post"),
)
# Modules in transformers -> the tensor that is their output.
MODULES = {
    "transformer.drop": "embed",
    "lm_head": "logits",
}
BLOCK_MODULES = {
    "attn": "attn.out",
    "attn.c_proj": "attn.out",
    "mlp": "mlp.out",
    "mlp.c_fc": "mlp.fc",
    "mlp.c_proj": "mlp.out",
}
_IN_BLOCK = re.compile(r"(h\.[^.]+)\.(.+)")
_BLOCK = re.compile(r"h\.\d+")


def tensor_names(n_layer: int) -> tuple[str, ...]:
    """Every tensor of a model with that many layers, in the order of computation."""
    blocks = [f"h.{i}.{name}" for i in range(n_layer) for name in BLOCK_TENSORS]
    return ("embed", *blocks, "ln_f", "logits")


def canonical(pattern: str) -> str:
    """A name or pattern as used here, from one that transformers' modules have.

    A leading `transformer.` is dropped; a module stands for its output: `h.3` is
    `h.3.resid_post`, `h.3.attn` is `h.3.attn.out`, `h.3.mlp.c_fc` is `h.3.mlp.fc`.
    """
    if pattern in MODULES:
        return MODULES[pattern]
    name = pattern.removeprefix("transformer.")
    if _BLOCK.fullmatch(name):
        return f"{name}.resid_post"
    match = _IN_BLOCK.fullmatch(name)
    if match is None or match[2] not in BLOCK_MODULES:
        return name
    return f"{match[1]}.{BLOCK_MODULES[match[2]]}"


def matching(patterns: Iterable[str], names: Sequence[str]) -> tuple[str, ...]:
    """Those of `names` that any of the patterns matches, in their order.

    Raises:
        OptionError: a pattern matches none; says which names there are.
    """
    found: set[str] = set()
    for pattern in patterns:
        wanted = canonical(pattern)
        hits = [name for name in names if fnmatchcase(name, wanted)]
        if not hits:
            raise OptionError(f"no tensor is called {pattern!r}; allowed: {_summary(names)}")
        found.update(hits)
    return tuple(name for name in names if name in found)


def _summary(names: Sequence[str]) -> str:
    """Names for a message, those of all blocks once."""
    blocks = [match for match in map(_IN_BLOCK.fullmatch, names) if match]
    inner = dict.fromkeys(match[2] for match in blocks)
    outer = [name for name in names if not _IN_BLOCK.fullmatch(name)]
    last = blocks[-1][1] if blocks else ""
    inside = [f"h.N.{{{', '.join(inner)}}} with h.0 to {last}"] if blocks else []
    return ", ".join([*inside, *outer])
