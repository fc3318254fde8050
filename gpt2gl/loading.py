"""From a model's name to a session: find it, open it, upload it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from gpt2gl.config import ModelConfig, shown
from gpt2gl.errors import ModelNotFound, OptionError
from gpt2gl.gl.context import Context, headless
from gpt2gl.hub import library
from gpt2gl.hub.events import Event
from gpt2gl.hub.known import KNOWN, hub_id
from gpt2gl.resources import embedded_models
from gpt2gl.session import Session
from gpt2gl.tokenizer import Tokenizer
from gpt2gl.tokenizer.formats import FORMS
from gpt2gl.weights import Checkpoint, open_checkpoint, random_checkpoint

if TYPE_CHECKING:
    from gpt2gl.gl.device import Device
    from gpt2gl.gl.limits import Limits
    from gpt2gl.gl.tuning import Tuning
    from gpt2gl.models.gpt2 import GPT2
    from gpt2gl.selftest import Choice

DEFAULT_MODEL = "storyteller"
DEFAULT_PRECISION = "fp32"
RANDOM = "random:"
_choices: dict[tuple[Limits, str, Tuning], Choice] = {}


def load(
    name: str = DEFAULT_MODEL,
    precision: str = DEFAULT_PRECISION,
    *,
    context: Context | None = None,
    tune: bool = True,
    progress: Callable[[float], None] = lambda fraction: None,
    on_download: Callable[[Event], None] = lambda event: None,
) -> Session:
    """Load a model onto the GPU.

    Args:
        name: an embedded model's name, a folder in Hugging Face layout, a `.safetensors` or
            `.gguf` file, a model of the cache or of the hub (`gpt2`, `owner/name`), which is
            fetched if it is not in the cache, or `random:gpt2` and the like for seeded random
            weights of that shape.
        precision: fp32, fp32-plain, fp16, int8 or int4.
        context: where to draw; by default a headless context of this process.
        tune: draw in the way that was measured to suit this device, measuring it first if need
            be (about a second, once); else in the way that suits most. Answers are the same.
        progress: called with the fraction uploaded.
        on_download: called with the events of `gpt2gl.hub.pull.pull`, if the model is fetched.

    Raises:
        DownloadError, CacheError: the model cannot be fetched or kept.
        ModelNotFound, ConfigError, WeightError, TokenizerError: the model cannot be read.
        DeviceError: there is no usable OpenGL driver, or no room on the GPU.
        OptionError: no such precision.
    """
    with find_checkpoint(name, on_download) as checkpoint:
        # First, since nothing need be undone where it fails.
        tokenizer = find_tokenizer(checkpoint)
        own = context or headless()
        for step in _upload(own, checkpoint, precision, _measured(own) if tune else None):
            if isinstance(step, float):
                progress(step)
            else:
                return Session(step.model, tokenizer, name, step.notices)
    raise AssertionError("uploading ends with the model")


@dataclass(frozen=True)
class Loading:
    """How far a load is: what is being done, and the fraction done where that is known."""

    stage: str
    fraction: float | None = None


READING, UPLOADING, COMPILING = "reading", "uploading", "compiling shaders"


def load_steps(name: str, precision: str, context: Context) -> Iterator[Loading | Session]:
    """`load` of a model on this machine, in steps between which a window can draw; last the
    session. It draws as was measured for the device earlier, or as suits most.

    Whoever holds the iterator may use the context in between, and may close it to give up.

    Raises:
        As `load`.
    """
    opened = Future[tuple[Checkpoint, Tokenizer | None]]()
    Thread(target=_open, args=(name, opened), name="gpt2gl-reader", daemon=True).start()
    try:
        yield Loading(READING)
        while not opened.done():
            yield Loading(READING)
    except GeneratorExit:
        opened.add_done_callback(_close_unwanted)
        raise
    checkpoint, tokenizer = opened.result()
    with checkpoint:
        for step in _upload(context, checkpoint, precision, _remembered(context)):
            if isinstance(step, float):
                yield Loading(UPLOADING, step)
            else:
                yield from _warmed(Session(step.model, tokenizer, name, step.notices))


def _open(name: str, opened: Future[tuple[Checkpoint, Tokenizer | None]]) -> None:
    """Set `opened` to a model's file and tokenizer, or to the error."""
    try:
        with ExitStack() as stack:
            checkpoint = stack.enter_context(find_checkpoint(name))
            tokenizer = find_tokenizer(checkpoint)
            stack.pop_all()
        opened.set_result((checkpoint, tokenizer))
    except Exception as error:
        opened.set_exception(error)


def _close_unwanted(opened: Future[tuple[Checkpoint, Tokenizer | None]]) -> None:
    if opened.exception() is None:
        checkpoint, _ = opened.result()
        checkpoint.close()


def _warmed(session: Session) -> Iterator[Loading | Session]:
    """The session after the first use of its shaders; closed where that fails or is given up."""
    with ExitStack() as stack:
        stack.enter_context(session)
        for fraction in session.model.warm_up():
            yield Loading(COMPILING, fraction)
        stack.pop_all()
    yield session


