"""GPT-2 in GLSL fragment shaders.

    import gpt2gl

    with gpt2gl.load("storyteller") as model:
        for event in model.generate("Once upon a time"):
            if isinstance(event, gpt2gl.Token):
                print(event.text, end="")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gpt2gl.generation import Event, Finished, Generation, Token, Trimmed, Working
    from gpt2gl.interventions import (
        Add,
        Patch,
        Scale,
        ablate_heads,
        ablate_layer,
        ablate_mlp,
        patch_from,
        scale_layer,
    )
    from gpt2gl.loading import load
    from gpt2gl.sampling import Sampling
    from gpt2gl.session import Session

_HOMES = {
    "Add": "gpt2gl.interventions",
    "Event": "gpt2gl.generation",
    "Finished": "gpt2gl.generation",
    "Generation": "gpt2gl.generation",
    "Patch": "gpt2gl.interventions",
    "Sampling": "gpt2gl.sampling",
    "Scale": "gpt2gl.interventions",
    "Session": "gpt2gl.session",
    "Token": "gpt2gl.generation",
    "Trimmed": "gpt2gl.generation",
    "Working": "gpt2gl.generation",
    "ablate_heads": "gpt2gl.interventions",
    "ablate_layer": "gpt2gl.interventions",
    "ablate_mlp": "gpt2gl.interventions",
    "load": "gpt2gl.loading",
    "patch_from": "gpt2gl.interventions",
    "scale_layer": "gpt2gl.interventions",
}
__all__ = [
    "Add",
    "Event",
    "Finished",
    "Generation",
    "Patch",
    "Sampling",
    "Scale",
    "Session",
    "Token",
    "Trimmed",
    "Working",
    "ablate_heads",
    "ablate_layer",
    "ablate_mlp",
    "load",
    "patch_from",
    "scale_layer",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: NumPy, OpenGL and the tokenizer take time
    that `gpt2gl --version` should not."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
