"""Byte pair encoding: both encoders and the windowed one against the definition, and the split."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl.tokenizer import Tokenizer, long_pieces
from gpt2gl.tokenizer.bpe import MergeTable, PairBpe, TiktokenBpe
from gpt2gl.tokenizer.byte_level import BYTE_CHARS
from gpt2gl.tokenizer.formats import read_vocabulary
from gpt2gl.tokenizer.long_pieces import encode_long_piece
from gpt2gl.tokenizer.spelling import spells_alike
from gpt2gl.tokenizer.split import LONG_RUN, WHITE_SPACE, has_long_run, split_pieces
from gpt2gl.tokenizer.vocabulary import Vocabulary

GPT2 = Path(__file__).resolve().parent / "data" / "gpt2_bpe"
TABLE = read_vocabulary(GPT2).merge_table()
TIKTOKEN = TiktokenBpe(TABLE)
TOKENIZER = Tokenizer.from_directory(GPT2)
MILLION = 10**6


def naive(table, piece):
    """The definition: merge the pair of the lowest rank, the leftmost of them, until none is."""
    ranks = {pair: rank for rank, pair in enumerate(zip(table.left, table.right, strict=True))}
    ids = [table.byte_ids[byte] for byte in piece]
    while found := [(ranks[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in ranks]:
        rank, at = min(found)
        ids[at : at + 2] = [table.merged[rank]]
    return ids


def table_of(merges):
    """A merge table over all bytes; ids run against the ranks, so that none equals its rank."""
    names = dict.fromkeys([*BYTE_CHARS, *(left + right for left, right in merges)])
    ids = {name: len(names) - at for at, name in enumerate(names)}
    return Vocabulary("v", "m", ids, merges).merge_table()


@st.composite
def merge_tables(draw):
    """Few letters and any merges of theirs, in any order: most were never trained on a text."""
    tokens, merges = list(draw(st.sampled_from(["a", "ab", "abc"]))), []
    for _ in range(draw(st.integers(1, 8))):
        pair = (draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens)))
        if pair not in merges and len("".join(pair)) <= 8:
            merges.append(pair)
            tokens.append("".join(pair))
    return table_of(draw(st.permutations(merges)) if draw(st.booleans()) else merges)


def pieces(max_size=40):
    return st.text(alphabet="abc", min_size=1, max_size=max_size).map(str.encode)


@settings(deadline=None)
@given(merge_tables(), pieces())
def test_pair_bpe_is_the_definition(table, piece):
    assert PairBpe(table).encode_piece(piece) == naive(table, piece)


@settings(deadline=None)
@given(merge_tables(), pieces())
def test_tiktoken_where_it_spells_alike(table, piece):
    if spells_alike(table):
        assert TiktokenBpe(table).encode_piece(piece) == naive(table, piece)


@settings(deadline=None)
@given(merge_tables())
def test_spells_alike_means_every_token_is_whole(table):
    order = [*table.byte_ids, *table.merged]
    rank_of = {token: rank for rank, token in enumerate(order)}
    in_order = all(
        max(rank_of[left], rank_of[right]) < rank_of[merged]
        for left, right, merged in zip(table.left, table.right, table.merged, strict=True)
    )
    whole = all(naive(table, table.token_bytes[token]) == [token] for token in table.merged)
    assert spells_alike(table) == (len(set(order)) == len(order) and in_order and whole)


@pytest.mark.parametrize(
    ("merges", "piece"),
    [
        ([("b", "c"), ("a", "b"), ("ab", "c")], b"abc"),  # a token out of reach
        ([("a", "b"), ("b", "c"), ("a", "bc"), ("ab", "c")], b"abc"),  # made in two ways
        ([("ab", "c"), ("b", "c"), ("a", "b")], b"abcbc"),  # a half ranks after the whole
        ([("a", "a"), ("a", "aa")], b"aaaa"),  # the leftmost pair takes what the merge needs
    ],
)
def test_merges_that_tiktoken_would_read_otherwise(merges, piece):
    table = table_of(merges)
    assert not spells_alike(table)
    assert PairBpe(table).encode_piece(piece) == naive(table, piece)


def test_whole_tokenizer_with_merges_that_tiktoken_would_read_otherwise():
    merges = [("b", "c"), ("a", "b"), ("ab", "c")]
    names = [*BYTE_CHARS, "bc", "ab", "abc"]
    tokenizer = Tokenizer.from_vocab({name: at for at, name in enumerate(names)}, merges, {})
    assert tokenizer.encode("abc ab") == [ord("a"), 256, ord(" "), 257]
    assert tokenizer.encode("abc" * MILLION) == [ord("a"), 256] * MILLION


def test_gpt2_spells_alike():
    assert spells_alike(TABLE)


@settings(deadline=None)
@given(merge_tables(), st.data())
def test_windows_give_the_whole(table, data):
    unit = data.draw(pieces(6))
    piece = unit * data.draw(st.integers(1, 60)) + data.draw(pieces())
    encode = PairBpe(table).encode_piece
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_pieces, "WINDOW", 1)
        assert encode_long_piece(piece, encode, table.token_bytes) == naive(table, piece)


def test_windows_that_must_step_back():
    """The pair at the end is merged first, and decides how all a's before it pair up."""
    table = table_of([("a", "b"), ("a", "a"), ("aa", "aa"), ("aaaa", "ab")])
    for length in range(100, 140):
        piece = b"a" * length + b"b"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(long_pieces, "WINDOW", 1)
            found = encode_long_piece(piece, PairBpe(table).encode_piece, table.token_bytes)
        assert found == naive(table, piece)


