"""Compare speed with other engines: one run, one machine, the same random weights.

Usage: python tools/bench_peers.py [--quick] [--json] [--context 128] [--prefill 512] ...

Takes GPT-2 small with random weights as `transformers` initialises it, saved to a temporary folder.
Engines: gpt2gl in each precision; transformers on the CPU, with as many threads as cores and with
one, and on CUDA, not compiled, where torch sees it; onnxruntime on the CPU where it is installed.

Run it on an idle machine. An engine that makes all its threads wait for each other, as torch does,
loses most of its speed to a single other process: compare the rows of transformers before you
believe a ratio to either.

A token runs from its id to its logits in host memory, on a cache filled by a real prefill, with a
new last token each time. Engines take turns, round by round, and each turn begins with a token
that is not counted. A ratio is taken within a round, so that what slows the machine for a while
slows both sides of it; shown are medians over the rounds, and the extremes.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peer_engines import Engine, Floats, cores, makers
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel

from gpt2gl.bench import Spread

PRECISIONS = ("fp32", "fp16", "int8", "int4")
# What ratios are to, where it runs.
BASES = ("transformers cpu", "transformers cpu 1 thread", "transformers cuda")
# Other work on the machine slows an engine that waits for all its threads far more than others.
BUSY_LOAD = 0.5
# Threads of an engine whose turn is over may still spin for work.
PAUSE_SECONDS = 0.2
CHECKED_TOKENS = 24


# Measuring --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Tokens of context of a decoded token and of a prompt; rounds; tokens counted in a turn."""

    context: int
    prefill: int
    rounds: int
    tokens: int


@dataclass(frozen=True)
class Row:
    """An engine. `decode` and `prefill` are its times over those of each base, below 1 where it is
    faster; `difference` is the largest of a logit from transformers on the CPU, and `scale` the
    standard deviation of the logits there."""

    engine: str
    decode_ms: Spread
    prefill_s: Spread
    decode: dict[str, Spread]
    prefill: dict[str, Spread]
    difference: float
    scale: float


def compare(config: GPT2Config, precisions: Sequence[str], sizes: Sizes) -> list[Row]:
    """Make the model, open every engine, and measure them in turns."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        GPT2LMHeadModel(config).save_pretrained(folder)
        engines = []
        for make in makers(Path(folder), precisions):
            engines.append(make())
            stack.callback(engines[-1].close)
        gc.collect()
        texts = _Texts(config.vocab_size)
        *checked, last = texts(CHECKED_TOKENS)
        logits = [_after(engine, checked, last) for engine in engines]
        past = texts(sizes.context - 1)
        for engine in engines:
            engine.prompt(past)
        rounds = range(sizes.rounds)
        decode = [_in_turns(engines, _tokens_turn, texts(sizes.tokens + 1)) for _ in rounds]
        prefill = [_in_turns(engines, _prompt_turn, texts(sizes.prefill)) for _ in rounds]
    return _rows([engine.name for engine in engines], decode, prefill, logits)


class _Texts:
    """Seeded random texts, each with another first token than the one before."""

    def __init__(self, vocab_size: int) -> None:
        self.random = np.random.default_rng(0)
        self.vocab_size = vocab_size
        self.first = itertools.cycle(range(vocab_size))

    def __call__(self, length: int) -> list[int]:
        rest = self.random.integers(0, self.vocab_size, length - 1).tolist()
        return [next(self.first), *rest]


def _after(engine: Engine, text: Sequence[int], last: int) -> Floats:
    """Logits after a text and one token more, by way of the cache."""
    engine.prompt(text)
    return engine.token(last)


def _in_turns(
    engines: Sequence[Engine], turn: Callable[[Engine, list[int]], float], tokens: list[int]
) -> list[float]:
    """One round: what `turn` measures of each engine on the same tokens."""
    found = []
    for engine in engines:
        time.sleep(PAUSE_SECONDS)
        found.append(turn(engine, tokens))
    return found


def _tokens_turn(engine: Engine, tokens: Sequence[int]) -> float:
    """Milliseconds a token, without the first."""
    engine.token(tokens[0])
    return 1e3 * statistics.median(_seconds(engine.token, token) for token in tokens[1:])


def _prompt_turn(engine: Engine, prompt: Sequence[int]) -> float:
    return _seconds(engine.prompt, prompt)


def _seconds(function: Callable[[Any], object], argument: Any) -> float:
    start = time.perf_counter()
    function(argument)
    return time.perf_counter() - start


def _rows(
    names: Sequence[str],
    decode: Sequence[Sequence[float]],
    prefill: Sequence[Sequence[float]],
    logits: Sequence[Floats],
) -> list[Row]:
    bases = {name: names.index(name) for name in BASES if name in names}
    return [
        Row(
            engine=name,
            decode_ms=Spread.of(times[i] for times in decode),
            prefill_s=Spread.of(times[i] for times in prefill),
            decode={b: Spread.of(t[i] / t[j] for t in decode) for b, j in bases.items()},
            prefill={b: Spread.of(t[i] / t[j] for t in prefill) for b, j in bases.items()},
            difference=float(np.abs(logits[i] - logits[0]).max()),
            scale=float(logits[0].std()),
        )
        for i, name in enumerate(names)
    ]


# Output -----------------------------------------------------------------------------------------


def table_of(rows: Sequence[Row], sizes: Sizes) -> Table:
    table = Table(title=f"context {sizes.context}, prompt {sizes.prefill}, {sizes.rounds} rounds")
    bases = list(rows[0].decode)
    headings = [f"{what} / {base}" for what in ("token", "prompt") for base in bases]
    for heading in ("engine", "ms a token", "s a prompt", *headings, "logits differ"):
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for row in rows:
        ratios = (part[base] for part in (row.decode, row.prefill) for base in bases)
        table.add_row(
            row.engine,
            _spread(row.decode_ms),
            _spread(row.prefill_s),
            *map(_spread, ratios),
            f"{row.difference:.1e} of {row.scale:.1e}",
        )
    return table


def _spread(spread: Spread) -> str:
    return f"{spread.median:.3g} ({spread.min:.3g} to {spread.max:.3g})"


def machine() -> dict[str, Any]:
    return {
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "cores": cores(),
        "cpu": platform.processor() or platform.machine(),
        "system": platform.platform(),
        "torch": torch.__version__,
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare speed with other engines.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and a short prompt")
    parser.add_argument("--context", type=int, default=128, help="tokens, the new one included")
    parser.add_argument("--prefill", type=int, help="tokens of the prompt; 512, or 32 if quick")
    parser.add_argument("--rounds", type=int, help="5, or 2 if quick")
    parser.add_argument("--tokens", type=int, help="counted in a turn; 10, or 4 if quick")
    parser.add_argument("--precision", action="append", choices=PRECISIONS, help="repeatable")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    prefill, rounds, tokens = (32, 2, 4) if args.quick else (512, 5, 10)
    sizes = Sizes(
        args.context, args.prefill or prefill, args.rounds or rounds, args.tokens or tokens
    )
    before = machine()
    if (before["load"] or 0) > BUSY_LOAD:
        print("bench_peers: other work runs on this machine: ratios mean little", file=sys.stderr)
    rows = compare(GPT2Config(), args.precision or PRECISIONS, sizes)
    if args.json:
        found = {"machine": before, "sizes": asdict(sizes), "rows": [asdict(r) for r in rows]}
        print(json.dumps(found))
        return
    console = Console(width=200, highlight=False)
    console.print(table_of(rows, sizes))
    console.print(", ".join(f"{name} {value}" for name, value in before.items() if value))


if __name__ == "__main__":
    main()
