"""Chats on the disk when things go wrong: several instances, a full disk, kill -9."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpt2gl.errors import OptionError
from gpt2gl_ui.chats import codec
from gpt2gl_ui.chats.store import Store
from gpt2gl_ui.chats.writer import Writer
from tests.source_tree import ROOT
from tests.ui.chat_instances import LONG, Instance, only_file
from tests.ui.chat_values import dialogue

POSIX = os.name == "posix"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "data"


@pytest.fixture
def one(root: Path) -> Iterator[Instance]:
    instance = Instance(root)
    yield instance
    instance.end()


@pytest.fixture
def two(one: Instance, root: Path) -> Iterator[Instance]:
    """A second instance on the same folder."""
    instance = Instance(root)
    yield instance
    instance.end()


# Several instances ------------------------------------------------------------------------------


def test_one_instance_tidies_up(one: Instance, two: Instance) -> None:
    assert (one.store.is_owner, two.store.is_owner) == (True, False)


def test_both_write_their_own_chats_and_see_the_other(one: Instance, two: Instance) -> None:
    one.save(dialogue("first"))
    two.save(dialogue("second"))
    assert sorted(one.titles()) == sorted(two.titles()) == ["first", "second"]


def test_one_after_the_other_is_no_conflict(one: Instance, two: Instance) -> None:
    chat = one.save(dialogue("Hi"))
    other = two.store.open(chat.id)[0]
    other.say("from two")
    two.save(other)
    reopened = one.store.open(chat.id)[0]
    assert reopened is not chat
    reopened.say("from one")
    one.save(reopened)
    assert [m.text for m in two.store.open(chat.id)[0].path()] == ["Hi", "from two", "from one"]
    assert one.titles() == ["Hi"]


def test_a_chat_that_the_other_changed_becomes_a_copy(one: Instance, two: Instance) -> None:
    chat = one.save(dialogue("Hi"))
    chat_id = chat.id
    other = two.store.open(chat_id)[0]
    other.say("from two")
    two.save(other)
    chat.say("from one")
    one.save(chat)
    assert (chat.id == chat_id, chat.title) == (False, "Hi (copy)")
    assert [m.text for m in two.store.open(chat_id)[0].path()] == ["Hi", "from two"]
    assert [m.text for m in two.store.open(chat.id)[0].path()] == ["Hi", "from one"]
    chat.say("again")
    one.save(chat)
    assert sorted(one.titles()) == ["Hi", "Hi (copy)"]


def test_changed_by_the_other_while_the_save_waits(
    one: Instance, two: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = one.save(dialogue("Hi"))
    chat_id = chat.id
    other = two.store.open(chat_id)[0]
    other.say("from two")
    with monkeypatch.context() as patch:
        patch.setattr(one.store, "_is_overtaken", lambda chat_id: False)
        two.save(other)
        chat.say("from one")
        one.save(chat)
    # It is safe on the disk already, and the next save goes there.
    assert sorted(one.titles()) == ["Hi", "Hi (copy)"]
    assert chat.id == chat_id
    chat.say("again")
    one.save(chat)
    assert chat.id != chat_id
    assert len(two.store.open(chat.id)[0]) == 3
    assert [m.text for m in two.store.open(chat_id)[0].path()] == ["Hi", "from two"]
    assert sorted(one.titles()) == ["Hi", "Hi (copy)"]


def test_deleted_by_the_other(one: Instance, two: Instance) -> None:
    chat = one.save(dialogue("Hi"))
    two.store.summaries()
    two.store.delete(chat.id)
    assert two.writer.flush(LONG)
    assert one.titles() == []
    chat.say("still here")
    one.save(chat)
    assert one.titles() == two.titles() == ["Hi"]
    again = two.store.open(chat.id)[0]
    again.say("here too")
    two.save(again)
    assert len(one.store.open(chat.id)[0]) == 3


# A disk that fails ------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_loses_nothing(
    step: str, one: Instance, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = one.save(dialogue("Hi"))
    before = only_file(root).read_bytes()

    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        for text in ("one", "two"):
            chat.say(text)
            assert one.store.save(chat)
            assert not one.writer.flush(LONG)
        assert len(one.reports) == 1
        assert "No space left on device" in (one.reports[0][1] or "")
    assert only_file(root).read_bytes() == before
    assert len(one.store.open(chat.id)[0]) == 3
    assert one.writer.flush(LONG)
    assert one.reports[1:] == [(one.reports[0][0], None)]
    assert len(codec.decode(only_file(root).read_bytes(), "").chat) == 3


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    writer = Writer(lambda key, problem: None, 60)
    store = Store(writer, tmp_path / "data")
    with pytest.raises(OptionError, match=r"cannot be made .* set GPT2GL_DATA_DIR"):
        store.start()
    assert store.summaries() == []
    assert len(store.problems) == 1
    assert "cannot be read (Not a directory): set GPT2GL_DATA_DIR" in store.problems[0]
    chat = dialogue("Hi")
    assert store.save(chat)
    assert not writer.flush(LONG)
    (tmp_path / "data").unlink()
    assert writer.flush(LONG)
    assert len(store.summaries()) == 1
    writer.close(LONG)


SAVER = """
import sys
from pathlib import Path
from gpt2gl_ui.chats.store import Store
from gpt2gl_ui.chats.writer import Writer
from gpt2gl_ui.chats.tree import Chat

writer = Writer(lambda key, problem: sys.exit(problem))
store = Store(writer, Path(sys.argv[1]))
store.start()
chat = Chat()
while True:
    chat.say("word " * 2000)
    store.save(chat)
    writer.flush(20)
    print(len(chat), flush=True)
"""


@pytest.mark.skipif(not POSIX, reason="signals as on POSIX")
def test_killed_at_any_moment(root: Path) -> None:
    chance = random.Random(0)
    for _ in range(5):
        command = [sys.executable, "-c", SAVER, str(root)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        time.sleep(chance.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        said = ["1", *process.stdout.read().split()]
        process.wait()
        process.stdout.close()
        instance = Instance(root)
        newest = max(instance.store.summaries(), key=lambda summary: summary.created)
        chat, notices = instance.store.open(newest.id)
        assert notices == ()
        assert len(chat) >= int(said[-1])
        assert {m.text for m in chat} == {"word " * 2000}
        instance.end()
