"""Tokenizer files that are damaged, hostile or of another kind: one clear line each."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl.errors import TokenizerError
from gpt2gl.tokenizer import Tokenizer, files
from gpt2gl.tokenizer.byte_level import BYTE_CHARS

END = "<|endoftext|>"
SINGLE = "tokenizer.json"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}


def small_vocab():
    return {name: at for at, name in enumerate([END, *BYTE_CHARS, "ab", "abc", "Ġa"])}


MERGES = [["a", "b"], ["ab", "c"], ["Ġ", "a"]]
LINES = "\n".join(["#version: 0.2", *(" ".join(merge) for merge in MERGES), ""])


def single_file():
    return {
        "added_tokens": [{"id": 0, "content": END, "special": True, "normalized": False}],
        "normalizer": None,
        "pre_tokenizer": dict(BYTE_LEVEL),
        "decoder": dict(BYTE_LEVEL),
        "model": {"type": "BPE", "vocab": small_vocab(), "merges": MERGES},
    }


def write(folder, name, content):
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


def write_pair(folder, lines=LINES, **more):
    write(folder, "vocab.json", small_vocab())
    write(folder, "merges.txt", lines)
    for name, content in more.items():
        write(folder, f"{name}.json", content)
    return folder


def refusal(folder):
    """The message, which is one line that starts with what it is about."""
    with pytest.raises(TokenizerError) as caught:
        Tokenizer.from_directory(folder)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 400
    return message


def changed(path, value):
    """The content of a good tokenizer.json with one value replaced, for example model.type."""
    content = single_file()
    *parents, last = path.split(".")
    at = content
    for key in parents:
        at = at[key]
    at[last] = value
    return content


def test_the_small_files_are_good(tmp_path):
    single = Tokenizer.from_directory(write(tmp_path, SINGLE, single_file()))
    (tmp_path / SINGLE).unlink()
    pair = Tokenizer.from_directory(write_pair(tmp_path))
    assert single.encode("abc a") == pair.encode("abc a") == [258, 259]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b'{"model": {"type": "BPE", "voc', "damaged.*download the file again"),
        (b'{"model": "\xff"}', r"not UTF-8 text \(byte 11\)"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b'{"a": 1, "a": 2}', "'a' appears twice"),
        (b"[1, 2]", "a JSON list, not an object"),
    ],
)
@pytest.mark.parametrize("name", [SINGLE, "tokenizer_config.json"])
def test_damaged_json(tmp_path, name, data, reason):
    write(tmp_path, SINGLE, single_file())
    (tmp_path / name).write_bytes(data)
    message = refusal(tmp_path)
    assert name in message
    assert_matches(reason, message)


def assert_matches(reason, message):
    assert re.search(reason, message), message


@settings(deadline=None)
@given(cut=st.integers(0, 10**6))
def test_a_cut_file_is_noticed(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("cut")
    text = json.dumps(single_file())
    assert "damaged" in refusal(write(folder, SINGLE, text[: cut % len(text)]))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("model.type", "WordPiece", "'WordPiece' is not implemented"),
        ("model.type", "Unigram", "'Unigram' is not implemented"),
        ("model.byte_fallback", True, "byte_fallback True"),
        ("model.ignore_merges", True, "ignore_merges True"),
        ("model.dropout", 0.1, r"dropout 0\.1"),
        ("model.end_of_word_suffix", "</w>", "end_of_word_suffix '</w>'"),
        ("model.continuing_subword_prefix", "##", "continuing_subword_prefix '##'"),
        ("normalizer", {"type": "NFC"}, "normalizer 'NFC'"),
        (
            "normalizer",
            {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]},
            r"normalizer 'Sequence\(NFD, Lowercase\)'",
        ),
        ("pre_tokenizer", None, "pre_tokenizer None"),
        ("pre_tokenizer", {"type": "Metaspace"}, "pre_tokenizer 'Metaspace'"),
        (
            "pre_tokenizer",
            {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, BYTE_LEVEL]},
            r"pre_tokenizer 'Sequence\(Digits, ByteLevel\)'",
        ),
        ("pre_tokenizer.add_prefix_space", True, "add_prefix_space True"),
        ("pre_tokenizer.use_regex", False, "use_regex False"),
        ("decoder", {"type": "WordPiece"}, "decoder 'WordPiece'"),
    ],
)
def test_other_kinds_of_tokenizer(tmp_path, path, value, reason):
    message = refusal(write(tmp_path, SINGLE, changed(path, value)))
    assert message.startswith(str(tmp_path / SINGLE))
    assert_matches(f"{reason}.*only byte-level BPE", message)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("model", 3, "has no model"),
        ("model.vocab", [["a", -1.5]], "not a JSON object of ids"),
        ("model.vocab.a", "x", "id of 'a' is 'x', not a whole number"),
        ("model.vocab.a", True, "id of 'a' is True"),
        (
            "model.vocab.a",
            small_vocab()["b"],
            "'b' and 'a' have the same id|'a' and 'b' have the same id",
        ),
        ("model.vocab.a", -1, "id -1 of 'a' is not from 0"),
        ("model.vocab.a", 10**15, "is not from 0 to"),
        ("model.vocab.stray", 300, "'stray'; the merges are cut short"),
        ("model.merges", None, "no list of merges"),
        ("model.merges", ["a b c"], "'a b c' is not two tokens"),
        ("model.merges", [["a", 5]], "is not two tokens"),
        ("model.merges", ["a b", "ab c", "x yz"], "needs 'yz', which is not in"),
        ("model.merges", ["a b", "ab c"], "'Ġa'; the merges are cut short"),
        ("model.merges", [*MERGES, MERGES[0]], "a merge is listed twice"),
        ("added_tokens", [{"id": 5, "content": "<x>"}], "have the same id 5"),
        ("added_tokens", [{"id": 999, "content": "!"}], "'!' has two ids"),
        ("added_tokens", [{"id": 999, "content": ""}], "no usable content"),
        ("added_tokens", [{"id": 999, "content": "\ud800"}], "no usable content"),
        ("added_tokens", [{"id": "x", "content": "<x>"}], "no whole number as its id"),
        ("added_tokens", [{"id": 999, "content": "<x>", "single_word": True}], "single_word"),
        ("added_tokens", [{"id": 2**70, "content": "\n" * 999}], "is not from 0 to"),
        ("added_tokens", [[[[[[[["deep"]]]]]]]], "no usable content"),
    ],
)
def test_inconsistent_vocabularies(tmp_path, path, value, reason):
    message = refusal(write(tmp_path, SINGLE, changed(path, value)))
    assert message.startswith(str(tmp_path / SINGLE))
    assert_matches(reason, message)


def nest(levels):
    value = "x"
    for _ in range(levels):
        value = {"type": "Sequence", "normalizers": [value]}
    return value


@pytest.mark.parametrize("levels", [1, 50, sys.getrecursionlimit() // 4])
def test_deep_but_readable(tmp_path, levels):
    for path in ("normalizer", "pre_tokenizer", "added_tokens", "model.vocab.a", "model.merges"):
        refusal(write(tmp_path, SINGLE, changed(path, [nest(levels)])))


def test_missing_bytes(tmp_path):
    content = single_file()
    vocab = {name: at for name, at in small_vocab().items() if name not in "!é"}
    content["model"]["vocab"] = vocab
    message = refusal(write(tmp_path, SINGLE, content))
    assert_matches("no entry for 2 of the 256 bytes, such as 0x21", message)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [("日", "'日'; the merges are cut short"), ("<日>", "'<日>a' is not in byte-level spelling")],
)
def test_entries_that_are_not_byte_level(tmp_path, entry, reason):
    content = single_file()
    content["model"]["vocab"] |= {entry: 300, f"{entry}a": 301}
    content["model"]["merges"] = [*MERGES, [entry, "a"]]
    assert reason in refusal(write(tmp_path, SINGLE, content))


def test_marks_that_no_merge_makes_are_kept(tmp_path):
    content = single_file()
    content["model"]["vocab"] |= {"<pad>": 300, "[unused é]": 301}
    tokenizer = Tokenizer.from_directory(write(tmp_path, SINGLE, content))
    assert tokenizer.decode([300, 301]) == "<pad>[unused é]"
    assert 300 not in tokenizer.encode_with_special("<pad>")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("", "the merges are cut short"),
        ("#version: 0.2\na b\nab", "'ab ' is not two tokens"),
        ("a b c\n", "'a b c' is not two tokens"),
        ("a  b\n", "is not two tokens"),
        ("a b\nab c\nĠ a\nq zz\n", "needs 'zz'"),
    ],
)
def test_bad_merges(tmp_path, lines, reason):
    message = refusal(write_pair(tmp_path, lines))
    assert message.startswith(str(tmp_path / "merges.txt"))
    assert_matches(reason, message)


def test_line_ends_and_byte_order_mark(tmp_path):
    lines = "\ufeff" + LINES.replace("\n", "\r\n")
    assert Tokenizer.from_directory(write_pair(tmp_path, lines)).encode("abc") == [258]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("tokenizer_config", {"tokenizer_class": "CLIPTokenizer"}, "'CLIPTokenizer'"),
        ("tokenizer_config", {"tokenizer_class": ["x"]}, "tokenizer_class"),
        ("tokenizer_config", {"add_prefix_space": True}, "add_prefix_space"),
        ("tokenizer_config", {"eos_token": "</s>"}, "eos_token '</s>' is not in the vocab"),
        ("tokenizer_config", {"eos_token": 5}, "no usable content"),
        ("tokenizer_config", {"added_tokens_decoder": [1]}, "not a JSON object"),
        ("tokenizer_config", {"added_tokens_decoder": {"x": "<x>"}}, "no whole number"),
        ("special_tokens_map", {"eos_token": {"content": 5}}, "no usable content"),
        ("added_tokens", {"<x>": 1.5}, "no whole number"),
        ("added_tokens", [], "not an object"),
    ],
)
def test_bad_settings(tmp_path, name, content, reason):
    message = refusal(write_pair(tmp_path, **{name: content}))
    assert message.startswith(str(tmp_path / f"{name}.json"))
    assert_matches(reason, message)


def test_a_named_class_is_no_matter_where_the_file_says_all(tmp_path):
    write(tmp_path, "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizerFast"})
    assert Tokenizer.from_directory(write(tmp_path, SINGLE, single_file())).encode("abc") == [258]


@pytest.mark.parametrize(
    ("present", "reason"),
    [
        ([], "has no tokenizer; add tokenizer.json or"),
        (["vocab.json"], "has vocab.json but not merges.txt"),
        (["vocab.bpe"], "has vocab.bpe but not encoder.json"),
        (["vocab.txt"], "WordPiece"),
        (["tokenizer.model"], "SentencePiece"),
    ],
)
def test_missing_files(tmp_path, present, reason):
    for name in present:
        write(tmp_path, name, "{}")
    assert reason in refusal(tmp_path)


def test_missing_folders(tmp_path):
    for folder in (tmp_path / "no", tmp_path / "two\nlines", Path("nul\0")):
        assert "there is no such folder" in refusal(folder)
    assert "there is no such folder" in refusal(write(tmp_path, "file", "") / "file")


@pytest.fixture
def outside(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    return write(folder, SINGLE, single_file()) / SINGLE


def link(path, target):
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("this account may not make symbolic links, as is usual on Windows")


def test_links_out_of_the_folder(tmp_path, outside):
    link(tmp_path / SINGLE, outside)
    assert "a link to a file outside" in refusal(tmp_path)


def test_links_of_a_hugging_face_cache(tmp_path, outside):
    snapshot, blobs = tmp_path / "snapshots" / "0123", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    outside.rename(blobs / "abcd")
    link(snapshot / SINGLE, Path("..", "..", "blobs", "abcd"))
    assert Tokenizer.from_directory(snapshot).encode("abc") == [258]


@pytest.mark.parametrize("target", ["nowhere", SINGLE])
def test_links_to_nothing(tmp_path, target):
    link(tmp_path / SINGLE, tmp_path / target)
    assert_matches("tokenizer.json: cannot be read", refusal(tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / SINGLE)
    assert "not a regular file" in refusal(tmp_path)


def test_folders_in_place_of_files(tmp_path):
    (tmp_path / SINGLE).mkdir()
    assert "not a regular file" in refusal(tmp_path)


def test_huge_files(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 2**20)
    with (tmp_path / SINGLE).open("wb") as file:
        file.truncate(2**40)
    assert "larger than 1 MiB" in refusal(tmp_path)
