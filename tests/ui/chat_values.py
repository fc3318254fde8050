"""Chats for tests: made by hypothesis, and compared by content."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from gpt2gl.generation import Finished
from gpt2gl.templates import ASSISTANT, USER
from gpt2gl_ui.chats import codec
from gpt2gl_ui.chats.messages import Alternative, Answer, TokenInfo
from gpt2gl_ui.chats.notebook import Notebook, Span
from gpt2gl_ui.chats.tree import MODES, Chat

# Surrogates too: a pasted text may hold half a pair.
texts = st.text(st.characters(), max_size=20)
numbers = st.floats(allow_nan=True, allow_infinity=True)
alternatives = st.builds(Alternative, st.integers(0, 60000), texts, numbers, numbers)
tokens = st.builds(
    TokenInfo,
    st.integers(-1, 60000),
    texts,
    numbers,
    numbers,
    st.none() | numbers,
    st.lists(alternatives, max_size=2).map(tuple),
)
extras = st.dictionaries(st.sampled_from(["later", "x"]), st.none() | st.integers() | texts)
answers = st.builds(
    Answer,
    model=st.none() | texts,
    reason=st.none() | st.sampled_from(["stop", "length"]),
    seed=st.none() | st.integers(0, 2**63 - 1),
    new_tokens=st.integers(0, 1000),
    tokens_per_second=numbers,
    first_token_seconds=st.none() | numbers,
    tokens=st.lists(tokens, max_size=2).map(tuple),
    extra=extras,
)
notebooks = st.lists(st.builds(Span, texts, st.booleans()), max_size=4).map(Notebook)


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    """Chats with versions at every level, some of which are not the newest."""
    chat = Chat(
        name=draw(st.none() | texts.filter(bool)),
        pinned=draw(st.booleans()),
        mode=draw(st.sampled_from(MODES)),
        model=draw(st.none() | texts),
        notebook=draw(notebooks),
        extra=draw(extras),
    )
    ids: list[str | None] = [None]
    for _ in range(draw(st.integers(0, 6))):
        parent = draw(st.sampled_from(ids))
        answer = draw(st.none() | answers)
        role = draw(st.sampled_from([USER, ASSISTANT]))
        ids.append(chat.add(parent, role, draw(texts), answer).id)
    for each in draw(st.lists(st.sampled_from(ids), max_size=3)):
        if each is not None:
            chat.select_version(each)
    return chat


def content(chat: Chat) -> dict[str, Any]:
    """All that a file keeps of a chat, apart from its id."""
    header = codec.header_object(chat)
    del header["id"]
    return {
        "header": header,
        "path": [message.id for message in chat.path()],
        "notebook": chat.notebook.spans,
        "messages": list(chat),
    }


def finished(text: str = "", new_tokens: int = 2) -> Finished:
    return Finished("stop", text, 5, new_tokens, 7, 0.25, 1.25)


def dialogue(*said: str) -> Chat:
    """A chat without versions, the user first."""
    chat = Chat()
    for i, text in enumerate(said):
        last = chat.last
        chat.add(last.id if last else None, (USER, ASSISTANT)[i % 2], text)
    return chat


def lines(chat: Chat) -> list[dict[str, Any]]:
    """A chat's file as objects, to be damaged."""
    return [json.loads(line) for line in codec.encode(chat).splitlines()]


def joined(objects: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in objects)
