"""Whether float targets hold what is drawn into them, found out by drawing and reading."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import DeviceError
from gpt2gl.gl.call import Call, Pass, Region, Step
from gpt2gl.gl.device import Device
from gpt2gl.gl.storage import allocate_rows, read_rows, release, row_attachments, upload_rows

# A value that needs all 24 bits, one below half's range, one near float's end, the zero that has
# a sign, and one above half's range.
KNOWN_VALUES = np.array([0.123456789, 1e-30, 3e38, -0.0, 65505.0], np.float32)
DENORMALS = np.array([1e-40, -1e-44], np.float32)
_COPY = Pass("add", "add.frag", ("x", "residual"))


def probe_float_targets(device: Device) -> None:
    """Draw known values into a float texture and read them back, bit for bit.

    Raises:
        DeviceError: the driver stores fewer bits than float32, or cannot draw to float textures.
    """
    got = _drawn(device, KNOWN_VALUES)
    for expected, actual in zip(KNOWN_VALUES, got, strict=True):
        if expected.tobytes() != actual.tobytes():
            raise DeviceError(
                f"{device.limits.renderer} drew {actual} where {expected} was due (pass add):"
                " its float textures are not 32 bits wide; update the driver or use another GPU"
            )


def keeps_denormals(device: Device) -> bool:
    """Whether numbers below 1.2e-38 survive; OpenGL lets a driver take them for 0, and llvmpipe
    and NVIDIA do. No shader here depends on it.
    """
    return bool((_drawn(device, DENORMALS) == DENORMALS).all())


def _drawn(device: Device, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values that a pass has copied from one float texture to another."""
    x = upload_rows(device, values[None], "scratch")
    # x + -0.0 is x for every x, the negative zero included.
    nothing = upload_rows(device, np.full((1, len(values)), -0.0, np.float32), "scratch")
    out = allocate_rows(device, 1, len(values), "scratch")
    grid = out.rows
    call = Call(
        operation=_COPY,
        inputs={"x": x, "residual": nothing},
        targets=(row_attachments(out),),
        defines={
            "ROWS": 1,
            "SPLITS": 1,
            "OUT_GRID": grid.glsl(),
            "X_GRID": x.grid.glsl(),
            "RESIDUAL_GRID": nothing.grid.glsl(),
        },
        region=Region(0, 0, grid.width, grid.height),
        fetches=2,
        output=out,
    )
    device.run(call, Step(0, 1))
    got: NDArray[np.float32] = read_rows(device, out)[0]
    release(device, x, nothing, out)
    return got