def find_checkpoint(
    name: str, on_download: Callable[[Event], None] = lambda event: None
) -> Checkpoint:
    """Open a model by name or path, see `load`.

    Raises:
        ModelNotFound: there is none; lists the embedded and the known ones.
        DownloadError, CacheError: it has to be fetched, and cannot.
    """
    if name.startswith(RANDOM):
        return random_checkpoint(ModelConfig.gpt2(name.removeprefix(RANDOM)), seed=0)
    return open_checkpoint(local_path(name) or _pulled(name, on_download))


def local_path(name: str) -> Path | None:
    """Where a model lies on this machine: embedded, a path that exists, or in the cache."""
    embedded = embedded_models().get(name)
    # Unlike Path.exists, this is False for whatever cannot be looked up, "" included.
    if embedded is not None or os.path.exists(name):
        return embedded or Path(name)
    cached = library.find(name)
    return cached.path if cached is not None else None


def _pulled(name: str, on_download: Callable[[Event], None]) -> Path:
    if hub_id(name) is None:
        short = [known for known in KNOWN if "/" not in known]
        raise ModelNotFound(
            f"no model {shown(name)}: give a folder or file, owner/name on the hub,"
            f" or one of {', '.join([*sorted(embedded_models()), *short])}"
        )
    # Imports the hub's client, which takes longer than to find a model in the cache.
    from gpt2gl.hub.pull import pull

    with closing(pull(name)) as events:
        for event in events:
            on_download(event)
    path = local_path(name)
    assert path is not None
    return path


def find_tokenizer(checkpoint: Checkpoint) -> Tokenizer | None:
    """The tokenizer that came with a checkpoint; None for random weights, and for a folder that
    has no file of one.

    Raises:
        TokenizerError: it is damaged, incomplete, or of an unsupported kind.
    """
    if checkpoint.tokenizer_vocab is not None:
        found = checkpoint.tokenizer_vocab
        return Tokenizer.from_vocab(found.vocab, found.merges, found.special)
    source = checkpoint.tokenizer_source
    names = [name for form in FORMS for name in form.names]
    if source is None or not any((source / name).exists() for name in names):
        return None
    return Tokenizer.from_directory(source)


@dataclass(frozen=True)
class _Uploaded:
    """A model on the device, and what is to be said about how it got there."""

    model: GPT2
    notices: tuple[str, ...]


def _upload(
    context: Context, checkpoint: Checkpoint, precision: str, tuning: Tuning | None
) -> Iterator[float | _Uploaded]:
    """Yields the fraction uploaded, last the model; frees everything where that comes not to be."""
    # These import OpenGL: slow, and not before the context has chosen its platform.
    from gpt2gl.gl.device import Device
    from gpt2gl.gl.layouts import PRECISIONS
    from gpt2gl.models.gpt2 import GPT2

    if precision not in PRECISIONS:
        raise OptionError(f"--precision is {precision}; allowed: {' | '.join(PRECISIONS)}")
    choice = yield from _tried(context, PRECISIONS[precision], tuning)
    with ExitStack() as stack:
        device = stack.enter_context(Device(context, tuning=choice.tuning))
        _require_room(device, checkpoint, choice.layout)
        for step in GPT2.load_steps(device, checkpoint, choice.layout):
            if isinstance(step, float):
                yield step
            else:
                stack.pop_all()
                yield _Uploaded(step, choice.warnings)


def _tried(
    context: Context, layout: str, tuning: Tuning | None
) -> Generator[float, None, Choice]:
    """What of a layout and tuning this driver draws rightly; tried once in a process."""
    from gpt2gl.gl.limits import query
    from gpt2gl.gl.tuning import default_tuning
    from gpt2gl.selftest import choose_layout

    context.make_current()
    limits = query()
    key = (limits, layout, tuning or default_tuning(limits))
    if key not in _choices:
        with closing(choose_layout(context, layout, key[2])) as steps:
            for step in steps:
                yield 0.0
                if step is not None:
                    _choices[key] = step
    return _choices[key]


def _measured(context: Context) -> Tuning | None:
    from gpt2gl.calibration import tuning_for

    return tuning_for(context)


def _remembered(context: Context) -> Tuning | None:
    from gpt2gl.calibration import stored
    from gpt2gl.gl.limits import query

    context.make_current()
    return stored(query())


def _require_room(device: Device, checkpoint: Checkpoint, layout: str) -> None:
    from gpt2gl.gl.layouts import LAYOUTS
    from gpt2gl.gl.memory import capacity
    from gpt2gl.memory import require_room

    require_room(
        checkpoint.config,
        LAYOUTS[layout],
        untied="lm_head.weight" in checkpoint.tensors,
        max_side=device.limits.max_side,
        max_layers=device.limits.max_layers,
        capacity=capacity(),
    )
