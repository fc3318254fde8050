"""`gpt2gl chat`: the window."""

from __future__ import annotations

from typing import Annotated

import typer

from gpt2gl.errors import DeviceError
from gpt2gl_ui import bootstrap


def command(
    model: Annotated[
        str | None, typer.Option("--model", help="The model to chat with, as for generate.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option("--precision", help="fp32, fp32-plain, fp16, int8 or int4.")
    ] = None,
) -> None:
    """Open the chat window."""
    bootstrap.prepare()
    if problem := bootstrap.display_problem():
        raise DeviceError(problem)
    # After `prepare`, which settles what these find when they are imported.
    from gpt2gl_ui.main import open_chat

    open_chat(model, precision)
