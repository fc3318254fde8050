"""Where the OpenGL context comes from: one made here without a window, or the one already current.

Headless contexts come from EGL on Linux, where no display server is needed and a device can be
chosen; on Windows and macOS they are pyglet's, through a hidden window, and the system chooses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpt2gl.errors import DeviceError, OptionError

LINUX = sys.platform.startswith("linux")
INSTALL_HINT = (
    "on Debian or Ubuntu: sudo apt-get install libegl1 libgl1 libgl1-mesa-dri"
    if LINUX
    else "update the graphics driver"
)
DEVICE_VARIABLE, API_VARIABLE = "GPT2GL_DEVICE", "GPT2GL_API"
API_NAMES = ("gl", "gles")


class Choice(NamedTuple):
    """Which device to draw on and with which kind of OpenGL; None where any will do.

    `device` is a number of `devices` or a part of a renderer's name.
    """

    device: str | None = None
    api: str | None = None


class DeviceEntry(NamedTuple):
    """A device that EGL lists: its renderer, or why it cannot be used."""

    number: int
    renderer: str
    problem: str


@dataclass
class Context:
    """An OpenGL context that can be made current.

    `window` is what makes it so, a pyglet window or an EGL context; None when adopted. `owner` is
    the device whose state is set in the context now; devices may share a context.
    """

    window: Any | None
    owner: object | None = None

    def make_current(self) -> None:
        global _current
        if self.window is not None:
            if _current is not self and _current is not None:
                _current.owner = None  # so that its device makes it current again
            self.window.switch_to()
            _current = self


_current: Context | None = None
_headless: dict[Choice, Context] = {}
_choice = Choice()


def adopt_current() -> Context:
    """Use whatever context is current in this thread, e.g. a desktop window's."""
    return Context(None)


def headless(device: str | None = None, api: str | None = None) -> Context:
    """The process's own context without a visible window, made on the first call.

    One for each choice is enough: models loaded side by side share it, since GL names never clash.

    Args:
        device: a device's number or a part of its renderer's name, see `devices`; by default that
            of `chosen`, of the variable GPT2GL_DEVICE, or the first that can be opened.
        api: gl or gles; likewise, with GPT2GL_API, and gl where the driver has it.

    Raises:
        OptionError: no such device or kind of OpenGL; lists those that there are.
        DeviceError: no OpenGL 3.3 or OpenGL ES 3.0 driver, with the package to install.
    """
    choice = _wanted(device, api)
    if choice not in _headless:
        _headless[choice] = Context(_open(choice))
    _headless[choice].make_current()
    return _headless[choice]


@contextmanager
def chosen(device: str | None, api: str | None) -> Iterator[None]:
    """Within the block `headless` takes this device and kind of OpenGL where none is named."""
    global _choice
    before, _choice = _choice, Choice(device, api)
    try:
        yield
    finally:
        _choice = before


def devices() -> list[DeviceEntry]:
    """The devices that EGL lists, each opened to learn its name; empty where there is no choice.

    Raises:
        DeviceError: EGL is not installed.
    """
    if not LINUX:
        return []
    from gpt2gl.gl.egl import device_count

    _use_egl()
    return [_entry(number) for number in range(device_count())]


def _wanted(device: str | None, api: str | None) -> Choice:
    device = device or _choice.device or os.environ.get(DEVICE_VARIABLE) or None
    api = api or _choice.api or os.environ.get(API_VARIABLE) or None
    if api not in (None, *API_NAMES):
        raise OptionError(f"--api is {api}; allowed: {' | '.join(API_NAMES)}")
    if not LINUX and (device or api == "gles"):
        raise OptionError(
            "--device and --api gles are for EGL, on Linux; here the system chooses the GPU:"
            " see docs/portability.md"
        )
    return Choice(device, api)


def _open(choice: Choice) -> Any:
    if not LINUX:
        return _hidden_window()
    _use_egl()
    numbers = _numbers(choice.device)
    problems = []
    for number in numbers:
        for api in [choice.api] if choice.api else API_NAMES:
            opened, problem = _try(number, api)
            if opened is not None:
                return opened
            problems.append(f"device {number}: {problem}" if len(numbers) > 1 else problem)
    problem = "; ".join(dict.fromkeys(problems))
    raise DeviceError(f"cannot open an OpenGL 3.3 context: {problem}; {INSTALL_HINT}")


def _use_egl() -> None:
    """Make PyOpenGL take EGL, whatever a variable says: it chooses at its first import."""
    if "OpenGL" not in sys.modules:
        os.environ["PYOPENGL_PLATFORM"] = "egl"
    try:
        from gpt2gl.gl import egl

        egl.device_count()
    except (ImportError, OSError, AttributeError) as error:
        raise DeviceError(
            f"cannot open an OpenGL 3.3 context: {_first_line(error)}; {INSTALL_HINT}"
        ) from error


def _numbers(device: str | None) -> list[int]:
    """The devices to try in turn.

    Raises:
        OptionError: there is none of that number or name.
    """
    from gpt2gl.gl.egl import device_count

    count = max(1, device_count())
    if device is None:
        return list(range(count))
    if device.isascii() and device.isdigit() and int(device) < count:
        return [int(device)]
    listed = [_entry(number) for number in range(count)]
    named = [entry.number for entry in listed if device.lower() in entry.renderer.lower()]
    if named and not device.isdigit():
        return named[:1]
    there = ", ".join(f"{e.number} {e.renderer or f'({e.problem})'}" for e in listed)
    raise OptionError(f"--device is {device!r}; there are: {there}")


def _entry(number: int) -> DeviceEntry:
    for api in API_NAMES:
        opened, problem = _try(number, api)
        if opened is not None:
            renderer = _renderer()
            opened.close()
            if _current is not None:
                _current.make_current()
            return DeviceEntry(number, renderer, "")
    return DeviceEntry(number, "", problem)


def _try(number: int, api: str) -> tuple[Any, str]:
    """The context, or None and why there is none."""
    from gpt2gl.gl.egl import EglContext

    try:
        return EglContext(number, api), ""
    except DeviceError as error:
        return None, str(error)


def _renderer() -> str:
    from gpt2gl.gl.limits import renderer_name

    return renderer_name()


def _hidden_window() -> Any:
    try:
        import pyglet

        pyglet.options["shadow_window"] = False
        pyglet.options["debug_gl"] = False
        config: Any = pyglet.gl.Config(
            red_size=8, green_size=8, blue_size=8, alpha_size=8, major_version=3, minor_version=3
        )
        return pyglet.window.Window(width=1, height=1, visible=False, config=config)
    except Exception as error:  # pyglet raises ImportError, NoSuchConfigException, ...
        raise DeviceError(
            f"cannot open an OpenGL 3.3 context: {_first_line(error)}; {INSTALL_HINT}"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
