"""Streaming text: what has come so far is right, and all of it is what decode() gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl.errors import TokenizerError
from gpt2gl.tokenizer import StreamDecoder, Tokenizer

GPT2 = Path(__file__).resolve().parent / "data" / "gpt2_bpe"
CASES = json.loads((GPT2 / "cases.json").read_text(encoding="utf-8"))
GPT2_TOKENIZER = Tokenizer.from_directory(GPT2)
BYTE_IDS = {data[0]: at for at in range(256) if len(data := GPT2_TOKENIZER.token_bytes(at)) == 1}


def streamed(ids):
    decoder = StreamDecoder(GPT2_TOKENIZER)
    return [*(decoder.push(token_id) for token_id in ids), decoder.flush()]


def stream_bytes(data):
    return streamed([BYTE_IDS[byte] for byte in data])


@settings(deadline=None)
@given(st.lists(st.integers(0, GPT2_TOKENIZER.vocab_size - 1)))
def test_random_ids(ids):
    assert "".join(streamed(ids)) == GPT2_TOKENIZER.decode(ids)


@settings(deadline=None)
@given(st.binary())
def test_random_bytes(data):
    assert "".join(stream_bytes(data)) == data.decode("utf-8", "replace")


@settings(deadline=None)
@given(st.text(alphabet=st.characters(min_codepoint=0x80, exclude_categories=["Cs"])))
def test_whole_characters_only(text):
    parts = stream_bytes(text.encode())
    assert "".join(parts) == text
    assert all(len(part) <= 1 for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        "🙂",
        "👩‍👩‍👧‍👦",
        "🏳️‍🌈 🇪🇺 👍🏽",
        "日本語の文章",
        "汉字𠀀𪛖",
        "e\u0301 a\u0308\u0323",
        "नमस्ते",
        "\ufeffx\u200d",
        "I’m “here”…",
    ],
)
def test_text_of_several_tokens(text):
    parts = streamed(GPT2_TOKENIZER.encode(text))
    assert "".join(parts) == text
    assert "\ufffd" not in "".join(parts)


def test_recorded_cases():
    assert all("".join(streamed(case["ids"])) == case["text"] for case in CASES)


def test_what_comes_when():
    assert stream_bytes("€!".encode()) == ["", "", "€", "!", ""]
    assert stream_bytes("🙂".encode()) == ["", "", "", "🙂", ""]


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"\xe2(", ["", "\ufffd(", ""]),
        (b"\xed\xa0\x80", ["", "", "\ufffd\ufffd\ufffd", ""]),
        (b"\xff", ["\ufffd", ""]),
        (b"\x80a", ["\ufffd", "a", ""]),
        (b"\xf0\x9f\x99", ["", "", "", "\ufffd"]),
        (b"\xf4\x90", ["", "\ufffd\ufffd", ""]),
    ],
)
def test_invalid_bytes_show_when_they_are_known(data, parts):
    assert stream_bytes(data) == parts


def test_special_and_padding_tokens():
    decoder = StreamDecoder(GPT2_TOKENIZER.padded_to(50304))
    assert decoder.push(50256) == "<|endoftext|>"
    assert decoder.push(50300) == ""


def test_padding_inside_a_character():
    decoder = StreamDecoder(GPT2_TOKENIZER.padded_to(50304))
    first, *rest = [BYTE_IDS[byte] for byte in "é".encode()]
    assert [decoder.push(token_id) for token_id in (first, 50300, *rest)] == ["", "", "é"]


def test_flush_starts_anew():
    decoder = StreamDecoder(GPT2_TOKENIZER)
    decoder.push(BYTE_IDS[0xE2])
    assert decoder.flush() == "\ufffd"
    assert decoder.flush() == ""
    assert decoder.push(BYTE_IDS[ord("a")]) == "a"


def test_an_unknown_id_changes_nothing():
    decoder = StreamDecoder(GPT2_TOKENIZER)
    first, second = (BYTE_IDS[byte] for byte in "é".encode())
    decoder.push(first)
    with pytest.raises(TokenizerError, match="50257"):
        decoder.push(50257)
    assert decoder.push(second) == "é"
