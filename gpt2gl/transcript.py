"""A dialogue as a file: Markdown for reading, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpt2gl.errors import OptionError
from gpt2gl.small_files import shown_path, write_whole
from gpt2gl.templates import ASSISTANT, USER, Turn

HEADINGS = {USER: "You", ASSISTANT: "Model"}


def as_markdown(turns: Sequence[Turn], about: Mapping[str, Any]) -> str:
    """A heading for each turn, what the dialogue was made with at the top."""
    settings = "".join(f"- {name}: {json.dumps(value)}\n" for name, value in about.items())
    parts = [f"## {HEADINGS[turn.role]}\n\n{turn.text.strip()}\n" for turn in turns]
    return "\n".join(["# Dialogue\n", settings, *parts])


def as_json(turns: Sequence[Turn], about: Mapping[str, Any]) -> str:
    """One object; `messages` have the fields of Hugging Face's chat format."""
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    return json.dumps({**about, "messages": messages}, indent=2, ensure_ascii=False) + "\n"


# Suffix -> what writes a dialogue in that form.
FORMATS: Mapping[str, Callable[[Sequence[Turn], Mapping[str, Any]], str]] = {
    ".md": as_markdown,
    ".json": as_json,
}


def save_dialogue(path: Path, turns: Sequence[Turn], about: Mapping[str, Any]) -> None:
    """Write a dialogue in the form that the file's suffix names, whole or not at all.

    Args:
        about: what to say about it first: model, settings.

    Raises:
        OptionError: the suffix is unknown, or the file cannot be written.
    """
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise OptionError(f"{shown_path(path)}: unknown suffix; allowed: {' | '.join(FORMATS)}")
    write_whole(path, form(turns, about).encode("utf-8", "replace"))
