"""The command line: `gpt2gl generate`, `score`, `verify`, `doctor`, ..."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gpt2gl import __version__
from gpt2gl.errors import Gpt2glError
from gpt2gl.small_files import printable, shown_path

BAD_INPUT = 2
INTERRUPTED = 130
EXIT_CODES = (
    "Exit codes: 0 done; 1 a verification failed; 2 bad input; 3 the OpenGL driver; 130 Ctrl-C."
)

# Name -> the module whose `command` it is: a function, or a Typer with commands of its own. It is
# imported when it is asked for, so that each command waits only for the libraries it uses.
COMMANDS = {
    # The window's package builds on this one, so it is named here and imported by nobody.
    "chat": "gpt2gl_ui.command",
    "generate": "gpt2gl.cli.generate",
    "score": "gpt2gl.cli.score",
    "inspect": "gpt2gl.cli.inspect",
    "verify": "gpt2gl.cli.verify",
    "doctor": "gpt2gl.cli.doctor",
    "models": "gpt2gl.cli.models",
    "bench": "gpt2gl.cli.bench",
    "presets": "gpt2gl.cli.presets",
}
STYLE: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}

# What the parser raises for arguments it does not understand. Some releases of Typer use Click's
# own class and some a copy of it, so it is taken from Typer.
_UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """The rows of `COMMANDS`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(COMMANDS[cmd_name]).command
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        single = typer.Typer(**STYLE)
        single.command(cmd_name)(found)
        return typer.main.get_command(single)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what Typer would end the process for is an exit code here."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            return _say("interrupted", INTERRUPTED)
        except BrokenPipeError:
            return _reader_left()


app = typer.Typer(
    name="gpt2gl",
    help="GPT-2 in GLSL fragment shaders.",
    epilog=EXIT_CODES,
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    **STYLE,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpt2gl {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error; may stand anywhere."),
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """GPT-2 in GLSL fragment shaders."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    _open_missing_streams()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code; every error is one line on stderr."""
    debug, rest = _without_debug(arguments)
    try:
        result = app(rest, prog_name="gpt2gl", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except _UsageError as error:
        return _say(f"{error.format_message().rstrip('.')}: see 'gpt2gl --help'", BAD_INPUT)
    except Gpt2glError as error:
        if debug:
            traceback.print_exc()
        return _say(str(error), error.exit_code)
    except (OSError, MemoryError) as error:
        if debug:
            traceback.print_exc()
        return _say(_described(error), BAD_INPUT)


def _described(error: OSError | MemoryError) -> str:
    """The line for what the system refused and nobody expected."""
    if isinstance(error, MemoryError):
        return "out of memory: use a smaller model, or a shorter text"
    if error.errno == errno.ENOSPC and error.filename is None:
        _let_go_of_stdout()
        return f"standard output: {error.strerror}: make room for it"
    where = "the system" if error.filename is None else shown_path(Path(str(error.filename)))
    return f"{where}: {error.strerror or error}: --debug shows what was tried"


def _open_missing_streams() -> None:
    """Put nothing in place of the standard streams that were closed.

    Else files that are opened later would have their numbers, and get what is printed.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _without_debug(arguments: list[str]) -> tuple[bool, list[str]]:
    """Whether --debug stands before a `--`, and the other arguments."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [each for each in arguments[:end] if each != "--debug"]
    return len(options) < end, options + arguments[end:]


def _say(message: str, code: int) -> int:
    print(f"gpt2gl: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code


def _reader_left() -> int:
    """The reader of a pipe has gone, which is no error: they have seen enough."""
    _let_go_of_stdout()
    return 0


def _let_go_of_stdout() -> None:
    """Keep Python from failing at exit to write what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
