"""The few GL functions of the per-token path, without PyOpenGL's check after every call.

PyOpenGL asks glGetError after each call, half the cost of a pass on a fast GPU. These are the
driver's own entry points; `Device.check` asks once a forward pass instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from OpenGL import platform

_int, _uint, _pointer = ctypes.c_int, ctypes.c_uint, ctypes.c_void_p
# Where all arguments are plain ints none is declared: ctypes passes those fastest.
_INTS: tuple[Any, ...] = ()
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "glEnable": _INTS,
    "glDisable": _INTS,
    "glUseProgram": _INTS,
    "glBindFramebuffer": _INTS,
    "glActiveTexture": _INTS,
    "glBindTexture": _INTS,
    "glViewport": _INTS,
    "glDrawArrays": _INTS,
    "glBindBuffer": _INTS,
    "glBufferSubData": (_uint, ctypes.c_ssize_t, ctypes.c_ssize_t, _pointer),
    "glReadBuffer": _INTS,
    "glReadPixels": (_int, _int, _int, _int, _uint, _uint, _pointer),
}


class Calls:
    """`glDrawArrays` and friends as attributes, bound to the current driver."""

    glEnable: Callable[..., None]
    glDisable: Callable[..., None]
    glUseProgram: Callable[..., None]
    glBindFramebuffer: Callable[..., None]
    glActiveTexture: Callable[..., None]
    glBindTexture: Callable[..., None]
    glViewport: Callable[..., None]
    glDrawArrays: Callable[..., None]
    glBindBuffer: Callable[..., None]
    glBufferSubData: Callable[..., None]
    glReadBuffer: Callable[..., None]
    glReadPixels: Callable[..., None]

    def __init__(self) -> None:
        for name, arguments in _SIGNATURES.items():
            setattr(self, name, _entry_point(name, arguments))


def _entry_point(name: str, arguments: tuple[Any, ...]) -> Any:
    address = platform.PLATFORM.getExtensionProcedure(name.encode())
    factory = getattr(platform.PLATFORM, "DEFAULT_FUNCTION_TYPE", ctypes.CFUNCTYPE)
    if address:
        return factory(None, *arguments)(address)
    # wglGetProcAddress knows nothing of the functions of GL 1.1; the library exports those.
    function = getattr(platform.PLATFORM.GL, name)
    return factory(None, *arguments)((name, platform.PLATFORM.GL)) if function else function
