"""A chat as JSON lines: a header, the notebook if there is one, then the messages.

    {"format": "gpt2gl-chat", "version": 1, "id": ..., "title": ..., "active": {...}, ...}
    {"notebook": [["typed", false], ["generated", true]]}
    {"id": ..., "parent": null, "role": "user", "text": ..., "created": 1700000000.0}
    {"id": ..., "parent": ..., "role": "assistant", "text": ..., "answer": {"tokens": [...]}}

Parents come before children, older versions before newer ones. `active` names the shown child of
each parent whose newest child is not the one; the parent of the first messages is "". A token is
`[id, text, logprob, probability, entropy, [[id, text, probability, kept], ...]]`.
"""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpt2gl.config import parse_json_object, shown
from gpt2gl.errors import OptionError

from . import fields
from .messages import LARGEST, Alternative, Answer, Message, TokenInfo
from .notebook import Notebook, Span
from .tree import Chat

FORMAT, VERSION = "gpt2gl-chat", 1
_ALTERNATIVE_TYPES = [int, str, float, float]


@dataclass(frozen=True)
class Summary:
    """What the list of chats shows of one, read from its header alone."""

    id: str
    title: str
    created: float
    updated: float
    pinned: bool
    mode: str
    model: str | None


@dataclass(frozen=True)
class Decoded:
    """A chat as far as its file could be read, and one line about each thing that could not."""

    chat: Chat
    notices: tuple[str, ...]


# Writing ----------------------------------------------------------------------------------------

# Message -> its line. Messages are values, and a save encodes only those that are new.
_lines: weakref.WeakKeyDictionary[Chat, dict[str, tuple[Message, bytes]]] = (
    weakref.WeakKeyDictionary()
)


def encode(chat: Chat) -> bytes:
    """The whole file of a chat."""
    known = _lines.get(chat, {})
    fresh: dict[str, tuple[Message, bytes]] = {}
    for message in chat:
        entry = known.get(message.id)
        if entry is None or entry[0] is not message:
            entry = (message, _line(message_object(message)))
        fresh[message.id] = entry
    _lines[chat] = fresh
    first = [_line(header_object(chat))]
    if chat.notebook.spans:
        first.append(_line({"notebook": notebook_list(chat.notebook)}))
    return b"".join([*first, *(line for _, line in fresh.values())])


def summary_of(chat: Chat) -> Summary:
    """What the list shows of a chat in memory."""
    return Summary(
        chat.id, chat.title, chat.created, chat.updated, chat.pinned, chat.mode, chat.model
    )


def header_object(chat: Chat) -> dict[str, Any]:
    """The header as JSON; a private chat looks like any other."""
    newest = {message.parent: message.id for message in chat}
    active = {p or "": c for p, c in chat.shown.items() if newest[p] != c}
    return {
        **chat.extra,
        "format": FORMAT,
        "version": VERSION,
        "id": chat.id,
        "title": chat.title,
        "renamed": chat.name is not None,
        "created": chat.created,
        "updated": chat.updated,
        "pinned": chat.pinned,
        "mode": chat.mode,
        "model": chat.model,
        "active": active,
    }


def notebook_list(notebook: Notebook) -> list[list[Any]]:
    """The document as JSON."""
    return [[span.text, span.generated] for span in notebook.spans]


def message_object(message: Message) -> dict[str, Any]:
    """A message as JSON; what has its usual value is left out."""
    value: dict[str, Any] = {
        **message.extra,
        "id": message.id,
        "parent": message.parent,
        "role": message.role,
        "text": message.text,
        "created": message.created,
    }
    if message.edited:
        value["edited"] = True
    if message.answer is not None:
        value["answer"] = _answer_object(message.answer)
    return value


def _answer_object(answer: Answer) -> dict[str, Any]:
    value: dict[str, Any] = {
        **answer.extra,
        "model": answer.model,
        "reason": answer.reason,
        "seed": answer.seed,
        "new_tokens": answer.new_tokens,
        "tokens_per_second": answer.tokens_per_second,
        "first_token_seconds": answer.first_token_seconds,
    }
    if answer.tokens:
        value["tokens"] = answer.tokens  # tuples of tuples, which JSON has as lists
    return value


