"""Options that commands share, and the sampling options derived from `Sampling` itself."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gpt2gl.errors import OptionError
from gpt2gl.loading import DEFAULT_MODEL, DEFAULT_PRECISION
from gpt2gl.sampling import SAMPLING_OPTIONS, Number, Sampling

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="An embedded model's name, a folder in Hugging Face layout, a .safetensors or .gguf"
        " file, or random:gpt2 for random weights of that shape.",
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
MODEL, PRECISION = DEFAULT_MODEL, DEFAULT_PRECISION

# What `generate` uses where nothing is said: text that stays sensible. `Sampling` itself has
# neutral defaults, the model's own distribution.
DEFAULTS = {"temperature": 0.8, "top_k": 40, "top_p": 0.95}


def with_sampling(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's `sampling` parameter by one option for each number in `Sampling`.

    Help texts and ranges come from the dataclass, which also checks the values.
    """
    signature = inspect.signature(command, eval_str=True)
    numbers = {n: o for n, o in SAMPLING_OPTIONS.items() if isinstance(o, Number)}

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
    annotation = Annotated[kind, typer.Option(option.cli, help=option.help)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _greedy() -> inspect.Parameter:
    text = "Always take the most likely token; the same as --temperature 0."
    annotation = Annotated[bool, typer.Option("--greedy", help=text)]
    return inspect.Parameter(
        "greedy", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation
    )


def read_text(prompt: str | None, file: Path | None) -> str:
    """The prompt: an argument, a file, or standard input where that is not a terminal.

    Raises:
        OptionError: both are given, or the file cannot be read as UTF-8.
    """
    if prompt is not None and file is not None:
        raise OptionError("both a prompt and --file are given: choose one")
    if prompt is not None:
        # Arguments that are not UTF-8 arrive with lone surrogates.
        return prompt.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if file is None and sys.stdin.isatty():
        return ""
    try:
        data = file.read_bytes() if file is not None else sys.stdin.buffer.read()
        return data.decode("utf-8")
    except OSError as error:
        raise OptionError(
            f"--file {file}: {error.strerror}: give a file that can be read"
        ) from None
    except UnicodeDecodeError as error:
        where = f"--file {file}" if file is not None else "standard input"
        raise OptionError(f"{where} is not UTF-8 text (byte {error.start}): convert it") from None
