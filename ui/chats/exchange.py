"""Chats to and from other programs: JSON and JSON lines of the whole tree, Markdown to read.

Dialogues that `gpt2gl generate -i` saved (`gpt2gl.transcript`) can be read too, in both forms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpt2gl.config import parse_json_object, shown
from gpt2gl.errors import OptionError
from gpt2gl.small_files import shown_path, write_whole
from gpt2gl.templates import ASSISTANT, USER
from gpt2gl.transcript import HEADINGS

from . import codec, fields
from .folder import read_chat_bytes
from .tree import NOTEBOOK, Chat

ROLES = {heading: role for role, heading in HEADINGS.items()}
_HEADING = re.compile(rf"^## ({'|'.join(ROLES)})[ \t]*$", re.MULTILINE)


# Writing ----------------------------------------------------------------------------------------


def to_markdown(chat: Chat) -> str:
    """What the window shows: the path of a dialogue under headings, or the notebook's text."""
    title = " ".join(chat.title.split())
    if chat.mode == NOTEBOOK:
        return f"# {title}\n\n{chat.notebook.text.strip()}\n"
    about = f"- model: {json.dumps(chat.model)}\n" if chat.model else ""
    parts = [f"## {HEADINGS[m.role]}\n\n{m.text.strip()}\n" for m in chat.path()]
    return "\n".join([f"# {title}\n", *([about] if about else []), *parts])


def to_json(chat: Chat) -> str:
    """The whole chat in one object: its header, `notebook`, and the `messages` of all versions."""
    value = codec.header_object(chat)
    value["notebook"] = codec.notebook_list(chat.notebook)
    value["messages"] = [codec.message_object(message) for message in chat]
    # Escaped, since half a surrogate pair cannot be written otherwise.
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def to_json_lines(chat: Chat) -> str:
    """The chat as its own file holds it."""
    return codec.encode(chat).decode()


# Suffix -> what writes a chat in that form.
FORMATS: Mapping[str, Callable[[Chat], str]] = {
    ".md": to_markdown,
    ".json": to_json,
    ".jsonl": to_json_lines,
}


def export_chat(chat: Chat, path: Path) -> None:
    """Write a chat in the form that the suffix names, whole or not at all.

    Raises:
        OptionError: the suffix is unknown, or the file cannot be written.
    """
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise OptionError(f"{shown_path(path)}: unknown suffix; allowed: {' | '.join(FORMATS)}")
    write_whole(path, form(chat).encode("utf-8", "replace"))


# Reading ----------------------------------------------------------------------------------------


def import_chat(path: Path) -> codec.Decoded:
    """Read a file that `export_chat`, a chat folder or `gpt2gl generate -i` holds.

    Raises:
        OptionError: it cannot be read or is something else; names the file and what is wrong.
    """
    return from_bytes(read_chat_bytes(path)[0], shown_path(path))


def from_bytes(data: bytes, where: str) -> codec.Decoded:
    """Read a chat in any form that `import_chat` takes; `where` begins each message."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise OptionError(f"{where}: the file is empty")
    if not text.startswith(b"{"):
        return _from_markdown(text, where)
    if _is_json_lines(text):
        return codec.decode(text, where)
    return _from_object(parse_json_object(text, where, OptionError), where)


def _is_json_lines(text: bytes) -> bool:
    """Whether the first line is a header by itself."""
    try:
        header = parse_json_object(text.split(b"\n", 1)[0], "", OptionError)
    except OptionError:
        return False
    return "format" in header and "messages" not in header


def _from_object(raw: dict[str, Any], where: str) -> codec.Decoded:
    if "format" not in raw and "messages" not in raw:
        raise OptionError(f'{where}: not a chat: it has neither "format" nor "messages"')
    messages, notebook = raw.pop("messages", []), raw.pop("notebook", [])
    try:
        if "format" not in raw:
            return codec.Decoded(_dialogue(raw, messages), ())
        lines = [raw, {"notebook": notebook}, *map(fields.mapping, fields.items(messages))]
    except ValueError as problem:
        raise OptionError(f"{where}: {problem}") from None
    return _strictly("\n".join(map(json.dumps, lines)).encode(), where)


def _strictly(lines: bytes, where: str) -> codec.Decoded:
    """Decode lines made from one object; what a file of lines would lose is an error here."""
    decoded = codec.decode(lines, where)
    if decoded.notices:
        problem = re.sub(r"line (\d+): (left out: )?", _as_message, decoded.notices[0], count=1)
        raise OptionError(problem)
    return decoded


def _as_message(line: re.Match[str]) -> str:
    number = int(line[1]) - 2
    return f"message {number}: " if number else "notebook: "


def _dialogue(about: Mapping[str, Any], messages: object) -> Chat:
    """A chat from Hugging Face's format: objects of `role` and `content`."""
    model = about.get("model")
    chat = Chat(model=model if isinstance(model, str) else None)
    for number, each in enumerate(fields.items(messages), 1):
        entry = fields.mapping(each)
        role, text = entry.get("role"), entry.get("content")
        if role not in (USER, ASSISTANT) or not isinstance(text, str):
            raise ValueError(
                f"message {number} has role {shown(role)} and content {shown(text)};"
                f" needed: {USER} | {ASSISTANT}, and a text"
            )
        chat.add(chat.last.id if chat.last else None, role, text)
    return chat


def _from_markdown(data: bytes, where: str) -> codec.Decoded:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    before, *pieces = _HEADING.split(text)
    if not pieces:
        headings = " or ".join(f"'## {heading}'" for heading in ROLES)
        raise OptionError(f"{where}: not a chat: neither JSON nor Markdown with {headings}")
    chat = Chat(name=_title_in(before), model=_model_in(before))
    for heading, piece in zip(pieces[::2], pieces[1::2], strict=True):
        chat.add(chat.last.id if chat.last else None, ROLES[heading], piece.strip())
    return codec.Decoded(chat, ())


def _title_in(before: str) -> str | None:
    found = re.search(r"^# (.+)$", before, re.MULTILINE)
    # "Dialogue" is what every transcript is called.
    return found[1].strip() if found and found[1].strip() != "Dialogue" else None


def _model_in(before: str) -> str | None:
    found = re.search(r'^- model: "([^"\\]*)"$', before, re.MULTILINE)
    return found[1] if found else None
