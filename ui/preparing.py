"""Loading a model whose shaders the driver has compiled before, by another process if need be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from gpt2gl.errors import ModelNotFound
from gpt2gl.gl.context import Context
from gpt2gl.hub.known import hub_id
from gpt2gl.loading import RANDOM, Loading, load_steps, local_path
from gpt2gl.session import Session
from gpt2gl.warming import is_warm

PREPARING = "preparing this device, once"


def prepared_load(context: Context, name: str, precision: str) -> Iterator[Loading | Session]:
    """As `load_steps`, after `gpt2gl.warming` in a process of its own where it has not been yet.

    Should that process fail, loading meets the same error, or compiles the shaders itself. Nothing
    is fetched: that is for the person at the window to ask for.

    Raises:
        ModelNotFound: it is a model of the hub that is not on this machine.
        Others as `load_steps`.
    """
    if not name.startswith(RANDOM) and local_path(name) is None and hub_id(name) is not None:
        raise ModelNotFound(f"{name} is not on this machine: fetch it under Models, with Ctrl+M")
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
