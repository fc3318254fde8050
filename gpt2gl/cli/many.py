"""`gpt2gl generate --num N`: several continuations of one prompt, printed one after the other."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from gpt2gl.cli.output import write
from gpt2gl.generation import CANCELLED, Finished, Generation, Token
from gpt2gl.session import Session


def generate_many(
    session: Session, prompt: str, n: int, options: Generation, *, shown: str, as_json: bool
) -> list[Finished]:
    """Make `n` continuations together and print them in order; returns how each ended."""
    texts = [""] * n
    ends: list[Finished | None] = [None] * n
    printed = 0
    for row, event in session.generate_many(prompt, n, options):
        if isinstance(event, Token | Finished):
            texts[row] += event.text
        if isinstance(event, Finished):
            ends[row] = event
        # A row is printed whole, as soon as those before it are.
        while not as_json and printed < n and (end := ends[printed]) is not None:
            write(f"--- {printed + 1} of {n}, seed {end.seed}\n{shown}{texts[printed]}\n")
            printed += 1
    finished = [end for end in ends if end is not None]
    if as_json:
        _print_json(session, prompt, texts, finished)
    return finished


def _print_json(session: Session, prompt: str, texts: list[str], ends: list[Finished]) -> None:
    rows = [{**asdict(end), "text": text} for end, text in zip(ends, texts, strict=True)]
    report = {
        "model": session.name,
        "layout": session.model.layout,
        "renderer": session.model.device.limits.renderer,
        "prompt": prompt,
        "continuations": rows,
    }
    write(json.dumps(report, ensure_ascii=False) + "\n")


def print_summary(session: Session, precision: str, ends: list[Finished]) -> None:
    """One line on stderr about all rows."""
    tokens, seconds = sum(end.new_tokens for end in ends), max(end.seconds for end in ends)
    limits = session.model.device.limits
    software = " (software)" if limits.is_software else ""
    print(
        f"{tokens} tokens in {len(ends)} texts, {tokens / max(seconds, 1e-9):.1f} tokens/s,"
        f" {session.name} {precision}, {limits.renderer}{software}",
        file=sys.stderr,
    )


def is_cancelled(ends: list[Finished]) -> bool:
    """Whether Ctrl-C ended any row."""
    return any(end.reason == CANCELLED for end in ends)
