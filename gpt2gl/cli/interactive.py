"""`gpt2gl generate --interactive`: a dialogue in the terminal, or over pipes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from gpt2gl.cli.chat_commands import Chat, run_command
from gpt2gl.cli.loader import load_with_progress
from gpt2gl.cli.options import argument_text
from gpt2gl.dialogue import Dialogue
from gpt2gl.errors import DeviceError, Gpt2glError, OptionError
from gpt2gl.generation import Event, Finished, Generation, Token, Trimmed
from gpt2gl.session import Session
from gpt2gl.templates import template_for

InteractiveOption = Annotated[
    bool, typer.Option("--interactive", "-i", help="Talk with the model, line by line.")
]


def opening(prompt: str | None, file: Path | None, as_json: bool) -> str | None:
    """The first message, from the command line's prompt; None where there is none.

    Raises:
        OptionError: an option that says something else about input or output is given too.
    """
    for option, given in (("--file", file is not None), ("--json", as_json)):
        if given:
            raise OptionError(f"both --interactive and {option} are given: choose one")
    return None if prompt in (None, "-") else argument_text(str(prompt))


def converse(
    model: str,
    precision: str,
    tune: bool,
    options: Callable[[Session], Generation],
    message: str | None,
) -> int:
    """Read messages and print answers until the input ends; `message` is the first, if any.

    Answers go to standard output, everything else to standard error. A mistake costs one line and
    the conversation goes on. Returns the exit code.

    Raises:
        Gpt2glError: the model cannot be loaded or run, or the input is not UTF-8.
    """
    with load_with_progress(model, precision, tune) as session:
        # Only now is a model of the hub here, with the file that names its template.
        dialogue = Dialogue(session, template_for(model), options(session))
        chat = Chat(dialogue, _notice, lambda events: _show(session, events))
        if sys.stdin.isatty():
            _notice(f"{session.name}: /help lists the commands, Ctrl-D ends")
        for line in _lines(message):
            _take(chat, line)
            if chat.done:
                break
    return 0


def _take(chat: Chat, line: str) -> None:
    """A message, or a command; one with two slashes is a message with one."""
    try:
        if line.startswith("/") and not line.startswith("//"):
            run_command(chat, line)
        elif line.strip():
            text = line.removeprefix("/") if line.startswith("//") else line
            chat.show(chat.dialogue.say(text))
    except DeviceError:
        raise
    except Gpt2glError as error:
        _notice(f"gpt2gl: {error}")


def _lines(message: str | None) -> Iterator[str]:
    if message:
        yield message
    yield from _typed() if sys.stdin.isatty() else _piped()


def _typed() -> Iterator[str]:
    """Lines of a person, who can edit them and go back to earlier ones with the arrow keys."""
    from prompt_toolkit import PromptSession

    prompt: PromptSession[str] = PromptSession("> ")
    while True:
        try:
            line = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        yield line


def _piped() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise OptionError(
                f"line {number} of standard input is not UTF-8 text (byte {error.start}):"
                " convert it"
            ) from None


def _show(session: Session, events: Iterable[Event]) -> None:
    """Print an answer as it comes; Ctrl-C ends it."""
    with _cancel_on_interrupt(session):
        for event in events:
            if isinstance(event, Trimmed):
                _notice(f"the context is full: {event.dropped} tokens dropped, {event.kept} kept")
            if isinstance(event, Token | Finished) and event.text:
                _write(event.text)
    _write("\n")


@contextmanager
def _cancel_on_interrupt(session: Session) -> Iterator[None]:
    """Every Ctrl-C ends the answer, none the conversation."""

    def cancel(signum: int, frame: FrameType | None) -> None:
        session.cancel()

    previous = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _write(text: str) -> None:
    """To standard output as UTF-8, whatever the locale says."""
    typer.echo(text.encode("utf-8", "replace"), nl=False)


def _notice(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
