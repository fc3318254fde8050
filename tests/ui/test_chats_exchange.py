"""Export and import: the whole tree comes back; what is no chat gets one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from gpt2gl.errors import OptionError
from gpt2gl.templates import ASSISTANT, USER, Turn
from gpt2gl.transcript import save_dialogue
from gpt2gl_ui.chats import exchange
from gpt2gl_ui.chats.tree import NOTEBOOK, Chat
from tests.ui.chat_values import chats, content, dialogue

TURNS = [Turn(USER, "Hi"), Turn(ASSISTANT, "Hello\n\n# you"), Turn(USER, "Bye é")]


@settings(deadline=None, max_examples=40)
@given(chats())
def test_export_and_import_is_identity(chat: Chat) -> None:
    for form in (exchange.to_json, exchange.to_json_lines):
        decoded = exchange.from_bytes(form(chat).encode(), "file")
        assert decoded.notices == ()
        assert content(decoded.chat) == content(chat)
        assert decoded.chat.id == chat.id
    assert exchange.to_markdown(chat).endswith("\n")


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".JSON"])
def test_by_file(suffix: str, tmp_path: Path) -> None:
    chat = dialogue("Hi", "Hello")
    chat.edit(chat.path()[0].id, "Hey")
    path = tmp_path / f"chat{suffix}"
    exchange.export_chat(chat, path)
    assert content(exchange.import_chat(path).chat) == content(chat)


@pytest.mark.parametrize("suffix", [".json", ".md"])
def test_dialogues_of_the_command_line(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"dialogue{suffix}"
    save_dialogue(path, TURNS, {"model": "gpt2", "temperature": 0.7})
    chat = exchange.import_chat(path).chat
    assert chat.turns() == TURNS
    assert (chat.model, chat.title) == ("gpt2", "Hi")


def test_markdown() -> None:
    chat = dialogue("Hi", "Hello\n")
    chat.model = "gpt2"
    chat.rename("A talk")
    text = exchange.to_markdown(chat)
    assert text == '# A talk\n\n- model: "gpt2"\n\n## You\n\nHi\n\n## Model\n\nHello\n'
    again = exchange.from_bytes(text.replace("\n", "\r\n").encode(), "file").chat
    assert (again.title, again.model) == ("A talk", "gpt2")
    assert [m.text for m in again.path()] == ["Hi", "Hello"]
    notebook = Chat(mode=NOTEBOOK)
    notebook.notebook.apply_edit("Chapter\n\nOnce")
    assert exchange.to_markdown(notebook) == "# Chapter Once\n\nChapter\n\nOnce\n"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the file is empty"),
        (b"\xef\xbb\xbf \n", "the file is empty"),
        (b"Just a text", "not a chat: neither JSON nor Markdown with '## You' or '## Model'"),
        (b"[1]", "not a chat: neither JSON nor Markdown"),
        (b"{}", 'not a chat: it has neither "format" nor "messages"'),
        (b"{", "not valid JSON"),
        (b'{"format": "zip"}', "line 1: not a chat: \"format\" is 'zip'"),
        (b'{"messages": 1}', "a list is needed, found 1"),
        (b'{"messages": [{"role": "system", "content": "x"}]}', "message 1 has role 'system'"),
        (b'{"messages": [{"role": "user"}]}', "message 1 has role 'user' and content None"),
    ],
)
def test_what_is_no_chat(data: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(data)
    with pytest.raises(OptionError) as caught:
        exchange.import_chat(path)
    assert str(caught.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(caught.value)


def test_a_damaged_message_in_an_object_is_an_error() -> None:
    raw = json.loads(exchange.to_json(dialogue("Hi", "Hello")))
    raw["messages"][1]["text"] = 5
    with pytest.raises(OptionError, match=r"^f: message 2: text: a text is needed, found 5$"):
        exchange.from_bytes(json.dumps(raw).encode(), "f")
    raw["notebook"] = 5
    with pytest.raises(OptionError, match=r"^f: notebook: a list is needed, found 5$"):
        exchange.from_bytes(json.dumps(raw).encode(), "f")


def test_files(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"unknown suffix; allowed: \.md \| \.json \| \.jsonl"):
        exchange.export_chat(dialogue("Hi"), tmp_path / "chat.pdf")
    with pytest.raises(OptionError, match="cannot be written"):
        exchange.export_chat(dialogue("Hi"), tmp_path / "none" / "chat.md")
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(OptionError, match=r"cannot be read|not a file"):
            exchange.import_chat(place)
