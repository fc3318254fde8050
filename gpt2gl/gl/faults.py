"""Errors that OpenGL reports, as errors of this package; and clean-up that nothing stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from OpenGL import GL
from OpenGL.error import Error

from gpt2gl.errors import ContextLost, DeviceError

# https://registry.khronos.org/OpenGL/extensions/KHR/KHR_robustness.txt; any call of a context
# that was lost may report it, for ever after.
CONTEXT_LOST = 0x0507

_REASONS = {
    int(GL.GL_OUT_OF_MEMORY): "the GPU ran out of memory: close other programs, or use a smaller"
    " model or precision",
    CONTEXT_LOST: "the OpenGL context was lost (the driver was reset or the GPU removed):"
    " start again",
}


def described(code: int, where: str) -> DeviceError:
    """The error for a code of glGetError, `where` is "on" a driver or "in" a function."""
    kind = ContextLost if code == CONTEXT_LOST else DeviceError
    return kind(_REASONS.get(code, f"OpenGL error {code:#x} {where}: run 'gpt2gl doctor'"))


@contextmanager
def device_errors() -> Iterator[None]:
    """Turn what PyOpenGL raises into `DeviceError`; a `with` block or a decorator."""
    try:
        yield
    except Error as error:
        code = getattr(error, "err", None)
        if isinstance(code, int):
            name = getattr(getattr(error, "baseOperation", None), "__name__", "OpenGL")
            raise described(code, f"in {name}") from error
        # A function that the driver does not have.
        raise DeviceError(f"{' '.join(str(error).split())}: update the graphics driver") from error


def release(*calls: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
    """Make calls that delete or unbind, each of them whatever became of the ones before.

    A lost context reports an error at every call, and its objects are gone already.
    """
    for function, arguments in calls:
        with suppress(Error):
            function(*arguments)
