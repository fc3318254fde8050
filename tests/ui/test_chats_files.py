"""Files of chats: whole again after writing and reading, and any damage without a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl.errors import OptionError
from gpt2gl_ui.chats import codec, exchange
from gpt2gl_ui.chats.messages import Alternative, Answer, TokenInfo
from gpt2gl_ui.chats.tree import Chat
from tests.ui.chat_values import chats, content, dialogue, joined, lines

READERS = (codec.decode, exchange.from_bytes)


@settings(deadline=None, max_examples=50)
@given(chats())
def test_writing_and_reading_is_identity(chat: Chat) -> None:
    data = codec.encode(chat)
    decoded = codec.decode(data, "file")
    assert decoded.notices == ()
    assert content(decoded.chat) == content(chat)
    assert decoded.chat.id == chat.id
    assert codec.encode(decoded.chat) == data
    assert data.count(b"\n") == len(data.splitlines())


def holds(read: Any, data: bytes) -> None:
    """Whatever is read, the only error is one of a single line; what was read can be written."""
    try:
        decoded = read(data, "file")
    except OptionError as error:
        refusal = str(error)
        decoded = None
    if decoded is None:
        assert refusal.startswith("file: ")
        assert refusal.isprintable()
        return
    assert all(notice.startswith("file: line ") for notice in decoded.notices)
    assert "".join(decoded.notices).isprintable()
    again = codec.decode(codec.encode(decoded.chat), "file")
    assert again.notices == ()
    assert content(again.chat) == content(decoded.chat)


@settings(deadline=None, max_examples=70)
@given(st.binary(max_size=60), st.sampled_from(READERS))
def test_random_bytes(data: bytes, read: Any) -> None:
    holds(read, data)
    header = codec.encode(Chat())
    holds(read, header + data)
    list(codec.texts_in(header + data))


@settings(deadline=None, max_examples=70)
@given(chats(), st.data(), st.sampled_from(READERS))
def test_bytes_changed(chat: Chat, data: st.DataObject, read: Any) -> None:
    raw = bytearray(codec.encode(chat))
    for _ in range(data.draw(st.integers(1, 4))):
        # Ids and times differ from run to run, and so does the length.
        at = data.draw(st.integers(0, 10**6)) % len(raw)
        raw[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=3))
        raw = raw or bytearray(b"x")
    holds(read, bytes(raw))
    list(codec.texts_in(bytes(raw)))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@settings(deadline=None, max_examples=80)
@given(chats(), st.data(), VALUES)
def test_values_changed(chat: Chat, data: st.DataObject, value: Any) -> None:
    objects = lines(chat)
    target: Any = data.draw(st.sampled_from(objects))
    for _ in range(data.draw(st.integers(0, 4))):
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        inner = [k for k in keys if isinstance(target[k], dict | list) and target[k]]
        if not inner:
            break
        target = target[data.draw(st.sampled_from(inner))]
    places = list(target) if isinstance(target, dict) else list(range(len(target)))
    target[data.draw(st.sampled_from(places))] = value
    holds(codec.decode, joined(objects))
    list(codec.texts_in(joined(objects)))


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("text", 5, "text: a text is needed, found 5"),
        ("text", None, "text: a text is needed, found None"),
        ("role", "system", "role is 'system'; allowed: user | assistant"),
        ("created", float("inf"), "created: a whole number is needed, found inf"),
        ("edited", 1, "edited: true or false is needed, found 1"),
        ("id", "", "id is empty"),
        ("answer", [], "an object is needed, found []"),
        ("answer", {"tokens": [[1]]}, "a list of 6 is needed, found [1]"),
    ],
)
def test_notices_name_file_line_and_field(field: str, value: object, problem: str) -> None:
    objects = lines(dialogue("Hi", "Hello"))
    objects[2][field] = value
    notices = codec.decode(joined(objects), "a.jsonl").notices
    assert notices == (f"a.jsonl: line 3: left out: {problem}",)


def test_a_lost_message_does_not_take_what_follows_with_it() -> None:
    raw = codec.encode(dialogue("one", "two", "three", "four")).splitlines(keepends=True)
    raw[2] = b"{damaged\n"
    decoded = codec.decode(b"".join(raw), "a.jsonl")
    assert [m.text for m in decoded.chat.path()] == ["one", "three", "four"]
    assert decoded.notices[1] == (
        "a.jsonl: line 4: its parent is lost: put after the message before it"
    )


def test_a_message_given_twice() -> None:
    raw = codec.encode(dialogue("one")).splitlines(keepends=True)
    (notice,) = codec.decode(b"".join([*raw, raw[1]]), "a").notices
    assert notice.startswith("a: line 3: left out: a second message of id '")


def test_unknown_fields_survive() -> None:
    objects = lines(dialogue("one", "two"))
    objects[0]["colour"] = "red"
    objects[1]["stars"] = 5
    objects[2]["answer"] = {"model": "m", "new_tokens": 0, "mood": "good"}
    chat = codec.decode(joined(objects), "a").chat
    chat.say("three")
    header, first, second, _ = lines(chat)
    assert (header["colour"], first["stars"], second["answer"]["mood"]) == ("red", 5, "good")


def test_tokens_are_compact() -> None:
    chat = dialogue("Hi")
    token = TokenInfo(7, " a", -1.0986122886681098, 1 / 3, 2.5, (Alternative(8, "b", 0.25, 0),))
    chat.add(chat.path()[0].id, "assistant", " a", Answer(tokens=(token,)))
    line = codec.encode(chat).splitlines()[-1]
    assert b'"tokens":[[7," a",-1.09861,0.333333,2.5,[[8,"b",0.25,0.0]]]]' in line


def test_only_changed_messages_are_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = dialogue("one", "two", "three")
    codec.encode(chat)
    made: list[str] = []
    original = codec.message_object

    def counted(message: Any) -> dict[str, Any]:
        made.append(message.text)
        return original(message)

    monkeypatch.setattr(codec, "message_object", counted)
    chat.append_text(chat.path()[1].id, "!")
    codec.encode(chat)
    assert made == ["two!"]


def test_deep_nesting() -> None:
    holds(codec.decode, b"[" * 100_000)
    holds(codec.decode, codec.encode(Chat()) + b"[" * 100_000)
    list(codec.texts_in(b"x\n" + b"[" * 100_000))
    holds(exchange.from_bytes, json.dumps({"messages": 5}).encode())
