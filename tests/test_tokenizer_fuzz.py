"""Damaged tokenizer files: whatever is in them, reading ends in a tokenizer or one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpt2gl.errors import TokenizerError
from gpt2gl.tokenizer import Tokenizer
from tests.mutations import (
    Damage,
    Draw,
    Mutation,
    any_bytes,
    any_value,
    fuzz_tests,
    works_or_says_why,
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


@pytest.fixture
def damage(tmp_path: Path, mutation: tuple[str, Mutation]) -> Damage:
    """Damages the file anew each time, and reads its folder."""
    name, mutate = mutation
    if name == SINGLE:
        write(tmp_path, SINGLE, single_file())
    else:
        write_pair(tmp_path, **SETTINGS)
    raw = (tmp_path / name).read_bytes()

    def read() -> None:
        Tokenizer.from_directory(tmp_path).encode("abc a")

    def damage_and_read(draw: Draw) -> None:
        (tmp_path / name).write_bytes(mutate(raw, draw))
        works_or_says_why(read, TokenizerError, str(tmp_path))

    return damage_and_read


test_damaged_tokenizers, test_many_more_damaged_tokenizers = fuzz_tests(MUTATIONS)
