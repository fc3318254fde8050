"""Canonical weight names and shapes, and how other writers' names map to them.

Canonical are the names of `transformers.GPT2LMHeadModel` without `transformer.`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpt2gl.config import ModelConfig

Shape = tuple[int, ...]

HEAD = "lm_head.weight"
EMBEDDING = "wte.weight"

# torch.compile, DataParallel and the language-model head each wrap the model once more.
PREFIXES = ("_orig_mod.", "module.", "transformer.")

# The causal mask, which old versions of the reference implementations saved with the weights.
_BUFFER = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")

# Stored [in, out] by Hugging Face (Conv1D), [out, in] by nn.Linear (nanoGPT) and GGUF.
TRANSPOSABLE = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")

_LAYER_NORMS = ("ln_1.bias", "ln_2.bias", "ln_f.bias")


def canonical(name: str) -> str:
    """The name without the prefixes of wrapping modules."""
    for prefix in PREFIXES * 2:
        name = name.removeprefix(prefix)
    return name


def is_buffer(name: str) -> bool:
    """Whether a canonical name is a mask saved with the weights, not a weight."""
    return _BUFFER.fullmatch(name) is not None


def is_transposable(name: str) -> bool:
    """Whether some writers store this matrix [out, in]."""
    return name.endswith(TRANSPOSABLE)


def bias_kind(name: str) -> str | None:
    """Which biases stand or fall together: those of layer norms, those of matrices; or None."""
    if not name.endswith(".bias"):
        return None
    return "layer norm" if name.endswith(_LAYER_NORMS) else "matrix"


def expected_shapes(config: ModelConfig) -> dict[str, Shape]:
    """Canonical name -> logical shape of every weight but `lm_head.weight`."""
    e = config.n_embd
    shapes: dict[str, Shape] = {EMBEDDING: (config.vocab_size, e)}
    shapes["wpe.weight"] = (config.n_positions, e)
    block = _block_shapes(e, config.n_inner)
    for layer in range(config.n_layer):
        shapes.update((f"h.{layer}.{name}", shape) for name, shape in block.items())
    shapes.update({"ln_f.weight": (e,), "ln_f.bias": (e,)})
    return shapes


def _block_shapes(e: int, n_inner: int) -> Mapping[str, Shape]:
    weights: dict[str, Shape] = {
        "ln_1": (e,),
        "attn.c_attn": (e, 3 * e),
        "attn.c_proj": (e, e),
        "ln_2": (e,),
        "mlp.c_fc": (e, n_inner),
        "mlp.c_proj": (n_inner, e),
    }
    shapes: dict[str, Shape] = {}
    for name, shape in weights.items():
        shapes.update({f"{name}.weight": shape, f"{name}.bias": shape[-1:]})
    return shapes


def absent_bias_kinds(expected: Iterable[str], present: Iterable[str]) -> set[str]:
    """Kinds of which a checkpoint holds no bias at all (nanoGPT's `bias=False`)."""
    kinds = {kind for name in expected if (kind := bias_kind(name))}
    return kinds - {bias_kind(name) for name in present}
