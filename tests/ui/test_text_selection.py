"""What is selected, and what is copied of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl_ui.text.painting import Tokens
from gpt2gl_ui.text.selection import Place, Selection, paragraph_at, word_at
from tests.ui.text_samples import few

MESSAGES = {"a": "first message", "b": "", "c": "third, 日本語", "d": "last"}
places = st.sampled_from(sorted(MESSAGES)).flatmap(
    lambda name: st.integers(0, len(MESSAGES[name])).map(lambda index: Place(name, index))
)


def between(anchor: Place, head: Place) -> Selection:
    made = Selection()
    made.show(sorted(MESSAGES))
    made.start(anchor)
    made.extend(head)
    return made


@few
@given(first=places, second=places)
def test_the_copy_is_the_slice_of_the_sources(first: Place, second: Place) -> None:
    low, high = sorted((first, second), key=lambda place: (place.message, place.index))
    names = [name for name in sorted(MESSAGES) if low.message <= name <= high.message]
    parts = [MESSAGES[name] for name in names]
    parts[-1] = parts[-1][: high.index]
    parts[0] = parts[0][low.index :]
    expected = "\n\n".join(part for part in parts if part)
    for ends in ((first, second), (second, first)):
        assert between(*ends).text(MESSAGES.__getitem__) == expected


def test_messages_between_are_selected_whole() -> None:
    selection = between(Place("d", 2), Place("a", 6))
    found = [selection.range_in(name, len(MESSAGES[name])) for name in sorted(MESSAGES)]
    assert found == [(6, 13), None, (0, 10), (0, 2)]


def test_nothing_is_selected_by_a_click_or_in_a_message_that_is_gone() -> None:
    assert between(Place("a", 3), Place("a", 3)).ends() is None
    selection = between(Place("a", 3), Place("c", 3))
    selection.show(["a", "b"])
    assert selection.ends() is None
    assert selection.range_in("a", 13) is None
    assert selection.text(MESSAGES.__getitem__) == ""


def test_a_message_that_got_shorter_is_selected_to_its_end() -> None:
    assert between(Place("a", 2), Place("a", 13)).range_in("a", 5) == (2, 5)


@pytest.mark.parametrize(
    ("index", "word"),
    [
        (0, "snake_case"),
        (9, "snake_case"),
        (10, "  "),
        (12, "日本語"),
        (15, "."),
        (16, "ne\u0301e"),
    ],
)
def test_word(index: int, word: str) -> None:
    source = "snake_case  日本語.ne\u0301e"
    assert source[slice(*word_at(source, index))] == word


def test_word_at_the_ends() -> None:
    assert word_at("", 0) == (0, 0)
    assert word_at("end", 3) == (0, 3)
    assert word_at("end\n", 4) == (3, 4)


@pytest.mark.parametrize(("index", "expected"), [(0, "one"), (3, "one"), (4, ""), (6, "two")])
def test_paragraph(index: int, expected: str) -> None:
    source = "one\n\ntwo"
    assert source[slice(*paragraph_at(source, index))] == expected


def test_tokens_of_characters() -> None:
    tokens = Tokens([0, 3, 3, 7], [3, 3, 6, 9], [1, 2])
    assert [tokens.at(index) for index in range(10)] == [0, 0, 0, 2, 2, 2, None, 3, 3, None]
    assert list(tokens.between(2, 8)) == [0, 1, 2, 3]
    assert list(tokens.between(3, 7)) == [2]
    assert [tokens.colour(number) for number in range(3)] == [1, 2, 0]
