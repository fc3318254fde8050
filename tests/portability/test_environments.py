"""The engine on other drivers, and where variables mislead PyOpenGL, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.source_tree import ROOT

LLVMPIPE = {"GPT2GL_DEVICE": "llvmpipe"}
SOFTPIPE = {"GALLIUM_DRIVER": "softpipe", "GPT2GL_DEVICE": "softpipe"}
ZINK = {
    "MESA_LOADER_DRIVER_OVERRIDE": "zink",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "GPT2GL_DEVICE": "zink",
}
GLES = {"GPT2GL_API": "gles"}
GL_33 = {"MESA_GL_VERSION_OVERRIDE": "3.3", "MESA_GLSL_VERSION_OVERRIDE": "330"}

# Environment -> (variables, part of the renderer's name, of the version, GLSL).
ENVIRONMENTS: dict[str, tuple[dict[str, str], str, str, str]] = {
    "llvmpipe": (LLVMPIPE, "llvmpipe", "", "330 core"),
    "llvmpipe GL 3.3": ({**LLVMPIPE, **GL_33}, "llvmpipe", "3.3 ", "330 core"),
    "llvmpipe ES": ({**LLVMPIPE, **GLES}, "llvmpipe", "OpenGL ES 3", "300 es"),
    "softpipe": (SOFTPIPE, "softpipe", "", "330 core"),
    "softpipe ES": ({**SOFTPIPE, **GLES}, "softpipe", "OpenGL ES 3", "300 es"),
    "zink": (ZINK, "zink", "", "330 core"),
    "zink ES": ({**ZINK, **GLES}, "zink", "OpenGL ES 3", "300 es"),
}
# What is set on desktops and by other programs, and must not matter.
MISLEADING: dict[str, dict[str, str]] = {
    "another platform": {"PYOPENGL_PLATFORM": "x11"},
    "no such platform": {"PYOPENGL_PLATFORM": "nonsense"},
    "osmesa": {"PYOPENGL_PLATFORM": "osmesa"},
    "a Wayland session": {"WAYLAND_DISPLAY": "wayland-0", "XDG_SESSION_TYPE": "wayland"},
    "an X display that is not there": {"DISPLAY": ":98", "XDG_SESSION_TYPE": "x11"},
}
OWN = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE", "PYOPENGL_PLATFORM")


def environment(variables: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    return {**kept, **variables}


def in_process(variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=200,
    )


def asked(variables: dict[str, str]) -> dict[str, Any]:
    done = in_process(variables, "-m", "tests.portability.try_environment")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.soak) if n == "zink ES" else n for n in ENVIRONMENTS],
)
def test_other_drivers(name: str) -> None:
    variables, renderer, version, glsl = ENVIRONMENTS[name]
    found = asked(variables)
    if "absent" in found:
        pytest.skip(f"{name} is not installed (Mesa; zink: mesa-vulkan-drivers): {found['absent']}")
    assert renderer in found["renderer"]
    assert version in found["version"]
    assert found["glsl"] == glsl
    assert found["failures"] == []
    assert found["generated"] == found["expected"]


PROGRAM = (
    "from gpt2gl.gl.context import headless; headless();"
    " from OpenGL import GL, platform;"
    " print(type(platform.PLATFORM).__name__, bool(GL.glGetString(GL.GL_RENDERER)),"
    " len(GL.glGenTextures(2)))"
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="one platform elsewhere")
@pytest.mark.parametrize("name", MISLEADING)
def test_misleading_variables(name: str) -> None:
    done = in_process(MISLEADING[name], "-c", PROGRAM)
    assert done.stdout.split() == ["EGLPlatform", "True", "2"], done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="one platform elsewhere")
def test_a_program_that_has_chosen_another_platform() -> None:
    """Too late to change it; where GLVND hands calls on, this draws all the same."""
    program = (
        "from OpenGL import GL; from gpt2gl.gl.context import headless; context = headless();"
        " from gpt2gl.selftest import load_check_steps; print(*load_check_steps(context, 'int8'))"
    )
    done = in_process({"PYOPENGL_PLATFORM": "x11"}, "-c", program)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"None"}


def test_without_a_driver_there_is_one_line() -> None:
    """As in a container that has no Mesa: EGL knows of no driver."""
    nothing = {"__EGL_VENDOR_LIBRARY_FILENAMES": os.devnull}
    done = in_process(nothing, "-m", "gpt2gl", "doctor")
    assert done.returncode == 3
    assert done.stderr.startswith("gpt2gl: cannot open an OpenGL 3.3 context: ")
    assert len(done.stderr.splitlines()) == 1
