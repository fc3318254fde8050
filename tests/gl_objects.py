"""A record of every OpenGL object that is made, for the leak checks around tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from OpenGL import GL

# Kind of object -> the function that makes it, and the one that says whether a name is alive.
KINDS = {
    "texture": ("glGenTextures", "glIsTexture"),
    "framebuffer": ("glGenFramebuffers", "glIsFramebuffer"),
    "buffer": ("glGenBuffers", "glIsBuffer"),
    "vertex array": ("glGenVertexArrays", "glIsVertexArray"),
    "program": ("glCreateProgram", "glIsProgram"),
    "shader": ("glCreateShader", "glIsShader"),
}


class GLObjects:
    """Names of the objects made through PyOpenGL since `watch`, by kind."""

    def __init__(self) -> None:
        self.made: dict[str, set[int]] = {kind: set() for kind in KINDS}

    def watch(self, replace: Callable[[object, str, object], None]) -> None:
        """Wrap the makers; `replace` is a monkeypatch's setattr, which undoes it in the end."""
        for kind, (maker, _) in KINDS.items():
            replace(GL, maker, self._recording(getattr(GL, maker), self.made[kind]))

    def alive(self) -> dict[str, set[int]]:
        """The names that are still objects, asked from the driver, for kinds that have some."""
        found = {
            kind: {name for name in self.made[kind] if getattr(GL, is_alive)(name)}
            for kind, (_, is_alive) in KINDS.items()
        }
        return {kind: names for kind, names in found.items() if names}

    @staticmethod
    def _recording(maker: Callable[..., Any], names: set[int]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            result = maker(*arguments)
            names.update(int(name) for name in np.atleast_1d(result))
            return result

        return wrapped
