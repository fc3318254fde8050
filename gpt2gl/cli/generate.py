"""`gpt2gl generate`: continue a prompt, streaming to standard output."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from gpt2gl.cli import INTERRUPTED
from gpt2gl.cli.interactive import InteractiveOption, converse, opening
from gpt2gl.cli.loader import load_with_progress
from gpt2gl.cli.many import generate_many, is_cancelled, print_summary
from gpt2gl.cli.options import (
    MODEL,
    PRECISION,
    ModelOption,
    PrecisionOption,
    TuneOption,
    argument_texts,
    number_option,
    on_device,
    parse_biases,
    read_text,
    with_sampling,
)
from gpt2gl.cli.output import write
from gpt2gl.cli.presets import with_preset
from gpt2gl.generation import (
    CANCELLED,
    CONTEXT_POLICIES,
    GENERATION_OPTIONS,
    Event,
    Finished,
    Generation,
    Token,
    Trimmed,
    banned_sequences,
    token_bias,
)
from gpt2gl.sampling import SAMPLING_OPTIONS, Sampling
from gpt2gl.session import Session

_BIAS_HELP = SAMPLING_OPTIONS["logit_bias"].help
_POLICIES_HELP = f"When the context is full: {', '.join(CONTEXT_POLICIES)}."
_STOP_HELP = "End before this text; repeatable."
_NUM_HELP = "Make this many continuations together; text i has the seed plus i."
_WORDS_HELP = "Never generate this text, at the start or after a space; repeatable."


@with_preset
@with_sampling
@on_device
def command(
    sampling: Sampling,
    prompt: Annotated[
        str | None, typer.Argument(help="Text to continue; - or nothing reads standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read the prompt from a file.")
    ] = None,
    model: ModelOption = MODEL,
    precision: PrecisionOption = PRECISION,
    tune: TuneOption = True,
    max_tokens: Annotated[int, number_option(GENERATION_OPTIONS["max_tokens"])] = 200,
    num: Annotated[int, typer.Option("--num", "-n", help=_NUM_HELP)] = 1,
    stop: Annotated[list[str] | None, typer.Option("--stop", help=_STOP_HELP)] = None,
    time_limit: Annotated[float | None, number_option(GENERATION_OPTIONS["time_limit"])] = None,
    context_policy: Annotated[str, typer.Option(help=_POLICIES_HELP)] = "stop",
    keep: Annotated[int, number_option(GENERATION_OPTIONS["keep"])] = 64,
    logit_bias: Annotated[
        list[str] | None,
        typer.Option("--logit-bias", metavar="TOKEN_ID=BIAS|'\"text\"=BIAS'", help=_BIAS_HELP),
    ] = None,
    banned: Annotated[list[str] | None, typer.Option("--banned", help=_WORDS_HELP)] = None,
    echo: Annotated[bool, typer.Option(help="Print the prompt before its continuation.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary on stderr.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    interactive: InteractiveOption = False,
) -> int:
    """Continue a prompt; without one, start from the end-of-text token."""
    options = Generation(
        sampling=sampling,
        max_tokens=max_tokens,
        stop=argument_texts(stop),
        time_limit=time_limit,
        context_policy=context_policy,
        keep=keep,
    )
    words = _Words(parse_biases(logit_bias), argument_texts(banned))
    if interactive:
        first = opening(prompt, file, as_json)
        return converse(model, precision, tune, partial(words.applied_to, options), first)
    text = read_text(prompt, file)
    show = _Show(precision, text if echo and not as_json else "", quiet, as_json)
    with load_with_progress(model, precision, tune) as session:
        applied = words.applied_to(options, session)
        if num == 1:
            return _one(session, text, applied, show)
        return _many(session, text, num, applied, show)


@dataclass(frozen=True)
class _Show:
    """What is printed beside the generated text."""

    precision: str
    prompt: str
    quiet: bool
    as_json: bool

    @property
    def summary(self) -> bool:
        return not (self.quiet or self.as_json)


def _one(session: Session, text: str, options: Generation, show: _Show) -> int:
    output = _Output(show.prompt, streaming=not show.as_json)
    events = session.generate(text, options)
    with _cancel_on_interrupt(session):
        end = output.consume(events)
    if show.as_json:
        write(json.dumps(_report(session, text, output, end), ensure_ascii=False) + "\n")
    elif show.summary:
        print(_summary(session, show.precision, output, end), file=sys.stderr)
    return INTERRUPTED if end.reason == CANCELLED else 0


def _many(session: Session, text: str, num: int, options: Generation, show: _Show) -> int:
    with _cancel_on_interrupt(session):
        ends = generate_many(session, text, num, options, shown=show.prompt, as_json=show.as_json)
    if show.summary:
        print_summary(session, show.precision, ends)
    return INTERRUPTED if is_cancelled(ends) else 0


@dataclass(frozen=True)
class _Words:
    """Options that name text, which means something only with the model's tokenizer."""

    biases: list[tuple[int | str, float]]
    banned: tuple[str, ...]

    def __post_init__(self) -> None:
        # Finds an empty word before the model is loaded.
        banned_sequences(self.banned, lambda text: [0])

    def applied_to(self, options: Generation, session: Session) -> Generation:
        def encode(text: str) -> list[int]:
            return session.tokenizer.encode(text)

        sampling = replace(
            options.sampling,
            logit_bias=token_bias(self.biases, encode),
            banned=banned_sequences(self.banned, encode),
        )
        return replace(options, sampling=sampling)


