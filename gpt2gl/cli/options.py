"""Options that commands share, and the sampling options derived from `Sampling` itself."""

from __future__ import annotations

import functools
import inspect
import json
import reprlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gpt2gl.errors import OptionError
from gpt2gl.generation import TOP_P
from gpt2gl.gl.context import API_VARIABLE, DEVICE_VARIABLE, chosen
from gpt2gl.loading import DEFAULT_MODEL, DEFAULT_PRECISION
from gpt2gl.sampling import SAMPLING_OPTIONS, Number, Sampling, TokenBias

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="An embedded model's name, a model of the hub such as gpt2 or owner/name (fetched"
        " once), a folder in Hugging Face layout, a .safetensors or .gguf file, or random:gpt2"
        " for random weights of that shape.",
    ),
]
PrecisionOption = Annotated[
    str,
    typer.Option(
        "--precision",
        "-p",
        help="How weights are stored: fp32, fp16, int8, int4, or fp32-plain, one number a texel.",
    ),
]
TuneOption = Annotated[
    bool,
    typer.Option(
        "--tune/--no-tune",
        help="Draw in the way measured to suit this device (measured once, about a second), or in"
        " the fixed way of its kind. Answers are the same.",
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help=f"Which GPU: a number or a part of a name that 'gpt2gl doctor' lists (Linux), or set"
        f" {DEVICE_VARIABLE}. By default the first that works.",
    ),
]
ApiOption = Annotated[
    str | None,
    typer.Option(
        "--api",
        help=f"gl or gles, OpenGL 3.3 or OpenGL ES 3.0 (Linux), or set {API_VARIABLE}. By default"
        " gl where there is one.",
    ),
]
MODEL, PRECISION = DEFAULT_MODEL, DEFAULT_PRECISION

# What `generate` uses where nothing is said: text that stays sensible. `Sampling` itself has
# neutral defaults, the model's own distribution.
DEFAULTS = {"temperature": 0.8, "top_k": 40, "top_p": 0.95}


def number_option(option: Number) -> Any:
    """A typer option that a `Number` describes and checks, so that its messages are the same
    wherever the value comes from."""

    def parse(value: Any) -> int | float | None:
        # Typer parses defaults too, which are numbers already.
        try:
            number = option.kind(value)
        except ValueError:
            raise option.refuse(value) from None
        return option.check(number)

    metavar = "INTEGER" if option.kind is int else "NUMBER"
    return typer.Option(option.cli, help=option.help, metavar=metavar, parser=parse)


def on_device(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--device` and `--api`, which say where it draws."""
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def wrapped(*args: Any, device: str | None, api: str | None, **kwargs: Any) -> Any:
        with chosen(device, api):
            return command(*args, **kwargs)

    parameters = list(signature.parameters.values())
    for name, annotation in (("device", DeviceOption), ("api", ApiOption)):
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=None, annotation=annotation))
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def with_sampling(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's `sampling` parameter by one option for each number in `Sampling`.

    Help texts and ranges come from the dataclass, which also checks the values.
    """
    signature = inspect.signature(command, eval_str=True)
    numbers = {n: o for n, o in SAMPLING_OPTIONS.items() if isinstance(o, Number)}
    numbers["top_p"] = TOP_P

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in numbers}
        greedy = kwargs.pop("greedy")
        if greedy:
            values["temperature"] = 0.0
        return command(*args, sampling=Sampling(**values), **kwargs)

    parameters = [p for p in signature.parameters.values() if p.name != "sampling"]
    parameters += [_parameter(name, option) for name, option in numbers.items()]
    parameters.append(_greedy())
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def _parameter(name: str, option: Number) -> inspect.Parameter:
    kind: Any = option.kind | None if option.optional else option.kind
    default = DEFAULTS.get(name, getattr(Sampling(), name))
    annotation = Annotated[kind, number_option(option)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _greedy() -> inspect.Parameter:
    text = "Always take the most likely token; the same as --temperature 0."
    annotation = Annotated[bool, typer.Option("--greedy", help=text)]
    return inspect.Parameter(
        "greedy", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation
    )


# Text in arguments ------------------------------------------------------------------------------


def argument_text(argument: str) -> str:
    """An argument as the UTF-8 it was typed in, whatever the locale says.

    Bytes that the locale's encoding does not know arrive as lone surrogates.
    """
    try:
        return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates of another origin; the tokenizer takes them
        return argument


def argument_texts(arguments: list[str] | None) -> tuple[str, ...]:
    """The texts given to an option that can be repeated."""
    return tuple(map(argument_text, arguments or ()))


def parse_biases(arguments: list[str] | None) -> list[tuple[int | str, float]]:
    """What `--logit-bias` was given: token id or text, and bias.

    Text may stand in double quotes and is then read as a JSON string, escapes included. Without
    quotes, which shells take away, it is what it is; only a number is always an id.

    Raises:
        OptionError: an argument has not this form, or the bias is out of range.
    """
    return [_bias(text) for text in argument_texts(arguments)]


def _bias(argument: str) -> tuple[int | str, float]:
    option = SAMPLING_OPTIONS["logit_bias"]
    assert isinstance(option, TokenBias)
    name, _, number = argument.rpartition("=")
    try:
        token: Any = _token(name)
        bias = float(number)
    except ValueError:
        token, bias = "", 0.0
    if token == "" or not abs(bias) <= option.limit:
        raise OptionError(
            f'{option.cli} is {reprlib.repr(argument)}; allowed: TOKEN_ID=BIAS or "text"=BIAS'
            f" with a bias from -{option.limit} to {option.limit}"
        )
    return token, bias


def _token(name: str) -> int | str:
    """A token's id, or its text; ValueError for a number or a quotation that cannot be read."""
    if name.startswith('"'):
        return str(json.loads(name))
    return int(name) if name.isascii() and name.isdigit() else name


def read_text(prompt: str | None, file: Path | None) -> str:
    """The prompt: an argument, a file, or standard input for `-` and where nothing is given.

    A terminal is read only when asked for with `-`.

    Raises:
        OptionError: both are given, or the file cannot be read as UTF-8.
    """
    if prompt is not None and file is not None:
        raise OptionError("both a prompt and --file are given: choose one")
    if file is not None and str(file) != "-":
        return _decoded(f"--file {file}", file.read_bytes)
    asked = prompt == "-" or file is not None
    if prompt is not None and not asked:
        return argument_text(prompt)
    if sys.stdin is None or not (asked or not sys.stdin.isatty()):
        return ""
    return _decoded("standard input", sys.stdin.buffer.read)


def _decoded(where: str, read: Callable[[], bytes]) -> str:
    try:
        # Editors on Windows put a byte order mark in front.
        return read().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            problem = f"{where} is not UTF-8 text (byte {error.start}): convert it"
        else:
            reason = getattr(error, "strerror", None) or str(error)
            problem = f"{where}: {reason}: give a file that can be read"
        raise OptionError(problem) from None
