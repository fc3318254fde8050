"""The command line: `gpt2gl generate | verify | doctor`.

Exit codes: 0 done; 1 a verification failed; 2 bad input; 3 the OpenGL driver; 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import click
import typer

from gpt2gl import __version__
from gpt2gl.cli import doctor, generate, verify
from gpt2gl.errors import Gpt2glError

INTERRUPTED = 130

app = typer.Typer(
    name="gpt2gl",
    help="GPT-2 in GLSL fragment shaders.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("generate")(generate.command)
app.command("verify")(verify.command)
app.command("doctor")(doctor.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gpt2gl {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """GPT-2 in GLSL fragment shaders."""
    context.obj = {"debug": debug}
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code; every error is one line on stderr."""
    try:
        result = app(arguments, prog_name="gpt2gl", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return _reader_left()
    except click.ClickException as error:
        return _say(error.format_message(), error.exit_code)
    except Gpt2glError as error:
        if "--debug" in arguments:
            traceback.print_exc()
        return _say(str(error), error.exit_code)


def _say(message: str, code: int) -> int:
    print(f"gpt2gl: {' '.join(message.split())}", file=sys.stderr)
    return code


def _reader_left() -> int:
    """The reader of a pipe has gone; keep Python from complaining about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
