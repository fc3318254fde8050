"""Let the driver compile a model's shaders in a process of its own, before a window needs them.

`python -m gpt2gl.warming MODEL PRECISION`. A software renderer turns each shader into machine code
at its first draw, which takes a third of a second for some and cannot be divided; the driver keeps
the code on the disk, where the window's process finds it. How to draw on this device is measured
here as well, if it was not before.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from gpt2gl import __version__
from gpt2gl.calibration import stored, tuning_for
from gpt2gl.errors import Gpt2glError
from gpt2gl.gl.context import Context, headless
from gpt2gl.gl.device import Device
from gpt2gl.gl.layouts import PRECISIONS
from gpt2gl.gl.limits import Limits, query
from gpt2gl.gl.tuning import default_tuning
from gpt2gl.hub.paths import cache_root, make_folder
from gpt2gl.loading import find_checkpoint, local_path
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.selftest import choose_layout
from gpt2gl.small_files import write_whole
from gpt2gl.weights import Checkpoint
from gpt2gl.weights.arrays import LazyTensor, ZeroArray


def is_warm(context: Context, name: str, precision: str) -> bool:
    """Whether there is nothing to do for this model on this device."""
    context.make_current()
    limits = query()
    if stored(limits) is None:
        return False
    return not limits.is_software or _mark(limits, name, precision).exists()


def warm(name: str, precision: str) -> None:
    """Compile what a model needs on the headless context, and note that it was done.

    Raises:
        As `gpt2gl.loading.load`.
    """
    context = headless()
    tuning = tuning_for(context)
    limits = query()
    if not limits.is_software:
        return
    *_, choice = choose_layout(
        context, PRECISIONS[precision], tuning or default_tuning(limits)
    )
    assert choice is not None
    with find_checkpoint(name) as checkpoint, Device(context, tuning=choice.tuning) as device:
        model = GPT2.load(device, _blank(checkpoint), choice.layout)
        for _ in model.warm_up():
            pass
    mark = _mark(limits, name, precision)
    make_folder(mark.parent)
    write_whole(mark, b"")


def _blank(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint of the same shapes that is quick to read."""
    tensors = {
        key: LazyTensor(key, ZeroArray(tensor.shape)) for key, tensor in checkpoint.tensors.items()
    }
    return Checkpoint(checkpoint.config, tensors, Path("blank"))


def _mark(limits: Limits, name: str, precision: str) -> Path:
    key = f"{__version__} {limits!r} {name} {local_path(name)} {precision}"
    return cache_root() / "warm" / hashlib.sha256(key.encode()).hexdigest()[:32]


if __name__ == "__main__":
    try:
        warm(*sys.argv[1:3])
    except Gpt2glError as error:
        sys.exit(f"gpt2gl: {error}")