@contextmanager
def _cancel_on_interrupt(session: Session) -> Iterator[None]:
    """The first Ctrl-C ends the text cleanly; a second one ends the process."""

    def cancel(signum: int, frame: FrameType | None) -> None:
        session.cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@dataclass
class _Output:
    """What was generated, printed as it comes where `streaming`; `shown` comes before it."""

    shown: str
    streaming: bool
    tokens: list[Token] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    trims: list[Trimmed] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text generated so far."""
        return "".join(self.pieces)

    def consume(self, events: Iterator[Event]) -> Finished:
        """Take events to the last, which is returned."""
        self._print(self.shown)
        for event in events:
            if isinstance(event, Trimmed):
                self._trimmed(event)
            if isinstance(event, Token):
                self.tokens.append(event)
            if isinstance(event, Token | Finished):
                self.pieces.append(event.text)
                self._print(event.text)
        self._print("\n")
        assert isinstance(event, Finished)
        return event

    def _trimmed(self, event: Trimmed) -> None:
        self.trims.append(event)
        # A line amid the text would tear it: later ones are counted in the summary.
        if not self.tokens:
            print(
                f"gpt2gl: the prompt is longer than the model's context: {event.dropped} of its"
                f" tokens are left out, {event.kept} are kept",
                file=sys.stderr,
            )

    def _print(self, text: str) -> None:
        if self.streaming:
            write(text)


def _report(session: Session, prompt: str, output: _Output, end: Finished) -> dict[str, Any]:
    times = asdict(end)
    del times["text"]
    return {
        "model": session.name,
        "layout": session.model.layout,
        "renderer": session.model.device.limits.renderer,
        "prompt": prompt,
        "text": output.text,
        "tokens": [{"id": t.id, "logprob": t.logprob} for t in output.tokens],
        "trimmed": [asdict(event) for event in output.trims],
        **times,
        "tokens_per_second": end.tokens_per_second,
    }


def _summary(session: Session, precision: str, output: _Output, end: Finished) -> str:
    limits = session.model.device.limits
    first = (
        "" if end.first_token_seconds is None else f", first after {end.first_token_seconds:.2f} s"
    )
    full = f", context full {len(output.trims)} times" if output.trims else ""
    software = " (software)" if limits.is_software else ""
    return (
        f"{end.new_tokens} tokens, {end.tokens_per_second:.1f} tokens/s{first},"
        f" ended by {end.reason}{full}, seed {end.seed}, {session.name} {precision},"
        f" {limits.renderer}{software}"
    )