def _line(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair: JSON can escape it, UTF-8 cannot hold it
        return f"{json.dumps(value, separators=(',', ':'), allow_nan=False)}\n".encode()


def copy_of(data: bytes, chat_id: str, title: str) -> bytes:
    """The file of a chat under another id and title."""
    header, rest = data.split(b"\n", 1)
    changed = {**json.loads(header), "id": chat_id, "title": title, "renamed": True}
    return _line(changed) + rest


# Reading ----------------------------------------------------------------------------------------


def decode_header(line: bytes, where: str) -> tuple[Chat, Summary, dict[str, str]]:
    """A chat of no messages, its summary, and the shown children of parents.

    Raises:
        OptionError: the line is no header of a chat; `where` begins the message.
    """
    raw = parse_json_object(line, where, OptionError)
    if raw.get("format") != FORMAT:
        raise OptionError(f'{where}: not a chat: "format" is {shown(raw.get("format"))}')
    try:
        return _header(raw)
    except ValueError as problem:
        raise OptionError(f"{where}: {problem}: repair the line") from None


def _header(raw: dict[str, Any]) -> tuple[Chat, Summary, dict[str, str]]:
    read = fields.Fields(raw)
    read.take("format")
    version, title, renamed = read.whole("version"), read.text("title"), read.flag("renamed")
    chat = Chat(
        id=read.chat_id("id"),
        name=title if renamed else None,
        created=read.number("created"),
        updated=read.number("updated"),
        pinned=read.flag("pinned"),
        mode=read.mode("mode"),
        model=read.text_or_none("model"),
    )
    active = read.texts_by_text("active")
    chat.extra = read.rest()
    if version > VERSION:
        chat.read_only = f"written by a newer gpt2gl (version {version}): it can only be read here"
    return chat, replace(summary_of(chat), title=title), active


def decode(data: bytes, where: str) -> Decoded:
    """Read a chat's file, leaving out lines that are damaged.

    A message whose parent is lost follows the message on the line before it instead.

    Raises:
        OptionError: the first line is no header; names file and line.
    """
    lines = data.split(b"\n")
    chat, _, active = decode_header(lines[0], f"{where}: line 1")
    notices = list(_read_lines(chat, lines[1:], where))
    for parent, child in active.items():
        if child in chat and (chat[child].parent or "") == parent:
            chat.select_version(child)
    chat.revision = 0
    return Decoded(chat, tuple(notices))


def _read_lines(chat: Chat, lines: list[bytes], where: str) -> Iterator[str]:
    before: str | None = None
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        at = f"{where}: line {number}"
        try:
            raw = parse_json_object(line, at, OptionError)
            if "notebook" in raw:
                chat.notebook = notebook_from(raw["notebook"])
                continue
            message = message_from(raw)
            if message.id in chat:
                raise ValueError(f"a second message of id {shown(message.id)}")
        except (OptionError, ValueError) as problem:
            text = str(problem).removeprefix(f"{at}: ")
            yield f"{at}: left out: {text}"
            continue
        if message.parent is not None and message.parent not in chat:
            yield f"{at}: its parent is lost: put after the message before it"
            message = replace(message, parent=before)
        chat.insert(message)
        before = message.id


def texts_in(data: bytes) -> Iterator[tuple[str | None, str]]:
    """Id and text of each message that can be read, and None with the notebook's text."""
    for line in data.split(b"\n")[1:]:
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(raw, dict):
            continue
        if isinstance(raw.get("id"), str) and isinstance(raw.get("text"), str):
            yield raw["id"], raw["text"]
        elif "notebook" in raw:
            with contextlib.suppress(ValueError):
                yield None, notebook_from(raw["notebook"]).text


def notebook_from(value: object) -> Notebook:
    """Read `notebook_list`; ValueError says what is wrong."""
    spans = [fields.items(each, 2) for each in fields.items(value)]
    return Notebook(Span(fields.text(text), fields.flag(made)) for text, made in spans)


def message_from(raw: dict[str, Any]) -> Message:
    """Read `message_object`; ValueError says what is wrong."""
    read = fields.Fields(raw)
    answer = read.take("answer")
    return Message(
        id=read.name("id"),
        parent=read.text_or_none("parent"),
        role=read.role("role"),
        text=read.text("text"),
        created=read.number("created"),
        edited=read.flag("edited"),
        answer=None if answer is None else _answer_from(answer),
        extra=read.rest(),
    )


def _answer_from(raw: object) -> Answer:
    read = fields.Fields(fields.mapping(raw))
    seconds = read.take("first_token_seconds")
    return Answer(
        model=read.text_or_none("model"),
        reason=read.text_or_none("reason"),
        seed=read.whole_or_none("seed"),
        new_tokens=read.whole("new_tokens"),
        tokens_per_second=read.number("tokens_per_second"),
        first_token_seconds=None if seconds is None else fields.number(seconds),
        tokens=tuple(_token_from(each) for each in fields.items(read.take("tokens") or [])),
        extra=read.rest(),
    )


def _token_from(raw: object) -> TokenInfo:
    token_id, text, logprob, probability, entropy, others = fields.items(raw, 6)
    values = (
        fields.whole(token_id),
        fields.text(text),
        fields.number(logprob),
        fields.number(probability),
        None if entropy is None else fields.number(entropy),
        tuple([_alternative_from(each) for each in fields.items(others)]),
    )
    return TokenInfo._make(values)


def _alternative_from(raw: Any) -> Alternative:
    # A long chat has hundreds of thousands of these, nearly all sound.
    usual = type(raw) is list and [type(each) for each in raw] == _ALTERNATIVE_TYPES
    if usual and abs(raw[2]) <= LARGEST and abs(raw[3]) <= LARGEST:
        return Alternative._make(raw)
    token_id, text, probability, kept = fields.items(raw, 4)
    numbers = fields.number(probability), fields.number(kept)
    return Alternative._make((fields.whole(token_id), fields.text(text), *numbers))
