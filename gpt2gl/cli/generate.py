"""`gpt2gl generate`: continue a prompt, streaming to standard output."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from gpt2gl.cli.loader import load_with_progress
from gpt2gl.cli.options import (
    MODEL,
    PRECISION,
    ModelOption,
    PrecisionOption,
    read_text,
    with_sampling,
)
from gpt2gl.generation import CANCELLED, Event, Finished, Generation, Token, Trimmed
from gpt2gl.sampling import Sampling
from gpt2gl.session import Session

INTERRUPTED = 130


@with_sampling
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
    max_tokens: Annotated[int, typer.Option(help="Make at most this many tokens.")] = 200,
    stop: Annotated[
        list[str] | None, typer.Option("--stop", help="End before this text; repeatable.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="End after this many seconds.")] = None,
    context_policy: Annotated[
        str, typer.Option(help="When the context is full: stop, roll or keep-head.")
    ] = "stop",
    keep: Annotated[int, typer.Option(help="Tokens that keep-head keeps.")] = 64,
    echo: Annotated[bool, typer.Option(help="Print the prompt before its continuation.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary on stderr.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Continue a prompt; without one, start from the end-of-text token."""
    options = Generation(
        sampling=sampling,
        max_tokens=max_tokens,
        stop=tuple(stop or ()),
        time_limit=time_limit,
        context_policy=context_policy,
        keep=keep,
    )
    text = read_text(None if prompt == "-" else prompt, file)
    with load_with_progress(model, precision) as session, _cancel_on_interrupt(session):
        shown = "" if as_json else (text if echo else "")
        finished = _stream(session.generate(text, options), shown, streaming=not as_json)
        if as_json:
            _write(json.dumps(_report(session, text, *finished), ensure_ascii=False) + "\n")
        elif not quiet:
            print(_summary(session, precision, finished[2]), file=sys.stderr)
    return INTERRUPTED if finished[2].reason == CANCELLED else 0


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


def _stream(
    events: Iterator[Event], shown: str, streaming: bool
) -> tuple[str, list[Token], Finished]:
    """Print tokens as they come; returns the whole text, the tokens and the end."""
    tokens: list[Token] = []
    pieces: list[str] = []
    if streaming:
        _write(shown)
    for event in events:
        if isinstance(event, Trimmed):
            print(
                f"gpt2gl: the context is full: {event.dropped} tokens dropped, {event.kept} kept",
                file=sys.stderr,
            )
        if isinstance(event, Token):
            tokens.append(event)
        if isinstance(event, Token | Finished):
            pieces.append(event.text)
            if streaming:
                _write(event.text)
    if streaming:
        _write("\n")
    assert isinstance(event, Finished)
    return "".join(pieces), tokens, event


def _write(text: str) -> None:
    """To standard output as UTF-8, whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _report(
    session: Session, prompt: str, text: str, tokens: list[Token], end: Finished
) -> dict[str, Any]:
    times = asdict(end)
    del times["text"]
    return {
        "model": session.name,
        "layout": session.model.layout,
        "renderer": session.model.device.limits.renderer,
        "prompt": prompt,
        "text": text,
        "tokens": [{"id": t.id, "logprob": t.logprob} for t in tokens],
        **times,
        "tokens_per_second": end.tokens_per_second,
    }


def _summary(session: Session, precision: str, end: Finished) -> str:
    limits = session.model.device.limits
    first = (
        "" if end.first_token_seconds is None else f", first after {end.first_token_seconds:.2f} s"
    )
    software = " (software)" if limits.is_software else ""
    return (
        f"{end.new_tokens} tokens, {end.tokens_per_second:.1f} tokens/s{first},"
        f" ended by {end.reason}, seed {end.seed}, {session.name} {precision},"
        f" {limits.renderer}{software}"
    )
