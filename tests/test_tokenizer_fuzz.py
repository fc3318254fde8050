"""Damaged tokenizer files: whatever is in them, reading ends in a tokenizer or one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl.errors import TokenizerError
from gpt2gl.tokenizer import Tokenizer
from tests.mutations import (
    SOAK_CASES,
    SUITE_CASES,
    Damage,
    Draw,
    Mutation,
    any_bytes,
    any_value,
    cases,
)
from tests.test_tokenizer_files import END, SINGLE, single_file, write, write_pair

SETTINGS = {
    "tokenizer_config": {"tokenizer_class": "GPT2Tokenizer", "eos_token": END},
    "special_tokens_map": {"eos_token": {"content": END, "lstrip": False}},
    "added_tokens": {"<x>": 300},
}
# Which file, and what happens to it.
MUTATIONS: dict[str, tuple[str, Mutation]] = {
    "single bytes": (SINGLE, any_bytes),
    "single values": (SINGLE, any_value),
    "vocab values": ("vocab.json", any_value),
    "merges bytes": ("merges.txt", any_bytes),
    "config values": ("tokenizer_config.json", any_value),
    "map values": ("special_tokens_map.json", any_value),
    "added values": ("added_tokens.json", any_value),
}
each_mutation = pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)


def reads_or_says_why(folder: Path) -> None:
    try:
        Tokenizer.from_directory(folder).encode("abc a")
    except TokenizerError as error:
        message = str(error)
        assert message.isprintable()
        assert str(folder) in message
        assert len(message) < 1200


@pytest.fixture
def damage(tmp_path: Path, mutation: tuple[str, Mutation]) -> Damage:
    """Damages the file anew each time, and reads its folder."""
    name, mutate = mutation
    if name == SINGLE:
        write(tmp_path, SINGLE, single_file())
    else:
        write_pair(tmp_path, **SETTINGS)
    raw = (tmp_path / name).read_bytes()

    def damage_and_read(draw: Draw) -> None:
        (tmp_path / name).write_bytes(mutate(raw, draw))
        reads_or_says_why(tmp_path)

    return damage_and_read


@each_mutation
@cases(max_examples=SUITE_CASES)
@given(data=st.data())
def test_damaged_tokenizers(damage: Damage, data: st.DataObject) -> None:
    damage(data.draw)


@pytest.mark.soak
@each_mutation
@cases(max_examples=SOAK_CASES)
@given(data=st.data())
def test_many_more_damaged_tokenizers(damage: Damage, data: st.DataObject) -> None:
    damage(data.draw)