@settings(deadline=None, max_examples=40)
@given(
    st.text(alphabet="ab e1!'\n\u0301中🙂\xa0", min_size=1, max_size=8),
    st.integers(LONG_RUN // 2, 3 * LONG_RUN),
)
def test_long_runs_on_gpt2(unit, length):
    text = (unit * length)[:length]
    by_definition = PairBpe(TABLE)
    assert TOKENIZER.encode(text) == [
        token
        for piece in split_pieces(text)
        for token in by_definition.encode_piece(piece.encode())
    ]


@pytest.mark.parametrize("unit", ["a", " ", "\n", "!", "ab", "中", " \n", "\u3000", "7"])
def test_a_million_characters(unit):
    text = unit * (MILLION // len(unit))
    ids = TOKENIZER.encode(f"x {text} y")
    assert TOKENIZER.decode(ids) == f"x {text} y"
    middle = len(ids) // 2
    assert set(ids[middle - 99 : middle]) == set(ids[middle : middle + 99])


def test_a_million_spaces_before_a_word():
    space, word = TOKENIZER.encode(" ")[0], TOKENIZER.encode(" end")
    assert TOKENIZER.encode(" " * MILLION + " end") == [space] * MILLION + word


@settings(deadline=None)
@given(
    st.text(alphabet=st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("'sl ")))
)
def test_split_is_that_of_tiktoken(text):
    assert "".join(split_pieces(text)) == text
    parts = [TIKTOKEN.encode_piece(piece.encode()) for piece in split_pieces(text)]
    assert [token for part in parts for token in part] == TIKTOKEN.encode_text(text)


@pytest.mark.parametrize("before", ["a", "1", "!", " ", "\n", "'"])
def test_split_of_every_character(before):
    """Bytes as the only tokens would hide the split; so would words, hence GPT-2's own."""
    text = "".join(before + chr(code) for code in range(0x3100) if not 0xD800 <= code < 0xE000)
    parts = [TIKTOKEN.encode_piece(piece.encode()) for piece in split_pieces(text)]
    assert [token for part in parts for token in part] == TIKTOKEN.encode_text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it's we'll 'sun", ["it", "'s", " we", "'ll", " '", "sun"]),
        ("IT'S", ["IT", "'", "S"]),
        ("a  b", ["a", " ", " b"]),
        ("a\n\nb", ["a", "\n", "\n", "b"]),
        ("a \n ", ["a", " \n "]),
        ("x9٣ ½!?", ["x", "9٣", " ½", "!?"]),
        ("\x1c\u200b\xa0 é", ["\x1c\u200b", "\xa0", " é"]),
        ("", []),
    ],
)
def test_split(text, expected):
    assert list(split_pieces(text)) == expected


@settings(deadline=None)
@given(st.text(alphabet="x \n", max_size=30), st.integers(0, 2 * LONG_RUN), st.sampled_from("x\n"))
def test_long_runs_are_noticed(before, length, char):
    text = before + char * length + before
    if length >= LONG_RUN:
        assert has_long_run(text)
    elif length + 2 * len(before) < LONG_RUN // 2:
        assert not has_long_run(text)


def test_white_space_is_unicodes():
    assert len(set(WHITE_SPACE)) == 25
    assert all(TIKTOKEN.encode_text(char + "\n")[0] for char in WHITE_SPACE)
    assert {char for char in map(chr, range(0x110000)) if char.isspace()} - set(WHITE_SPACE) == set(
        "\x1c\x1d\x1e\x1f"
    )


def test_merge_table_of_gpt2():
    assert isinstance(TABLE, MergeTable)
    assert len(TABLE.merged) == 50000
    assert sorted([*TABLE.byte_ids, *TABLE.merged]) == list(range(50256))
