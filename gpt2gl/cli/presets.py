"""`gpt2gl presets`: named settings, and the `--preset` option of other commands."""

from __future__ import annotations

import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from gpt2gl.cli import STYLE
from gpt2gl.cli.options import argument_texts, number_option
from gpt2gl.errors import OptionError
from gpt2gl.generation import GENERATION_OPTIONS
from gpt2gl.presets import (
    BUILT_IN,
    SAMPLING_FIELDS,
    Preset,
    find_preset,
    remove_preset,
    save_preset,
    saved_names,
)
from gpt2gl.sampling import SAMPLING_OPTIONS, Number
from gpt2gl.small_files import shown_path

command = typer.Typer(help="List, save and remove named settings.", **STYLE)

CONTEXT = "typer_context"


def with_preset(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--preset` to a command: its values stand in for options that are not given.

    It goes around `with_sampling`. Options that the command does not have are left out.
    """
    signature = inspect.signature(function, eval_str=True)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        context, name = kwargs.pop(CONTEXT), kwargs.pop("preset")
        values = find_preset(name).values if name is not None else {}
        for option, value in values.items():
            if option in kwargs and not _is_given(context, option):
                kwargs[option] = list(value) if isinstance(value, tuple) else value
        return function(*args, **kwargs)

    parameters = [
        _keyword(CONTEXT, typer.Context, inspect.Parameter.empty),
        *signature.parameters.values(),
        _keyword("preset", Annotated[str | None, typer.Option(help=_PRESET_HELP)], None),
    ]
    _set_signature(wrapped, parameters)
    return wrapped


_PRESET_HELP = (
    f"Named settings: {', '.join(BUILT_IN)}, or one that you saved. Options given beside it win."
)


def _is_given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _set_signature(function: Any, parameters: list[inspect.Parameter]) -> None:
    # A signature has its keyword-only parameters last; typer reads nothing into the order.
    ordered = sorted(parameters, key=lambda p: p.kind)
    function.__signature__ = inspect.Signature(ordered)
    function.__annotations__ = {p.name: p.annotation for p in ordered}


@command.callback(invoke_without_command=True)
def listing(context: typer.Context) -> int:
    """List the presets, with the options they stand for."""
    if context.invoked_subcommand is not None:
        return 0
    for preset in BUILT_IN.values():
        _print(preset)
    return max([0, *map(_print_saved, saved_names())])


def _print_saved(name: str) -> int:
    """Print a saved preset; a damaged one is an error that does not hide the others."""
    try:
        _print(find_preset(name))
    except OptionError as error:
        print(f"gpt2gl: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _print(preset: Preset) -> None:
    origin = "built in" if preset.built_in else "saved"
    line = f"{preset.name:16s} {origin:9s} {shlex.join(_options(preset))}\n"
    typer.echo(line.encode("utf-8", "replace"), nl=False)


def _options(preset: Preset) -> Iterator[str]:
    """A preset as the command line would spell it."""
    for name, value in preset.values.items():
        for each in value if isinstance(value, tuple) else (value,):
            if each is not None:
                yield from (f"--{name.replace('_', '-')}", str(each))


def _save(name: str, **options: Any) -> None:
    """Save the options given under a name, to use with --preset; the others keep their defaults."""
    options["stop"] = argument_texts(options["stop"])
    values = {option: value for option, value in options.items() if value not in (None, ())}
    if not values:
        raise OptionError("nothing to save: give at least one option, such as --temperature 0.7")
    path = save_preset(Preset(name, values))
    typer.echo(f"saved {name} in {shown_path(path)}")


def _save_parameters() -> Iterator[inspect.Parameter]:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    help_text = "Lower-case letters, digits, _ and -."
    name = Annotated[str, typer.Argument(help=help_text)]
    yield inspect.Parameter("name", kind, annotation=name)
    for field in SAMPLING_FIELDS:
        option = SAMPLING_OPTIONS[field]
        assert isinstance(option, Number)
        value: Any = option.kind | None
        yield _keyword(field, Annotated[value, number_option(option)], None)
    tokens = number_option(GENERATION_OPTIONS["max_tokens"])
    yield _keyword("max_tokens", Annotated[int | None, tokens], None)
    stop = typer.Option("--stop", help="End before this text; repeatable.")
    yield _keyword("stop", Annotated[list[str] | None, stop], None)


_set_signature(_save, list(_save_parameters()))
command.command("save")(_save)


@command.command("remove")
def remove(name: Annotated[str, typer.Argument(help="A saved preset.")]) -> None:
    """Remove a saved preset."""
    remove_preset(name)
    typer.echo(f"removed {name}")
