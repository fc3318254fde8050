"""`gpt2gl verify`: this engine against a reference, tensor by tensor."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gpt2gl.cli.downloads import DownloadView
from gpt2gl.cli.loader import announce_software, load_with_progress
from gpt2gl.cli.options import MODEL, PRECISION, ModelOption, PrecisionOption, TuneOption, on_device
from gpt2gl.errors import Gpt2glError, VerificationError
from gpt2gl.loading import find_checkpoint
from gpt2gl.session import Session
from gpt2gl.small_files import printable
from gpt2gl.verification import Row, reference, verify

DEFAULT_PROMPT = "Once upon a time there was a king who had three daughters."


@on_device
def command(
    model: ModelOption = MODEL,
    precision: PrecisionOption = PRECISION,
    tune: TuneOption = True,
    prompt: Annotated[str, typer.Option(help="The text to compare on.")] = DEFAULT_PROMPT,
    against: Annotated[str, typer.Option(help="numpy or transformers.")] = "numpy",
) -> None:
    """Compare embeddings, every sub-step of every layer and the logits with a reference."""
    with DownloadView() as view:
        checkpoint = find_checkpoint(model, view.show)
    with load_with_progress(model, precision, tune) as session:
        tokens = _tokens(session, prompt)
        session.model.check_tokens(tokens)  # before the reference, whose errors are a developer's
        announce_software(session)
        rows = list(verify(session, reference(against, checkpoint, tokens), tokens))
    _print_table(rows, f"{model} {precision} against {against}, {len(tokens)} tokens")
    failed = [row for row in rows if not row.difference.ok]
    if failed:
        raise VerificationError(
            f"{len(failed)} of {len(rows)} tensors differ, first {failed[0].name}:"
            " run 'gpt2gl doctor'"
        )
    typer.echo(f"all {len(rows)} tensors within their limits")


def _tokens(session: Session, prompt: str) -> list[int]:
    """The prompt's tokens; some ids of a fixed pattern where the model has no tokenizer."""
    try:
        return session.prompt_tokens(prompt)
    except Gpt2glError:
        config = session.model.config
        return [7 * i % config.vocab_size for i in range(min(12, config.n_positions))]


def _print_table(rows: list[Row], title: str) -> None:
    # A path may look like markup.
    table = Table(title=escape(printable(title)))
    for heading in ("tensor", "shape", "max abs error", "NMSE", "limit", ""):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        d = row.difference
        shape = " x ".join(map(str, row.shape))
        verdict = "ok" if d.ok else "WRONG"
        table.add_row(
            row.name, shape, f"{d.max_abs:.2e}", f"{d.nmse:.2e}", f"{d.limit.nmse:.0e}", verdict
        )
    Console(width=110, highlight=False).print(table)
