"""Damaged files of chats: opened as far as they can be read, or refused, and never lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import strategies as st

from gpt2gl.errors import Gpt2glError
from tests.mutations import Damage, Draw, Mutation, any_bytes, edit_json, fuzz_tests
from tests.ui.chat_instances import Instance, only_file
from tests.ui.chat_values import dialogue


def any_line(raw: bytes, draw: Draw) -> bytes:
    """A chat with something replaced or dropped in the JSON of one line."""
    lines = raw.splitlines(keepends=True)
    number = draw(st.integers(0, len(lines) - 1))
    changed = json.dumps(edit_json(json.loads(lines[number]), draw)).encode() + b"\n"
    return b"".join([*lines[:number], changed, *lines[number + 1 :]])


def cut(raw: bytes, draw: Draw) -> bytes:
    """What a disk holds that was pulled out."""
    return raw[: int(draw(st.floats(0, 1)) * len(raw))]


MUTATIONS: dict[str, Mutation] = {"chat bytes": any_bytes, "chat values": any_line, "chat cut": cut}


@pytest.fixture
def damage(tmp_path: Path, mutation: Mutation) -> Damage:
    """Damages the one chat anew each time, lists the chats and opens it."""
    one = Instance(tmp_path)
    one.save(dialogue("Hi", "Hello", "How are you?"))
    path = only_file(tmp_path)
    raw = path.read_bytes()
    one.end()

    def damage_and_open(draw: Draw) -> None:
        damaged = mutation(raw, draw)
        path.write_bytes(damaged)
        window = Instance(tmp_path)
        window.store.summaries()
        problems = list(window.store.problems)
        try:
            _, found = window.store.open(path.stem)
            problems += found
        except Gpt2glError as error:
            problems.append(str(error))
        window.end()
        assert all("\n" not in problem for problem in problems)
        kept = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
        assert damaged in kept

    return damage_and_open


test_damaged_chats, test_many_more_damaged_chats = fuzz_tests(MUTATIONS)
