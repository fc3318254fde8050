"""The tokenizer as its users call it, against GPT-2's 893 recorded cases and on its own."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl.errors import TokenizerError
from gpt2gl.tokenizer import Tokenizer
from gpt2gl.tokenizer.byte_level import BYTE_CHARS
from gpt2gl.tokenizer.display import printable

ROOT = Path(__file__).resolve().parent.parent
GPT2 = ROOT / "tests" / "data" / "gpt2_bpe"
STORYTELLER = ROOT / "assets" / "models" / "storyteller"
CASES = json.loads((GPT2 / "cases.json").read_text(encoding="utf-8"))
END = "<|endoftext|>"


def as_openai(folder):
    for name in ("encoder.json", "vocab.bpe"):
        shutil.copy(GPT2 / name, folder / name)


def as_pair(folder):
    shutil.copy(GPT2 / "encoder.json", folder / "vocab.json")
    shutil.copy(GPT2 / "vocab.bpe", folder / "merges.txt")


def as_single_file(folder):
    vocab = json.loads((GPT2 / "encoder.json").read_text(encoding="utf-8"))
    merges = (GPT2 / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:-1]
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    content = {
        "added_tokens": [{"id": 50256, "content": END, "special": True, "normalized": False}],
        "normalizer": None,
        "pre_tokenizer": step,
        "decoder": step,
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture(scope="module", params=[as_openai, as_pair, as_single_file])
def gpt2(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.__name__)
    request.param(folder)
    return Tokenizer.from_directory(folder)


@pytest.fixture(scope="module")
def storyteller():
    return Tokenizer.from_directory(STORYTELLER)


def pair_folder(folder, **files):
    """The storyteller as vocab.json and merges.txt, with further JSON files."""
    model = json.loads((STORYTELLER / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    lines = ["#version: 0.2", *(" ".join(merge) for merge in model["merges"]), ""]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_recorded_cases(gpt2):
    assert len(CASES) == 893
    assert not [case for case in CASES if gpt2.encode(case["text"]) != case["ids"]]


def test_recorded_cases_with_special_tokens(gpt2):
    cases = [case for case in CASES if "ids_special" in case]
    assert len(cases) == 15
    assert not [c for c in cases if gpt2.encode_with_special(c["text"]) != c["ids_special"]]


def test_recorded_cases_decode(gpt2):
    for case in CASES:
        for ids in (case["ids"], case.get("ids_special", case["ids"])):
            assert gpt2.decode(ids) == case["text"]
            assert gpt2.decode_bytes(ids) == case["text"].encode()


def test_gpt2_properties(gpt2):
    assert (gpt2.vocab_size, gpt2.eos_id, gpt2.bos_id) == (50257, 50256, 50256)
    assert gpt2.special_ids == {END: 50256}


def test_ids_that_are_not_merge_ranks(storyteller):
    assert (storyteller.vocab_size, storyteller.eos_id, storyteller.bos_id) == (8192, 0, 0)
    assert storyteller.special_ids == {END: 0}
    assert storyteller.encode("!") == [1]
    assert storyteller.encode_with_special(f"!{END}!") == [1, 0, 1]


def test_forms_agree_on_the_storyteller(storyteller, tmp_path):
    pair = Tokenizer.from_directory(pair_folder(tmp_path))
    text = f"Once upon a time, there's a 'king' {END} and\n\n  42 é 日本 🙂"
    assert pair.encode(text) == storyteller.encode(text)
    assert pair.encode_with_special(text) == storyteller.encode_with_special(text)
    assert pair.special_ids == storyteller.special_ids


def test_from_vocab(storyteller):
    model = json.loads((STORYTELLER / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    merges = [(left, right) for left, right in model["merges"]]
    made = Tokenizer.from_vocab(model["vocab"], merges, {END: 0})
    text = f"the end {END}"
    assert made.encode(text) == storyteller.encode(text)
    assert made.encode_with_special(text) == storyteller.encode_with_special(text)
    assert (made.eos_id, made.bos_id, made.vocab_size) == (0, 0, 8192)


def test_from_vocab_with_other_ends(storyteller):
    model = json.loads((STORYTELLER / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    special = {END: 0, "<|user|>": 8192}
    merges = [tuple(merge) for merge in model["merges"]]
    made = Tokenizer.from_vocab(model["vocab"], merges, special, eos_id=8192, where="m.gguf")
    assert (made.eos_id, made.bos_id, made.vocab_size) == (8192, 0, 8193)
    assert made.encode_with_special("<|user|>") == [8192]
    assert made.token_bytes(8192) == b"<|user|>"


def test_bytes_alone_are_a_vocabulary():
    vocab = {char: byte for byte, char in enumerate(BYTE_CHARS)}
    made = Tokenizer.from_vocab(vocab, [], {})
    assert made.encode("né\n") == list("né\n".encode())
    assert (made.eos_id, made.bos_id) == (None, None)


@settings(deadline=None)
@given(text=st.text())
def test_round_trip(storyteller, text):
    ids = storyteller.encode(text)
    assert storyteller.decode(ids) == text
    assert b"".join(map(storyteller.token_bytes, ids)) == text.encode()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude42", "🙂"),
        ("\ude42\ud83d", "\ufffd\ufffd"),
    ],
)
def test_surrogates(storyteller, text, meant):
    assert storyteller.encode(text) == storyteller.encode(meant)
    assert storyteller.encode_with_special(text) == storyteller.encode(meant)


def test_padding_ids_stand_for_no_text(storyteller):
    padded = storyteller.padded_to(8256)
    assert padded.vocab_size == 8256
    assert padded.token_bytes(8200) == b""
    assert padded.token_text(8200) == ""
    assert padded.decode([1, 8255, 2]) == '!"'
    assert storyteller.vocab_size == 8192


def test_gap_in_the_ids(tmp_path):
    folder = pair_folder(tmp_path, added_tokens={"<far>": 9000})
    tokenizer = Tokenizer.from_directory(folder)
    assert tokenizer.vocab_size == 9001
    assert tokenizer.decode_bytes([8192, 9000]) == b"<far>"


def test_padding_cannot_shrink(storyteller):
    with pytest.raises(TokenizerError, match=r"8191.*8000"):
        storyteller.padded_to(8000)


@pytest.mark.parametrize("token_id", [-1, 8192, 10**20])
def test_ids_out_of_range(storyteller, token_id):
    for call in (storyteller.token_bytes, storyteller.token_text):
        with pytest.raises(TokenizerError, match=f"{token_id} is outside.*0 to 8191"):
            call(token_id)
    for call in (storyteller.decode, storyteller.decode_bytes):
        with pytest.raises(TokenizerError, match=str(token_id)):
            call([1, token_id])


def test_decode_replaces_what_is_not_utf8(gpt2):
    flag = gpt2.encode("🏴")
    assert len(flag) > 1
    assert gpt2.decode(flag[:1]) == "\ufffd"
    assert gpt2.decode([]) == ""


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (" the", "␣the"),
        ("a\\b", r"a\\b"),
        ("\n\r\t", r"\n\r\t"),
        ("\x00\x7f\x85\u200b", r"\x00\x7f\u0085\u200b"),
        ("\U000e0001", r"\U000e0001"),
        ("␣", r"\u2423"),
        ("é日", "é日"),
        ("\u0301x", r"\u0301x"),
        (b"\xe2\x82", r"\xe2\x82"),
        (b"", ""),
    ],
)
def test_printable(data, shown):
    assert printable(data.encode() if isinstance(data, str) else data) == shown


def test_token_texts_differ_and_stay_on_a_line(gpt2):
    texts = [gpt2.token_text(token_id) for token_id in range(gpt2.vocab_size)]
    assert len(set(texts)) == len({gpt2.token_bytes(i) for i in range(gpt2.vocab_size)})
    assert all(text.isprintable() and text for text in texts)


def test_special_tokens_are_text_unless_asked_for(tmp_path):
    marked = {"added_tokens": {"<|user|>": 8192}, "special_tokens_map": {"sep_token": "<|user|>"}}
    tokenizer = Tokenizer.from_directory(pair_folder(tmp_path, **marked))
    assert 8192 not in tokenizer.encode("<|user|>hi")
    assert tokenizer.encode_with_special("<|user|>hi")[0] == 8192
    assert tokenizer.special_ids == {END: 0, "<|user|>": 8192}


def test_added_tokens_that_are_not_special_are_always_found(tmp_path):
    tokenizer = Tokenizer.from_directory(pair_folder(tmp_path, added_tokens={"    ": 8192}))
    assert tokenizer.encode("    x").count(8192) == 1
    assert tokenizer.special_ids == {END: 0}


@pytest.mark.parametrize("entry", ["<|end|>", {"content": "<|end|>", "lstrip": False}])
def test_end_of_text_by_another_name(tmp_path, entry):
    config = {"eos_token": entry, "bos_token": None}
    folder = pair_folder(tmp_path, tokenizer_config=config, added_tokens={"<|end|>": 8192})
    tokenizer = Tokenizer.from_directory(folder)
    assert (tokenizer.eos_id, tokenizer.bos_id) == (8192, 0)


def test_roles_from_a_special_tokens_map(tmp_path):
    roles = {"eos_token": "<a>", "additional_special_tokens": ["<b>"], "pad_token": "<nowhere>"}
    added = {"<a>": 8192, "<b>": 8193}
    folder = pair_folder(tmp_path, special_tokens_map=roles, added_tokens=added)
    tokenizer = Tokenizer.from_directory(folder)
    assert tokenizer.eos_id == 8192
    assert tokenizer.special_ids == {END: 0, "<a>": 8192, "<b>": 8193}


def test_nothing_is_fetched(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    tokenizer = Tokenizer.from_directory(STORYTELLER)
    assert tokenizer.decode(tokenizer.encode("offline")) == "offline"
