"""OpenGL contexts without a window or a display server, on a device of choice: EGL, on Linux.

Devices are listed by EGL_EXT_device_enumeration and opened by EGL_EXT_platform_device; a driver
without them has its default display. Where drivers offer no OpenGL 3.3, as on a Raspberry Pi, they
have OpenGL ES 3, which is as good here.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_uint, c_void_p
from typing import Any, NamedTuple

from gpt2gl.errors import DeviceError

# https://registry.khronos.org/EGL/api/EGL/egl.h and eglext.h
EXTENSIONS = 0x3055
SUCCESS, NONE = 0x3000, 0x3038
PLATFORM_DEVICE = 0x313F
SURFACE_TYPE, PBUFFER_BIT = 0x3033, 0x0001
RENDERABLE_TYPE, OPENGL_BIT, OPENGL_ES3_BIT = 0x3040, 0x0008, 0x0040
OPENGL_API, OPENGL_ES_API = 0x30A2, 0x30A0
WIDTH, HEIGHT = 0x3057, 0x3056
MAJOR_VERSION, MINOR_VERSION, PROFILE_MASK, CORE_PROFILE = 0x3098, 0x30FB, 0x30FD, 0x1
MAX_DEVICES = 64
_ERRORS = {
    0x3001: "the driver cannot be initialised",
    0x3002: "no access to the device",
    0x3003: "out of memory",
    0x3005: "no suitable configuration",
    0x3009: "this kind of context is not supported",
    0x300C: "a parameter was refused",
    0x300E: "the context was lost",
}


class Api(NamedTuple):
    """A kind of OpenGL, as EGL names it."""

    name: str
    bind: int
    renderable: int
    attributes: tuple[int, ...]


# In the order in which they are tried.
APIS = {
    "gl": Api(
        "OpenGL 3.3",
        OPENGL_API,
        OPENGL_BIT,
        (MAJOR_VERSION, 3, MINOR_VERSION, 3, PROFILE_MASK, CORE_PROFILE),
    ),
    "gles": Api("OpenGL ES 3.0", OPENGL_ES_API, OPENGL_ES3_BIT, (MAJOR_VERSION, 3)),
}

_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "eglGetError": (c_int, ()),
    "eglQueryString": (c_char_p, (c_void_p, c_int)),
    "eglGetDisplay": (c_void_p, (c_void_p,)),
    "eglInitialize": (c_uint, (c_void_p, c_void_p, c_void_p)),
    "eglBindAPI": (c_uint, (c_uint,)),
    "eglChooseConfig": (c_uint, (c_void_p, c_void_p, c_void_p, c_int, c_void_p)),
    "eglCreatePbufferSurface": (c_void_p, (c_void_p, c_void_p, c_void_p)),
    "eglDestroySurface": (c_uint, (c_void_p, c_void_p)),
    "eglCreateContext": (c_void_p, (c_void_p, c_void_p, c_void_p, c_void_p)),
    "eglDestroyContext": (c_uint, (c_void_p, c_void_p)),
    "eglMakeCurrent": (c_uint, (c_void_p, c_void_p, c_void_p, c_void_p)),
    "eglQueryDevicesEXT": (c_uint, (c_int, c_void_p, c_void_p)),
    "eglGetPlatformDisplayEXT": (c_void_p, (c_uint, c_void_p, c_void_p)),
}


class _Egl:
    """EGL's functions as attributes; None for an extension's that is not there."""

    def __init__(self) -> None:
        from OpenGL import platform

        library = platform.PLATFORM.EGL
        if library is None:
            raise ImportError("the EGL library cannot be found")
        library.eglGetProcAddress.restype = c_void_p
        for name, (result, arguments) in _FUNCTIONS.items():
            address = library.eglGetProcAddress(name.encode())
            function = ctypes.CFUNCTYPE(result, *arguments)(address) if address else None
            setattr(self, name, function or getattr(library, name, None))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)  # for the type checker: attributes are set above

    def failure(self, what: str) -> DeviceError:
        code = self.eglGetError()
        reason = _ERRORS.get(code, f"EGL error {code:#x}")
        return DeviceError(f"{what}: {reason if code != SUCCESS else 'the driver says no more'}")


_egl: _Egl | None = None


def _library() -> _Egl:
    global _egl
    if _egl is None:
        _egl = _Egl()
    return _egl


def device_count() -> int:
    """How many devices EGL lists; 0 where it cannot list any and has only a default."""
    return len(_devices())


def _devices() -> list[int]:
    egl = _library()
    extensions = (egl.eglQueryString(None, EXTENSIONS) or b"").split()
    can_list = {b"EGL_EXT_device_base", b"EGL_EXT_device_enumeration"} & set(extensions)
    if not can_list or b"EGL_EXT_platform_device" not in extensions:
        return []
    found, count = (c_void_p * MAX_DEVICES)(), c_int()
    if not egl.eglQueryDevicesEXT(MAX_DEVICES, found, byref(count)):
        return []
    return [int(device or 0) for device in found[: count.value]]


class EglContext:
    """An OpenGL context on device number `device` of those that EGL lists.

    Raises:
        DeviceError: there is no such device, it cannot be opened, or lacks that kind of OpenGL.
    """

    def __init__(self, device: int, api: str) -> None:
        self.device, self.api = device, api
        egl, wanted = _library(), APIS[api]
        self._display = _display(egl, device)
        egl.eglBindAPI(wanted.bind)
        config = _config(egl, self._display, wanted)
        attributes = (*wanted.attributes, NONE)
        self._context = egl.eglCreateContext(self._display, config, None, _ints(*attributes))
        if not self._context:
            raise egl.failure(f"no context for {wanted.name}")
        # A driver that draws without a surface has none to give.
        sides = _ints(WIDTH, 1, HEIGHT, 1, NONE)
        self._surface = config and egl.eglCreatePbufferSurface(self._display, config, sides)
        try:
            self.switch_to()
        except DeviceError:
            self.close()
            raise

    def switch_to(self) -> None:
        """Make this the thread's context."""
        egl = _library()
        egl.eglBindAPI(APIS[self.api].bind)
        surface, context = self._surface, self._context
        if not (context and egl.eglMakeCurrent(self._display, surface, surface, context)):
            raise egl.failure("the context cannot be made current")

    def close(self) -> None:
        """Give the context back, whoever's it is now; safe to call twice."""
        if self._context:
            egl = _library()
            egl.eglMakeCurrent(self._display, None, None, None)
            egl.eglDestroyContext(self._display, self._context)
            if self._surface:
                egl.eglDestroySurface(self._display, self._surface)
            self._context = self._surface = None


def _display(egl: _Egl, device: int) -> int:
    devices = _devices()
    if devices:
        display = egl.eglGetPlatformDisplayEXT(PLATFORM_DEVICE, devices[device], None)
    else:
        display = egl.eglGetDisplay(None)
    if not display or not egl.eglInitialize(display, None, None):
        raise egl.failure("it cannot be opened")
    return int(display)


def _config(egl: _Egl, display: int, api: Api) -> int | None:
    """A configuration for a small surface; None where the driver has none, see `EglContext`."""
    wanted = _ints(SURFACE_TYPE, PBUFFER_BIT, RENDERABLE_TYPE, api.renderable, NONE)
    found, count = (c_void_p * 1)(), c_int()
    if not egl.eglChooseConfig(display, wanted, found, 1, byref(count)):
        raise egl.failure(f"no configuration for {api.name}")
    return found[0] if count.value else None


def _ints(*values: int) -> Any:
    return (c_int * len(values))(*values)
