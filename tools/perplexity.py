"""What a precision costs in quality: perplexity of a model on a text, over that in fp32.

Usage: python tools/perplexity.py TEXT [--model storyteller] [--precision int8] [--window 256]
       [--stride 128] [--max-tokens 20000] [--json]

Windows and perplexity are those of `gpt2gl score`, every token counted once. Use a text that the
model was not trained on, and the same for every precision: all of them here run on the same tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import gpt2gl
from gpt2gl.errors import Gpt2glError, OptionError
from gpt2gl.scoring import combine, score_windows, windows_of

BASE = "fp32"
PRECISIONS = (BASE, "fp16", "int8", "int4")


@dataclass(frozen=True)
class Row:
    """A precision; `ratio` is its perplexity over that of fp32."""

    precision: str
    n_tokens: int
    n_scored: int
    perplexity: float
    bits_per_byte: float
    ratio: float
    seconds: float


@dataclass(frozen=True)
class Windows:
    """Tokens of a window, from one window to the next, and of the text at most; None: the model's
    context, half a window, all."""

    size: int | None = None
    stride: int | None = None
    max_tokens: int | None = None


def measure(model: str, precisions: Sequence[str], text: str, windows: Windows) -> list[Row]:
    """A row for fp32, which the others are compared with, and one for each precision.

    Raises:
        Gpt2glError: the model cannot be loaded, or the text or a window does not fit it.
    """
    rows: list[Row] = []
    for precision in dict.fromkeys((BASE, *precisions)):
        rows.append(_row(model, precision, text, windows, rows[0].perplexity if rows else None))
    return rows


def _row(model: str, precision: str, text: str, windows: Windows, base: float | None) -> Row:
    start = time.perf_counter()
    with gpt2gl.load(model, precision) as session:
        tokens = session.tokenizer.encode(text)[: windows.max_tokens]
        n_positions = session.model.config.n_positions
        size = windows.size or n_positions
        if size > n_positions:
            raise OptionError(f"--window is {size}; allowed: 2 to the model's {n_positions}")
        spans = windows_of(len(tokens), size, windows.stride or max(1, size // 2))
        lengths = [len(session.tokenizer.token_bytes(token)) for token in tokens]
        score = combine(len(tokens), score_windows(session, tokens, spans), lengths)
    return Row(
        precision=precision,
        n_tokens=len(tokens),
        n_scored=score.n_scored,
        perplexity=score.token_perplexity,
        bits_per_byte=score.bits_per_byte,
        ratio=score.token_perplexity / (base or score.token_perplexity),
        seconds=time.perf_counter() - start,
    )


def table_of(rows: Sequence[Row], model: str) -> Table:
    table = Table(title=f"{model}, {rows[0].n_scored} of {rows[0].n_tokens} tokens scored")
    for heading in ("precision", "perplexity", f"over {BASE}", "bits per byte", "seconds"):
        table.add_column(heading, justify="left" if heading == "precision" else "right")
    for row in rows:
        table.add_row(
            row.precision,
            f"{row.perplexity:.4f}",
            f"{100 * (row.ratio - 1):+.3f} %",
            f"{row.bits_per_byte:.4f}",
            f"{row.seconds:.1f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Perplexity of each precision over that in fp32.")
    parser.add_argument("text", type=Path, help="a text in UTF-8")
    parser.add_argument("--model", default="storyteller", help="as gpt2gl --model")
    parser.add_argument("--precision", action="append", help="repeatable; fp16, int8 and int4")
    parser.add_argument("--window", type=int, help="tokens; the model's context if none")
    parser.add_argument("--stride", type=int, help="tokens; half a window if none")
    parser.add_argument("--max-tokens", type=int, help="of the text, from its beginning")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    windows = Windows(args.window, args.stride, args.max_tokens)
    try:
        text = args.text.read_text(encoding="utf-8")
        rows = measure(args.model, args.precision or PRECISIONS, text, windows)
    except (OSError, UnicodeDecodeError, Gpt2glError) as error:
        sys.exit(f"perplexity: {error}")
    if args.json:
        print(json.dumps({"model": args.model, "rows": [asdict(row) for row in rows]}))
        return
    Console(width=100, highlight=False).print(table_of(rows, args.model))


if __name__ == "__main__":
    main()
