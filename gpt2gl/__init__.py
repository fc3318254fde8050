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
    from gpt2gl.loading import load
    from gpt2gl.sampling import Sampling
    from gpt2gl.session import Session

_HOMES = {
    "Event": "gpt2gl.generation",
    "Finished": "gpt2gl.generation",
    "Generation": "gpt2gl.generation",
    "Sampling": "gpt2gl.sampling",
    "Session": "gpt2gl.session",
    "Token": "gpt2gl.generation",
    "Trimmed": "gpt2gl.generation",
    "Working": "gpt2gl.generation",
    "load": "gpt2gl.loading",
}
__all__ = [
    "Event",
    "Finished",
    "Generation",
    "Sampling",
    "Session",
    "Token",
    "Trimmed",
    "Working",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: NumPy, OpenGL and the tokenizer take time
    that `gpt2gl --version` should not."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
