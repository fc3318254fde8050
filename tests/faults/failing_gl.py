"""An OpenGL driver that fails when it is told to, in the ways that drivers do.

Functions that make or fill something report "out of memory" and do nothing. A lost context
reports its loss at every call from then on. What deletes always deletes, so that the driver can
be asked afterwards whether anything was forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from OpenGL import GL

from gpt2gl.gl import device
from gpt2gl.gl.calls import Calls
from gpt2gl.gl.faults import CONTEXT_LOST
from tests.gl_objects import KINDS

UPLOADS = ("glTexImage3D", "glTexSubImage3D", "glBufferData")
# The leak checks ask the driver by these.
LOOK_ONLY = {kind.is_alive for kind in KINDS.values()}
OUT_OF_MEMORY = int(GL.GL_OUT_OF_MEMORY)


class FailingGL:
    """PyOpenGL with every function counted, and one call of them set to fail.

    Attributes:
        calls: how often each function was called since `reset`.
        order: the functions in the order in which they were called.
        lost: whether the context is lost.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.reset()
        for name in dir(GL):
            function = getattr(GL, name)
            if name.startswith("gl") and callable(function) and name not in LOOK_ONLY:
                patch.setattr(GL, name, self._wrapped(name, function))

    def reset(self) -> None:
        """Count from zero; nothing fails."""
        self.calls: Counter[str] = Counter()
        self.order: list[str] = []
        self.lost = False
        self._fails: Callable[[str], bool] = lambda name: False
        self._code = 0

    def fail(self, code: int, name: str, number: int) -> None:
        """Let the call of that number, from 0, of a function report `code`."""
        self.reset()
        self._code = code
        self._fails = lambda called: called == name and self.calls[name] == number + 1

    def fail_call(self, code: int, number: int) -> None:
        """The same, whatever function it is."""
        self.reset()
        self._code = code
        self._fails = lambda called: len(self.order) == number + 1

    def _wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            self.order.append(name)
            if self._fails(name):
                self.lost = self._code == CONTEXT_LOST
                return self._failed(name, function, arguments, self._code)
            if self.lost:
                return self._failed(name, function, arguments, CONTEXT_LOST)
            return function(*arguments)

        return call

    @staticmethod
    def _failed(name: str, function: Callable[..., Any], arguments: Any, code: int) -> Any:
        if name == "glGetError":
            return code
        if name.startswith(("glDelete", "glUseProgram", "glBindFramebuffer")):
            function(*arguments)
        raise GL.GLError(err=code, baseOperation=function)


class WatchedCalls(Calls):
    """The functions of the per-token path; `before` is called with the name of each first."""

    @staticmethod
    def before(name: str) -> None:
        """Nothing, until a test puts something here."""

    def __init__(self) -> None:
        super().__init__()
        for name, function in list(vars(self).items()):
            setattr(self, name, self._watched(name, function))

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            type(self).before(name)
            return function(*arguments)

        return call


def watch_draws(patch: pytest.MonkeyPatch, before: Callable[[str], None]) -> None:
    """Devices made from now on tell `before` of every function of the per-token path."""
    patch.setattr(WatchedCalls, "before", staticmethod(before))
    patch.setattr(device, "Calls", WatchedCalls)


def refuse_status(patch: pytest.MonkeyPatch, ask: str, log: str, text: bytes) -> None:
    """Let every compilation, or every link, fail with a text in its log."""
    original = getattr(GL, ask)
    statuses = (int(GL.GL_COMPILE_STATUS), int(GL.GL_LINK_STATUS))
    patch.setattr(GL, ask, lambda name, what: what not in statuses and original(name, what))
    patch.setattr(GL, log, lambda name: text)


