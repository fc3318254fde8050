"""`gpt2gl score`: how likely a model finds a text, token by token."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from gpt2gl.cli.loader import announce_software, load_with_progress
from gpt2gl.cli.options import MODEL, PRECISION, ModelOption, PrecisionOption, TuneOption, on_device
from gpt2gl.errors import OptionError
from gpt2gl.scoring import Score, WindowScore, combine, score_windows, windows_of
from gpt2gl.session import Session
from gpt2gl.small_files import shown_path

SUMMARY = """\
perplexity     {perplexity:.4f}  (Hugging Face guide)
per token      {token_perplexity:.4f}  (every token counted once)
bits per byte  {bits_per_byte:.4f}
scored         {n_scored} of {n_tokens} tokens, window {window}, stride {stride}
model          {model} {precision}\
"""


@on_device
def command(
    file: Annotated[str, typer.Argument(help="The text, in UTF-8; - reads standard input.")],
    model: ModelOption = MODEL,
    precision: PrecisionOption = PRECISION,
    tune: TuneOption = True,
    window: Annotated[
        int | None, typer.Option(help="Tokens that the model reads at once; its context if none.")
    ] = None,
    stride: Annotated[
        int | None,
        typer.Option(help="Tokens from one window to the next; half a window if none."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print log-probabilities, perplexity and bits per byte of a text."""
    text = _read(file)
    with load_with_progress(model, precision, tune) as session:
        tokens = session.tokenizer.encode(text)
        n_positions = session.model.config.n_positions
        size = n_positions if window is None else window
        if size > n_positions:
            raise OptionError(f"--window is {size}; allowed: 2 to the model's {n_positions}")
        step = max(1, size // 2) if stride is None else stride
        score = combine(
            len(tokens), _scored(session, tokens, size, step), _byte_counts(session, tokens)
        )
        rows = list(_rows(session, tokens, score))
        # After what can be refused, which is to be one line.
        announce_software(session)
    summary = {
        "model": model,
        "precision": precision,
        "window": size,
        "stride": step,
        "n_tokens": len(tokens),
        "n_scored": score.n_scored,
        "perplexity": score.perplexity,
        "token_perplexity": score.token_perplexity,
        "bits_per_byte": score.bits_per_byte,
    }
    output = _json(summary, rows) if as_json else _table(summary, rows)
    # As UTF-8, whatever the locale says.
    typer.echo(output.encode("utf-8"))


def _read(file: str) -> str:
    name = "standard input" if file == "-" else shown_path(Path(file))
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise OptionError(f"{name}: {error.strerror}: give a file that can be read") from None
    except UnicodeDecodeError as error:
        raise OptionError(f"{name} is not UTF-8 text (byte {error.start}): convert it") from None


def _scored(
    session: Session, tokens: Sequence[int], window: int, stride: int
) -> Iterator[WindowScore]:
    """The windows' scores, with a progress bar where a person waits at a terminal."""
    windows = list(windows_of(len(tokens), window, stride))
    parts = score_windows(session, tokens, windows)
    if len(windows) > 1 and sys.stderr.isatty():
        console = Console(stderr=True)
        return iter(track(parts, "scoring", len(windows), console=console, transient=True))
    return parts


def _byte_counts(session: Session, tokens: Sequence[int]) -> list[int]:
    return [len(session.tokenizer.token_bytes(token)) for token in tokens]


def _rows(session: Session, tokens: Sequence[int], score: Score) -> Iterator[dict[str, Any]]:
    """One object for each token; `logprob` is None where nothing stands before it."""
    for position, (token, logprob) in enumerate(zip(tokens, score.logprobs.tolist(), strict=True)):
        yield {
            "position": position,
            "id": token,
            "text": session.tokenizer.token_text(token),
            "logprob": None if math.isnan(logprob) else logprob,
        }


def _json(summary: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    # JSON has no infinity, which a perplexity can be.
    finite = {k: None if v in (math.inf, -math.inf) else v for k, v in summary.items()}
    return json.dumps({**finite, "tokens": rows}, ensure_ascii=False)


def _table(summary: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    table = Table("position", "id", "token", "logprob", "probability")
    for row in rows:
        logprob = row["logprob"]
        numbers = (
            ("", "") if logprob is None else (f"{logprob:.4f}", f"{100 * math.exp(logprob):.3f} %")
        )
        table.add_row(str(row["position"]), str(row["id"]), row["text"], *numbers)
    for column in (0, 1, 3, 4):
        table.columns[column].justify = "right"
    page = io.StringIO()
    Console(file=page, width=100, markup=False, emoji=False, highlight=False).print(table)
    return page.getvalue() + SUMMARY.format(**summary)
