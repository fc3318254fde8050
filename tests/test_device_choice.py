"""Which device and which kind of OpenGL: by option, by variable, or the first that works."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpt2gl.cli import run
from gpt2gl.cli.loader import announce_software
from gpt2gl.errors import DeviceError, OptionError
from gpt2gl.gl import context as contexts
from gpt2gl.gl import egl
from gpt2gl.gl.context import (
    API_VARIABLE,
    DEVICE_VARIABLE,
    Choice,
    Context,
    DeviceEntry,
    chosen,
    devices,
    headless,
)
from gpt2gl.gl.device import Device
from gpt2gl.gl.egl import EglContext
from gpt2gl.gl.limits import query, renderer_name
from gpt2gl.selftest import load_check_steps
from gpt2gl.session import Session
from tests.engine import drain

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="devices are chosen on Linux only"
)
Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: Patch) -> None:
    monkeypatch.delenv(DEVICE_VARIABLE, raising=False)
    monkeypatch.delenv(API_VARIABLE, raising=False)


@pytest.fixture(autouse=True)
def own_contexts(context: Context, monkeypatch: Patch) -> Iterator[None]:
    """Contexts that a test opens are closed after it, and the suite's own is current again."""
    opened: dict[Choice, Context] = {}
    monkeypatch.setattr(contexts, "_headless", opened)
    yield
    for each in opened.values():
        if each is not context:
            each.window.close()
    context.owner = None
    context.make_current()


class _Opened:
    """Stands for a context of a device."""

    def __init__(self, device: int, api: str) -> None:
        self.device, self.api = device, api

    def switch_to(self) -> None:
        pass

    def close(self) -> None:
        pass


RENDERERS = ("NVIDIA H200", "Mesa Intel UHD", "llvmpipe (LLVM 15)")


@pytest.fixture
def three_devices(monkeypatch: Patch) -> set[tuple[int, str]]:
    """A machine with three devices, and what of them cannot be opened: (number, api)."""
    broken: set[tuple[int, str]] = set()

    def opened(number: int, api: str) -> tuple[Any, str]:
        if (number, api) in broken:
            return None, "no access to the device"
        return _Opened(number, api), ""

    def entry(number: int) -> DeviceEntry:
        if (number, "gl") in broken and (number, "gles") in broken:
            return DeviceEntry(number, "", "no access to the device")
        return DeviceEntry(number, RENDERERS[number], "")

    monkeypatch.setattr(egl, "_devices", lambda: [1, 2, 3])
    monkeypatch.setattr(contexts, "_try", opened)
    monkeypatch.setattr(contexts, "_entry", entry)
    return broken


def opened(device: str | None = None, api: str | None = None) -> tuple[int, str]:
    window = headless(device, api).window
    return window.device, window.api


# Choosing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "number"), [(None, 0), ("1", 1), ("2", 2), ("llvm", 2), ("mesa INTEL", 1)]
)
def test_by_number_or_name(three_devices: Any, device: str | None, number: int) -> None:
    assert opened(device) == (number, "gl")


@pytest.mark.parametrize("device", ["3", "99", "-1", "radeon", "²", "1x"])
def test_a_device_that_is_not_there(three_devices: Any, device: str) -> None:
    three_devices |= {(1, "gl"), (1, "gles")}
    with pytest.raises(OptionError) as caught:
        headless(device)
    assert str(caught.value) == (
        f"--device is {device!r}; there are: 0 NVIDIA H200, 1 (no access to the device),"
        " 2 llvmpipe (LLVM 15)"
    )


def test_the_first_that_works(three_devices: set[tuple[int, str]]) -> None:
    """In a container the GPU may be listed and yet closed to the user; ES is tried before the
    next device."""
    three_devices |= {(0, "gl"), (0, "gles"), (1, "gl")}
    assert opened() == (1, "gles")


def test_none_works(three_devices: set[tuple[int, str]]) -> None:
    three_devices |= {(number, api) for number in range(3) for api in ("gl", "gles")}
    with pytest.raises(DeviceError, match=r"device 0: no access .*; device 2: .*apt-get install"):
        headless()
    with pytest.raises(DeviceError, match="context: no access to the device; on Debian"):
        headless("1")


def test_no_api_of_that_name() -> None:
    with pytest.raises(OptionError, match=r"--api is metal; allowed: gl \| gles"):
        headless(api="metal")


def test_variables_then_options(three_devices: Any, monkeypatch: Patch) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, "1")
    monkeypatch.setenv(API_VARIABLE, "gles")
    assert opened() == (1, "gles")
    with chosen("2", None):
        assert opened() == (2, "gles")
        assert opened("0", "gl") == (0, "gl")
    assert opened() == (1, "gles")
    monkeypatch.setenv(DEVICE_VARIABLE, "")
    assert opened(api="gl") == (0, "gl")


def test_a_choice_is_opened_once(three_devices: Any) -> None:
    assert headless("1") is headless("1")
    assert headless("1") is not headless("1", "gles")


@pytest.mark.parametrize("options", [{"device": "0"}, {"api": "gles"}])
def test_other_systems_have_no_choice(monkeypatch: Patch, options: dict[str, str]) -> None:
    monkeypatch.setattr(contexts, "LINUX", False)
    assert devices() == []
    with pytest.raises(OptionError, match="for EGL, on Linux; here the system chooses the GPU"):
        headless(**options)


# Real contexts -----------------------------------------------------------------------------------


def test_devices_have_names(context: Context) -> None:
    listed = devices()
    assert [entry.number for entry in listed] == list(range(len(listed)))
    assert renderer_name() in [entry.renderer for entry in listed]


def test_two_contexts_take_turns(context: Context) -> None:
    """A device makes its own context current again after another's was used."""
    with Device(context) as one, Device(headless(api="gles")) as other:
        assert (one.limits.glsl, other.limits.glsl) == ("330 core", "300 es")
        for device in (one, other, one):
            device.take()
            assert query().glsl == device.limits.glsl


def test_es_computes_the_same(context: Context) -> None:
    assert drain(load_check_steps(headless(api="gles"), "int4")) > 100


def test_a_driver_without_a_list(context: Context, monkeypatch: Patch) -> None:
    monkeypatch.setattr(egl, "_devices", lambda: [])
    monkeypatch.setattr(egl._library(), "eglGetDisplay", lambda _: 0)
    with pytest.raises(DeviceError, match="it cannot be opened"):
        headless()


def test_release_egl_context(context: Context) -> None:
    made = EglContext(0, "gl")
    made.close()
    made.close()
    with pytest.raises(DeviceError, match="cannot be made current"):
        made.switch_to()


# The command line --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [["doctor"], ["generate", "hi"], ["verify"], ["score", "README.md"], ["bench"]]
)
def test_no_such_device_is_one_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--device", "99"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert errors[0].startswith("gpt2gl: --device is '99'; there are: 0 ")


def test_doctor_lists_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--device", "0", "--api", "gles"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("device   0 ")
    assert any(line.startswith("version    OpenGL ES 3") for line in lines)


@pytest.mark.parametrize("renderer", ["llvmpipe (LLVM 15)", "Google SwiftShader", "NVIDIA H200"])
def test_software_is_announced(
    context: Context, renderer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = replace(query(), renderer=renderer)
    session = SimpleNamespace(model=SimpleNamespace(device=SimpleNamespace(limits=limits)))
    announce_software(cast(Session, session))
    told = f"{renderer}: software rendering, the CPU draws\n"
    assert capsys.readouterr() == ("", "" if "NVIDIA" in renderer else told)
