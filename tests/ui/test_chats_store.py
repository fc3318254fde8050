"""Chats on the disk: saving, listing, deletion, damage."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from gpt2gl.errors import OptionError
from gpt2gl_ui.chats import codec, folder
from gpt2gl_ui.chats.store import open_store
from gpt2gl_ui.chats.tree import Chat
from tests.ui.chat_instances import LONG, Instance, only_file
from tests.ui.chat_values import content, dialogue, joined, lines

POSIX = os.name == "posix"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "data"


@pytest.fixture
def one(root: Path) -> Iterator[Instance]:
    instance = Instance(root)
    yield instance
    instance.end()


# Saving and listing -----------------------------------------------------------------------------


def test_save_list_open(one: Instance, root: Path) -> None:
    chat = one.save(dialogue("Tell me", "Once"))
    (summary,) = one.store.summaries()
    assert summary == codec.summary_of(chat)
    fresh = Instance(root)
    opened, notices = fresh.store.open(chat.id)
    assert (content(opened), notices, opened.id) == (content(chat), (), chat.id)
    assert not fresh.store.save(opened)
    fresh.end()


def test_modes(one: Instance, root: Path) -> None:
    one.save(dialogue("Hi"))
    if POSIX:
        for path in (root, *root.rglob("*")):
            wanted = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_the_platforms_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(folder.VARIABLE, raising=False)
    assert folder.data_root() == Path(platformdirs.user_data_dir("gpt2gl", appauthor=False))
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path))
    assert folder.data_root() == tmp_path
    store, writer = open_store(lambda key, problem: None)
    assert store.folder.root == tmp_path
    assert writer.close(0)


def test_the_list_is_ready_before_the_disk_is(one: Instance) -> None:
    chats = [dialogue(text) for text in ("old", "new", "pinned")]
    for i, chat in enumerate(chats):
        chat.updated = 1000.0 + i
    chats[0].pin(False)
    chats[2].pinned, chats[2].updated = True, 1.0
    for chat in chats:
        one.store.save(chat)
    assert one.titles() == ["pinned", "new", "old"]
    assert one.writer.flush(LONG)
    assert one.titles() == ["pinned", "new", "old"]


def test_what_is_not_written(one: Instance, root: Path) -> None:
    private = dialogue("secret")
    private.private = True
    newer = dialogue("newer")
    newer.read_only = "written by a newer one"
    for chat in (private, newer, Chat()):
        assert not one.store.save(chat)
    chat = one.save(dialogue("Hi"))
    assert not one.store.save(chat)
    chat.rename("Hello")
    assert one.store.save(chat)
    assert one.writer.flush(LONG)
    assert one.titles() == ["Hello"]
    assert b"secret" not in b"".join(p.read_bytes() for p in root.rglob("*.jsonl"))


def test_an_open_chat_is_one_object(one: Instance) -> None:
    chat = dialogue("Hi")
    one.store.save(chat)
    assert one.store.open(chat.id)[0] is chat
    chat_id = chat.id
    chat.say("more")
    assert one.store.save(chat)
    del chat
    # Whether from memory or from the disk: nothing that was saved is missing.
    assert len(one.store.open(chat_id)[0]) == 2


def test_a_thousand_chats_are_listed_by_their_headers(one: Instance, root: Path) -> None:
    for i in range(1000):
        chat = dialogue(f"chat {i}")
        (root / "chats" / f"{chat.id}.jsonl").write_bytes(codec.encode(chat))
    assert len(one.store.summaries()) == 1000


def test_adopt_gives_a_new_id_where_the_old_is_taken(one: Instance) -> None:
    chat = one.save(dialogue("Hi"))
    again = codec.decode(codec.encode(chat), "file").chat
    one.store.adopt(again)
    assert again.id != chat.id
    assert one.writer.flush(LONG)
    assert one.titles() == ["Hi", "Hi"]


# Deleting ---------------------------------------------------------------------------------------


def test_delete_and_undo(one: Instance, root: Path) -> None:
    chat = one.save(dialogue("Hi", "Hello"))
    (summary,) = one.store.summaries()
    chat.say("unsaved")
    one.store.save(chat)
    one.store.delete(chat.id)
    assert one.titles() == []
    assert not one.store.save(chat)
    assert one.writer.flush(LONG)
    assert one.titles() == []
    assert len(list((root / "trash").iterdir())) == 1
    one.store.restore(summary)
    assert one.titles() == ["Hi"]
    assert one.writer.flush(LONG)
    assert one.titles() == ["Hi"]
    assert list((root / "trash").iterdir()) == []
    # What was on its way when the chat was deleted is there too.
    assert content(one.store.open(chat.id)[0]) == content(chat)
    chat.say("later")
    assert one.save(chat).id == chat.id
    assert one.titles() == ["Hi"]


def test_undo_at_once(one: Instance) -> None:
    chat = one.save(dialogue("Hi"))
    (summary,) = one.store.summaries()
    one.store.delete(chat.id)
    one.store.restore(summary)
    assert one.writer.flush(LONG)
    assert one.titles() == ["Hi"]


def test_undo_does_not_replace_what_was_written_since(one: Instance) -> None:
    chat = one.save(dialogue("Hi"))
    (summary,) = one.store.summaries()
    one.store.delete(chat.id)
    assert one.writer.flush(LONG)
    one.store.folder.path_of(chat.id).write_bytes(codec.encode(dialogue("newer")))
    one.store.restore(summary)
    assert one.writer.flush(LONG)
    assert one.titles() == ["newer"]


def test_the_trash_is_emptied_after_a_time(one: Instance, root: Path) -> None:
    chats = [one.save(dialogue(text)) for text in ("old", "new")]
    for chat in chats:
        one.store.delete(chat.id)
    assert one.writer.flush(LONG)
    left_behind = root / "chats" / f".{chats[0].id}.x"
    left_behind.write_bytes(b"half")
    long_ago = time.time() - 31 * 24 * 3600
    for path in (left_behind, root / "trash" / f"{chats[0].id}.jsonl"):
        os.utime(path, (long_ago, long_ago))
    one.end()
    Instance(root).end()
    assert not left_behind.exists()
    assert [path.stem for path in (root / "trash").iterdir()] == [chats[1].id]


# Damage -----------------------------------------------------------------------------------------


def test_a_truncated_file_loses_its_last_line_only(one: Instance, root: Path) -> None:
    chat = one.save(dialogue("Hi", "Hello", "Bye"))
    path = only_file(root)
    whole = path.read_bytes()
    damaged = whole[:-5]
    path.write_bytes(damaged)
    fresh = Instance(root)
    opened, notices = fresh.store.open(chat.id)
    assert [m.text for m in opened.path()] == ["Hi", "Hello"]
    assert len(notices) == 1
    assert notices[0].startswith(f"{path}: line 4: left out: not valid JSON")
    assert path.read_bytes() == damaged
    opened.say("Again")
    fresh.save(opened)
    assert [m.text for m in fresh.store.open(chat.id)[0].path()] == ["Hi", "Hello", "Again"]
    assert [p.read_bytes() for p in (root / "damaged").iterdir()] == [damaged]
    opened.say("And again")
    fresh.save(opened)
    assert len(list((root / "damaged").iterdir())) == 1
    fresh.end()


def test_what_is_no_chat_is_named_and_left_alone(one: Instance, root: Path) -> None:
    one.save(dialogue("Hi"))
    chats = root / "chats"
    contents = {"0" * 32: b"\xff\x00", "1" * 32: b"", "2" * 32: b'{"format": "other"}\n'}
    for name, data in contents.items():
        (chats / f"{name}.jsonl").write_bytes(data)
    (chats / "notes.txt").write_bytes(b"mine")
    (chats / f"{'3' * 32}.jsonl").mkdir()
    if POSIX:
        os.mkfifo(chats / f"{'4' * 32}.jsonl")
    assert one.titles() == ["Hi"]
    problems = "\n".join(one.store.problems)
    assert all(f"{name}.jsonl: line 1: damaged" in problems for name in contents)
    assert "notes.txt: not a chat, left alone: import it" in problems
    assert "\n" not in "".join(one.store.problems)
    for name in "012345":
        with pytest.raises(OptionError, match=r"\.jsonl: ") as caught:
            one.store.open(name * 32)
        assert "\n" not in str(caught.value)
    assert all((chats / f"{name}.jsonl").read_bytes() == d for name, d in contents.items())


def test_a_copied_file_is_a_chat_of_its_own(one: Instance, root: Path) -> None:
    chat = one.save(dialogue("Hi"))
    copy = root / "chats" / f"{'a' * 32}.jsonl"
    copy.write_bytes(only_file(root).read_bytes())
    assert {s.id for s in one.store.summaries()} == {chat.id, "a" * 32}
    opened = one.store.open("a" * 32)[0]
    opened.say("more")
    one.save(opened)
    assert len(one.store.open(chat.id)[0]) == 1


def test_a_newer_version_can_only_be_read(one: Instance, root: Path) -> None:
    chat = one.save(dialogue("Hi"))
    first, *rest = lines(chat)
    path = only_file(root)
    path.write_bytes(joined([{**first, "version": 2}, *rest]))
    fresh = Instance(root)
    opened, _ = fresh.store.open(chat.id)
    assert "newer gpt2gl (version 2)" in (opened.read_only or "")
    opened.say("more")
    assert not fresh.store.save(opened)
    fresh.end()
