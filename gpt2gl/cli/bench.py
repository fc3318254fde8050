"""`gpt2gl bench`: load time, time a token, prefill, memory, and where the time goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from gpt2gl import __version__
from gpt2gl.bench import REPEATS, Plan, Result, Spread, bench, known_precisions, plan_for
from gpt2gl.cli.loader import load_with_progress
from gpt2gl.cli.options import PRECISION, ModelOption, TuneOption, on_device
from gpt2gl.loading import find_checkpoint
from gpt2gl.small_files import printable

if TYPE_CHECKING:
    from gpt2gl.profiling import Profile

MODEL = "random:gpt2"
WIDTH = 110
NOTES = """\
Medians (least to most) over {repeats} repeats. A token runs from its id to its logits in host
memory. Loading includes the making of random weights, the first token the compiling of shaders.\
"""


@on_device
def command(
    model: ModelOption = MODEL,
    precision: Annotated[
        list[str] | None,
        typer.Option("--precision", "-p", help="fp32, fp16, ..., or all; repeatable."),
    ] = None,
    context: Annotated[
        list[int] | None,
        typer.Option(help="Time a token that makes a text this long; repeatable. 16, 256, 1000."),
    ] = None,
    prefill: Annotated[
        list[int] | None,
        typer.Option(help="Time a prompt of this many tokens; repeatable. 32, 512."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="How often to measure.")] = REPEATS,
    profile: Annotated[
        bool, typer.Option("--profile", help="Time each pass of a token at the longest context.")
    ] = False,
    tune: TuneOption = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure speed and memory on this machine."""
    precisions = known_precisions(precision or [PRECISION])
    with find_checkpoint(model) as checkpoint:
        plan = plan_for(checkpoint.config, context or (), prefill or (), repeats, profile)
    results = [_measured(model, each, tune, plan) for each in precisions]
    if as_json:
        typer.echo(json.dumps(report(model, plan, results)))
        return
    console = Console(width=WIDTH, highlight=False)
    console.print(printable(f"{model} on {results[0].renderer}"), markup=False)
    console.print(decode_table(results), prefill_table(results), memory_table(results))
    for result in results:
        if result.profile is not None:
            console.print(profile_table(result.profile, result.precision))
    console.print(NOTES.format(repeats=repeats), markup=False)


def _measured(model: str, precision: str, tune: bool, plan: Plan) -> Result:
    if sys.stderr.isatty():
        typer.echo(f"measuring {precision} ...", err=True)
    return bench(lambda: load_with_progress(model, precision, tune), precision, plan)


def report(model: str, plan: Plan, results: Sequence[Result]) -> dict[str, Any]:
    """The object that `--json` prints: where it was measured, what, and the results."""
    return {
        "gpt2gl": __version__,
        "renderer": results[0].renderer,
        "model": model,
        "plan": asdict(plan),
        "results": [asdict(result) for result in results],
    }


# Tables -----------------------------------------------------------------------------------------


def decode_table(results: Sequence[Result]) -> Table:
    """A row for each precision and context."""
    table = _table("", "precision", "context", "ms a token", "draws", "Python us", "logits read")
    for result in results:
        for each in result.decode:
            table.add_row(
                result.precision,
                str(each.context),
                _spread(each.ms, 2),
                str(each.draws),
                _spread(each.python_us, 0),
                f"{each.read_ms.median:.2f} ms, {_percent(each.read_share)}",
            )
    return table


def prefill_table(results: Sequence[Result]) -> Table:
    """A row for each precision and length of prompt."""
    table = _table("", "precision", "prompt", "seconds", "tokens/s", "load s", "first token s")
    for result in results:
        for each in result.prefill:
            is_first = each.tokens == result.first_prompt
            table.add_row(
                result.precision,
                str(each.tokens),
                _spread(each.seconds, 3),
                f"{each.tokens_per_s:.0f}",
                f"{result.load_s:.2f}" if is_first else "",
                f"{result.first_token_s:.2f}" if is_first else "",
            )
    return table


def memory_table(results: Sequence[Result]) -> Table:
    """A row for each precision, in MB of 2^20 bytes."""
    uses = ("weights", "kv_cache", "scratch", "other", "total")
    table = _table("", "precision", *(f"{use} MB" for use in uses), "total / (weights + kv_cache)")
    for result in results:
        sizes = (f"{getattr(result.memory, use) / 2**20:.1f}" for use in uses)
        table.add_row(result.precision, *sizes, f"{result.memory.ratio:.3f}")
    return table


def profile_table(profile: Profile, precision: str) -> Table:
    """A row for each kind of pass, the slowest first."""
    rates = profile.rates
    title = (
        f"{precision}, context {profile.context}: {profile.ms:.2f} ms in passes by"
        f" {profile.method}; measured {rates.fetches_per_s / 1e9:.2f} G fetches/s,"
        f" {rates.bytes_per_s / 1e9:.1f} GB/s"
    )
    headings = ("pass", "shape", "calls", "ms", "share", "k fetches", "MB", "floor ms")
    table = _table(title, *headings, "floor / time")
    for row in profile.passes:
        table.add_row(
            row.name,
            row.shape,
            str(row.calls),
            f"{row.ms:.3f}",
            _percent(row.share),
            f"{row.fetches / 1e3:.0f}",
            f"{row.bytes / 2**20:.2f}",
            f"{row.floor_ms:.3f}",
            _percent(row.floor_share),
        )
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title or None)
    for heading in headings:
        table.add_column(heading, no_wrap=True, justify="right")
    table.columns[0].justify = "left"
    return table


def _spread(spread: Spread, digits: int) -> str:
    low, high = f"{spread.min:.{digits}f}", f"{spread.max:.{digits}f}"
    return f"{spread.median:.{digits}f} ({low} to {high})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
