"""Loading a model whose shaders the driver has compiled before, by another process if need be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from gpt2gl.gl.context import Context
from gpt2gl.loading import Loading, load_steps
from gpt2gl.session import Session
from gpt2gl.warming import is_warm

PREPARING = "preparing this device, once"


def prepared_load(context: Context, name: str, precision: str) -> Iterator[Loading | Session]:
    """As `load_steps`, after `gpt2gl.warming` in a process of its own where it has not been yet.

    Should that process fail, loading meets the same error, or compiles the shaders itself.
    """
    if not is_warm(context, name, precision):
        yield from _warming(name, precision)
    yield from load_steps(name, precision, context)


def _warming(name: str, precision: str) -> Iterator[Loading]:
    command = [sys.executable, "-m", "gpt2gl.warming", name, precision]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        while process.poll() is None:
            yield Loading(PREPARING)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
