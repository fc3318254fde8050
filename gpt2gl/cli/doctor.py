"""`gpt2gl doctor`: what this machine's driver is, what it can do, and whether it computes right."""

from __future__ import annotations

import platform
import sys

import typer

from gpt2gl import __version__
from gpt2gl.cli.options import on_device
from gpt2gl.errors import DeviceError
from gpt2gl.gl.context import devices, headless


@on_device
def command() -> int:
    """Say what the OpenGL driver can do, and test every weight layout on it."""
    typer.echo(f"gpt2gl     {__version__}, Python {platform.python_version()}, {sys.platform}")
    context = headless()
    _list_devices()
    # These import OpenGL, whose platform the context has chosen.
    from gpt2gl.calibration import described, stored
    from gpt2gl.gl.device import Device
    from gpt2gl.gl.layouts import PRECISIONS
    from gpt2gl.gl.probe import keeps_denormals, probe_float_targets
    from gpt2gl.selftest import check_layouts

    with Device(context) as device:
        limits = device.limits
        software = "  (software: the CPU draws)" if limits.is_software else ""
        typer.echo(f"renderer   {limits.renderer}{software}")
        typer.echo(f"vendor     {limits.vendor}")
        typer.echo(f"version    {limits.version}, GLSL {limits.glsl}")
        typer.echo(
            f"limits     texture side {limits.max_side}, layers {limits.max_layers},"
            f" draw buffers {limits.max_draw_buffers},"
            f" uniform block {limits.max_uniform_block} bytes"
        )
        measured = stored(limits)
        origin = "measured" if measured else "fixed; measured when a model is first loaded"
        typer.echo(f"tuning     {described(measured or device.tuning)}  ({origin})")
        probe_float_targets(device)
        flushed = "" if keeps_denormals(device) else "; denormals are flushed, which is harmless"
        typer.echo(f"floats     drawn and read back bit for bit{flushed}")
    names = {layout: precision for precision, layout in PRECISIONS.items()}
    results = check_layouts(context, measured)
    for result in results:
        name = f"{names[result.layout]} ({result.layout})"
        typer.echo(f"layout     {name:22s} {'ok' if result.ok else 'FAILED: ' + result.reason}")
    good = [names[result.layout] for result in results if result.ok]
    if not good:
        raise DeviceError(
            f"{limits.renderer} computes wrong results in every layout:"
            " update the graphics driver, or set GALLIUM_DRIVER=llvmpipe LIBGL_ALWAYS_SOFTWARE=1"
        )
    typer.echo(f"verdict    this machine can run GPT-2 with --precision {' | '.join(good)}")
    return 0 if len(good) == len(results) else DeviceError.exit_code


def _list_devices() -> None:
    for entry in devices():
        problem = f"cannot be used: {entry.problem}"
        typer.echo(f"device {entry.number:3d} {entry.renderer or problem}")
