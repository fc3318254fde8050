"""A record of every OpenGL object that is made, for the leak checks around tests."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from OpenGL import GL


class Kind(NamedTuple):
    """The functions that make an object, delete it, and say whether a name is one."""

    maker: str
    deleter: str
    is_alive: str


KINDS = {
    "texture": Kind("glGenTextures", "glDeleteTextures", "glIsTexture"),
    "framebuffer": Kind("glGenFramebuffers", "glDeleteFramebuffers", "glIsFramebuffer"),
    "renderbuffer": Kind("glGenRenderbuffers", "glDeleteRenderbuffers", "glIsRenderbuffer"),
    "buffer": Kind("glGenBuffers", "glDeleteBuffers", "glIsBuffer"),
    "vertex array": Kind("glGenVertexArrays", "glDeleteVertexArrays", "glIsVertexArray"),
    "sampler": Kind("glGenSamplers", "glDeleteSamplers", "glIsSampler"),
    "query": Kind("glGenQueries", "glDeleteQueries", "glIsQuery"),
    "fence": Kind("glFenceSync", "glDeleteSync", "glIsSync"),
    "program": Kind("glCreateProgram", "glDeleteProgram", "glIsProgram"),
    "shader": Kind("glCreateShader", "glDeleteShader", "glIsShader"),
}


class GLObjects:
    """Names of the objects made through PyOpenGL since `watch`, by kind.

    `balance` counts what was made less what was deleted, in any context and without asking one.
    """

    def __init__(self) -> None:
        self.made: dict[str, set[int]] = {kind: set() for kind in KINDS}
        self.balance: Counter[str] = Counter()

    def watch(self, replace: Callable[[object, str, object], None]) -> None:
        """Wrap the functions; `replace` is a monkeypatch's setattr, which undoes it in the end."""
        for kind, (maker, deleter, _) in KINDS.items():
            replace(GL, maker, self._recording(getattr(GL, maker), kind))
            replace(GL, deleter, self._counting(getattr(GL, deleter), kind))

    def alive(self) -> dict[str, set[int]]:
        """The names that are still objects, asked from the driver, for kinds that have some."""
        found = {
            kind: {name for name in self.made[kind] if getattr(GL, functions.is_alive)(name)}
            for kind, functions in KINDS.items()
        }
        return {kind: names for kind, names in found.items() if names}

    def counted(self) -> dict[str, int]:
        """The balance of the kinds that have one."""
        return {kind: count for kind, count in self.balance.items() if count}

    def _recording(self, maker: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            result = maker(*arguments)
            names = _names(result)
            self.made[kind].update(names)
            self.balance[kind] += len(names)
            return result

        return wrapped

    def _counting(self, deleter: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            # (name) or (count, names); 0 is no object.
            self.balance[kind] -= sum(1 for name in _names(arguments[-1]) if name)
            return deleter(*arguments)

        return wrapped


def _names(found: Any) -> list[int]:
    """A name, several, or the address that stands for a fence."""
    if hasattr(found, "contents"):
        return [ctypes.cast(found, ctypes.c_void_p).value or 0]
    return [int(name) for name in np.atleast_1d(found)]
