"""The storyteller's tokenizer against `transformers`, with and without added tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2TokenizerFast

from gpt2gl.tokenizer import Tokenizer

STORYTELLER = Path(__file__).resolve().parent.parent / "assets" / "models" / "storyteller"
END = "<|endoftext|>"
WORDS = [
    "the",
    " ",
    "  ",
    "\n",
    "it's",
    "don't",
    "I'LL",
    "é",
    "日本",
    "🙂",
    "\xa0",
    "\x1c",
    "1,000",
]
MARKS = [END, "<pad>", "<|user|>", "<|user", "<mask>", "   "]
CONFIG = {"tokenizer_class": "GPT2Tokenizer", "clean_up_tokenization_spaces": False}
ADDED = {
    "8192": {"content": "<pad>", "special": True},
    "8193": {"content": "<|user|>", "special": True, "normalized": False},
    "8194": {"content": "<|user", "special": False, "normalized": True},
    "8195": {"content": "<mask>", "special": False, "lstrip": True, "rstrip": True},
    "8196": {"content": "   ", "special": False, "normalized": True},
}


def plain(folder):
    return CONFIG


def with_added_tokens(folder):
    (folder / "added_tokens.json").write_text(json.dumps({"<pad>": 8192, "<|user|>": 8193}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "<pad>"}))
    return CONFIG


def with_decoder_table(folder):
    return {**CONFIG, "added_tokens_decoder": ADDED, "pad_token": "<pad>"}


@pytest.fixture(scope="module", params=[plain, with_added_tokens, with_decoder_table])
def both(request, tmp_path_factory):
    """Ours and theirs, from one folder with vocab.json and merges.txt."""
    folder = tmp_path_factory.mktemp(request.param.__name__)
    model = json.loads((STORYTELLER / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    lines = ["#version: 0.2", *(" ".join(merge) for merge in model["merges"]), ""]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    config = request.param(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return Tokenizer.from_directory(folder), GPT2TokenizerFast.from_pretrained(folder)


def mixed_text():
    return st.lists(st.sampled_from(WORDS + MARKS) | st.text(max_size=4), max_size=12).map("".join)


@settings(deadline=None)
@given(text=st.text() | mixed_text())
def test_same_ids(both, text):
    ours, theirs = both
    assert ours.encode_with_special(text) == theirs.encode(text, add_special_tokens=False)


@settings(deadline=None)
@given(text=mixed_text())
def test_same_ids_with_special_tokens_as_text(both, text):
    ours, theirs = both
    expected = theirs.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert ours.encode(text) == expected


@settings(deadline=None)
@given(ids=st.lists(st.integers(0, 8191)))
def test_same_text(both, ids):
    ours, theirs = both
    expected = theirs.decode(ids, clean_up_tokenization_spaces=False)
    assert ours.decode(ids) == expected


def test_same_special_tokens(both):
    ours, theirs = both
    assert (ours.eos_id, ours.bos_id) == (theirs.eos_token_id, theirs.bos_token_id)
    special = {str(t): i for i, t in theirs.added_tokens_decoder.items() if t.special}
    assert ours.special_ids == special


def test_single_file_form():
    ours = Tokenizer.from_directory(STORYTELLER)
    theirs = GPT2TokenizerFast(tokenizer_file=str(STORYTELLER / "tokenizer.json"))
    text = f"'Tis I, the King's fool!{END} She said:\n\n\"No.\" 🙂 日本 é {END}"
    assert ours.encode_with_special(text) == theirs.encode(text, add_special_tokens=False)
