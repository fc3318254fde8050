"""The models there are to choose from, on this machine and on the hub, read in the background."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Thread

from gpt2gl.config import GPT2_SHAPES, ModelConfig
from gpt2gl.errors import Gpt2glError
from gpt2gl.hub import library
from gpt2gl.hub.known import KNOWN, KnownModel
from gpt2gl.resources import embedded_models
from gpt2gl.weights import open_checkpoint

BUILT_IN, HERE, DAMAGED, HUB = "built in", "here", "damaged", "hub"


@dataclass(frozen=True)
class Entry:
    """A model to choose.

    Attributes:
        name: what `gpt2gl.load` takes.
        where: BUILT_IN, HERE, DAMAGED or HUB.
        nbytes: on the disk, or about what is to be fetched.
        parameters: None where the model's files cannot be read.
        needs: bytes on the GPU by the name of a precision; empty where unknown.
    """

    name: str
    where: str
    nbytes: int
    parameters: int | None = None
    licence: str = ""
    about: str = ""
    needs: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_here(self) -> bool:
        return self.where in (BUILT_IN, HERE)


class Catalogue:
    """`entries` as they were when they were read last; None before the first time."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.entries: list[Entry] | None = None
        self.threads: list[Thread] = []
        self._wake = wake
        self._asked = 0

    def refresh(self) -> None:
        """Read everything again in a thread; `entries` is replaced when that is done."""
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        self._asked += 1
        thread = Thread(target=self._read, args=(self._asked,), name="gpt2gl-models", daemon=True)
        self.threads.append(thread)
        thread.start()

    def _read(self, number: int) -> None:
        entries = list(read_entries())
        if number == self._asked:  # not overtaken by a later look
            self.entries = entries
            self._wake()

    def find(self, name: str) -> Entry | None:
        """The entry of a name."""
        return next((each for each in self.entries or () if each.name == name), None)


def read_entries() -> Iterator[Entry]:
    """The embedded models, those of the cache, and the known ones that can be fetched."""
    for name, folder in embedded_models().items():
        size = sum(path.stat().st_size for path in folder.iterdir())
        yield Entry(name, BUILT_IN, size, *_read_file(folder, "mit", "Ships with gpt2gl."))
    here = {model.id: model for model in library.installed()}
    known = {model.id: model for model in KNOWN.values()}
    for model_id in [each for each in known if each in here]:
        yield _installed(here.pop(model_id), known[model_id].name, known[model_id].description)
    for model in here.values():
        yield _installed(model, model.id, model.manifest.source)
    for each in known.values():
        if not any(model.id == each.id for model in library.installed()):
            yield _to_fetch(each)


def _installed(model: library.Installed, name: str, about: str) -> Entry:
    where = HERE if model.is_complete else DAMAGED
    rest = _read_file(model.path, model.manifest.licence, about)
    return Entry(name, where, model.manifest.nbytes, *rest)


def _read_file(path: Path, licence: str, about: str) -> tuple[int | None, str, str, dict[str, int]]:
    """The last four fields of an entry; a damaged model must not hide the others."""
    try:
        with open_checkpoint(path) as checkpoint:
            count = sum(math.prod(tensor.shape) for tensor in checkpoint.tensors.values())
            untied = "lm_head.weight" in checkpoint.tensors
            return count, licence, about, needs_of(checkpoint.config, untied)
    except (Gpt2glError, OSError):
        return None, licence, about, {}


def _to_fetch(known: KnownModel) -> Entry:
    shapes = {KNOWN[name].parameters: name for name in GPT2_SHAPES}
    shape = shapes.get(known.parameters)
    needs = needs_of(ModelConfig.gpt2(shape)) if shape else {}
    size, count = known.download_bytes, known.parameters
    return Entry(known.name, HUB, size, count, known.licence, known.description, needs)


@cache
def needs_of(config: ModelConfig, untied: bool = False) -> dict[str, int]:
    """Bytes that a model takes on the GPU, by precision."""
    from gpt2gl.gl.layouts import LAYOUTS, PRECISIONS
    from gpt2gl.memory import needed_bytes

    return {p: needed_bytes(config, LAYOUTS[row], untied) for p, row in PRECISIONS.items()}


def room_on_device(is_software: bool) -> int | None:
    """Bytes that models can have, of the GPU or, where the processor draws, of the machine; None
    where no one knows. The window's context must be current."""
    from gpt2gl.gl.memory import capacity

    if not is_software:
        return capacity()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
