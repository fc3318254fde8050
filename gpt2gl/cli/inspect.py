"""`gpt2gl inspect`: attention, residuals, logit lens and token probabilities as files."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gpt2gl.cli.loader import load_with_progress
from gpt2gl.cli.options import (
    MODEL,
    PRECISION,
    ModelOption,
    PrecisionOption,
    TuneOption,
    argument_texts,
    on_device,
    read_text,
)
from gpt2gl.errors import OptionError
from gpt2gl.interventions import Scale, scale_part

NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Write these tensors to trace.npz too, such as 'h.*.mlp.act' or 'h.3.attn.q';"
        " may be given several times.",
    ),
]
AblateOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Switch off a part: h.3.attn.head.2, h.5.mlp, h.5.attn, h.4, or a tensor's name;"
        " may be given several times.",
    ),
]
ScaleOption = Annotated[
    list[str] | None,
    typer.Option(help="Scale a part: h.5.mlp=0.5; may be given several times."),
]


@on_device
def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write; made if need be.")],
    prompt: Annotated[
        str | None, typer.Argument(help="The text; - or nothing reads standard input.")
    ] = None,
    model: ModelOption = MODEL,
    precision: PrecisionOption = PRECISION,
    tune: TuneOption = True,
    names: NamesOption = None,
    ablate: AblateOption = None,
    scale: ScaleOption = None,
    top: Annotated[int, typer.Option(min=1, help="Guesses to keep of each token.")] = 10,
    lens: Annotated[
        int, typer.Option(min=0, help="The logit lens at this many last tokens; 0 for all.")
    ] = 64,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw PNG pictures.")] = True,
) -> None:
    """Write what is inside the model while it reads a text: NumPy arrays, JSON and pictures."""
    parts = [*_ablated(ablate), *_scaled(scale)]
    text = read_text(prompt, None)
    with load_with_progress(model, precision, tune) as session:
        # Imports NumPy and the model; options are refused before.
        from gpt2gl.inspection import Inspection, inspect

        tokens = session.prompt_tokens(text)
        session.set_interventions([each for _, scales in parts for each in scales])
        settings = {
            "model": model,
            "precision": precision,
            "interventions": [name for name, _ in parts],
            "prompt": text,
        }
        options = Inspection(argument_texts(names), top, lens, plots)
        with _progress() as show:
            index = inspect(session, tokens, out, options, settings, show)
    for each in index["left_out"]:
        typer.echo(f"left out: {each}", err=True)
    typer.echo(f"{len(index['files']) + 1} files on {len(tokens)} tokens in {out}")


def _ablated(parts: list[str] | None) -> Iterator[tuple[str, tuple[Scale, ...]]]:
    for part in argument_texts(parts):
        yield f"{part}=0", scale_part(part, 0.0)


def _scaled(parts: list[str] | None) -> Iterator[tuple[str, tuple[Scale, ...]]]:
    for text in argument_texts(parts):
        part, _, number = text.rpartition("=")
        try:
            factor = float(number)
        except ValueError:
            part = ""
        if not part:
            raise OptionError(f"--scale is {text!r}; allowed: PART=NUMBER, such as h.5.mlp=0.5")
        yield text, scale_part(part, factor)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], Any]]:
    """What is being done, for a person at a terminal."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update
