"""Saves that are killed, each at another step; run as `python -m tests.faults.killed KIND FOLDER`.

A child does the save and is killed (SIGKILL) just before the n-th call of the functions that
touch the disk, for every n. Prints one line for each: what the file held afterwards, in hex, or
"none".
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gpt2gl.presets import Preset, save_preset
from gpt2gl.quantised_cache import QuantisedCache
from gpt2gl.quantised_file import Piece
from gpt2gl.templates import USER, Turn
from gpt2gl.transcript import save_dialogue

STEPS = ((tempfile, "mkstemp"), (os, "fdopen"), (os, "fsync"), (os, "replace"), (os, "open"))


def preset(folder: Path, version: int) -> Path:
    return save_preset(Preset("mine", {"top_k": version}))


def transcript(folder: Path, version: int) -> Path:
    path = folder / "talk.json"
    save_dialogue(path, [Turn(USER, "x" * 5000)], {"top_k": version})
    return path


def quantised(folder: Path, version: int) -> Path:
    path = folder / "quantised" / "key-int8-digest.bin"
    values = np.full((3, 4, 4), version, np.uint32)
    with QuantisedCache(path, folder) as cache:
        list(cache.pieces("w", lambda: [Piece(0, values, None)]))
    return path


KINDS: dict[str, Callable[[Path, int], Path]] = {
    "preset": preset,
    "transcript": transcript,
    "quantised": quantised,
}


def kill_before(number: int) -> None:
    """Let this process be killed at its step of that number, from 0."""
    seen = iter(range(1000))

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(seen) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for module, name in STEPS:
        setattr(module, name, wrapped(getattr(module, name)))


def main(kind: str, folder: Path) -> None:
    save = KINDS[kind]
    for number in range(1000):
        child = os.fork()
        if child == 0:
            kill_before(number)
            save(folder, 2)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return
        path = next((p for p in folder.rglob("*") if p.suffix in (".json", ".bin")), None)
        print("none" if path is None else path.read_bytes().hex(), flush=True)
        if path is not None and kind == "quantised":
            path.unlink()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
