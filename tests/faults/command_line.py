"""The command line run in this process on a tiny model: bytes in, exit code and bytes out."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import typer

from gpt2gl.cli import COMMANDS, app, run
from gpt2gl.errors import DeviceError
from gpt2gl.session import Session
from tests.checkpoints import tiny_config, tiny_weights, write_checkpoint
from tests.test_tokenizer_files import SINGLE, single_file, write

VOCAB = len(single_file()["model"]["vocab"])
CONFIG = tiny_config(vocab_size=VOCAB, n_positions=32, n_layer=1, eos_token_id=0, bos_token_id=0)


def write_tiny_model(folder: Path) -> Path:
    """A model of one layer with a tokenizer that knows every byte."""
    write_checkpoint(folder, CONFIG, tiny_weights(CONFIG))
    return write(folder, SINGLE, single_file())


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def call(arguments: list[str], stdin: bytes = b"") -> Done:
    """Run `gpt2gl` with what would be its arguments and its standard input."""
    out, err = io.BytesIO(), io.BytesIO()
    streams = (
        # As Python opens them in a UTF-8 locale.
        io.TextIOWrapper(out, "utf-8", "strict", write_through=True),
        io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True),
    )
    source = io.TextIOWrapper(io.BytesIO(stdin), "utf-8", "strict")
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]), mock.patch("sys.stdin", source):
        code = run(arguments)
    return Done(code, *(data.getvalue().decode("utf-8") for data in (out, err)))


class Unclosed:
    """A session that commands use and leave open."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def __enter__(self) -> Session:
        return self.session

    def __exit__(self, *error: object) -> None:
        """Leave it open."""


def no_driver(*arguments: Any, **options: Any) -> Any:
    """What loading is on a machine without OpenGL."""
    raise DeviceError("no driver: install one")


def parameters() -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Each command's words, with the parser's description of its arguments and options."""
    root = typer.main.get_command(app)
    # A window is no matter of bytes in and out.
    for name in (each for each in COMMANDS if each != "chat"):
        found = root.get_command(None, name)  # type: ignore[attr-defined]
        yield (name,), found.params
        for sub, command in getattr(found, "commands", {}).items():
            yield (name, sub), command.params
