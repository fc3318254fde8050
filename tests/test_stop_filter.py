"""Stop texts in a stream, against a search of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl.stop_filter import StopFilter

# Few letters, so that stop texts occur, overlap and almost occur.
texts = st.text("ab", max_size=12)
stop_texts = st.lists(st.text("ab", min_size=1, max_size=4), max_size=3)


def before_the_stop(text: str, stops: list[str]) -> str:
    """What precedes the stop text that is complete first, of several the longest."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return text[: end - max(map(len, ending))]
    return text


def shown(pieces: list[str], stops: list[str]) -> tuple[list[str], StopFilter]:
    stop_filter = StopFilter(stops)
    return [stop_filter.push(piece) for piece in pieces] + [stop_filter.flush()], stop_filter


@given(st.lists(texts, max_size=6), stop_texts)
def test_shown_is_what_precedes_the_stop_however_the_text_is_cut(pieces, stops):
    parts, stop_filter = shown(pieces, stops)
    expected = before_the_stop("".join(pieces), stops)
    assert "".join(parts) == expected
    assert stop_filter.hit == any(stop in "".join(pieces) for stop in stops)


@given(texts, stop_texts)
def test_nothing_of_a_stop_text_is_shown_before_it_is_known_to_be_none(text, stops):
    stop_filter = StopFilter(stops)
    given_out = ""
    for i, char in enumerate(text):
        given_out += stop_filter.push(char)
        # Whatever comes next, it cannot take back what was shown.
        for stop in stops:
            assert before_the_stop(text[: i + 1] + stop, stops).startswith(given_out)


@given(texts, stop_texts)
def test_no_more_is_held_than_could_become_a_stop_text(text, stops):
    stop_filter = StopFilter(stops)
    given_out = stop_filter.push(text)
    held = text[len(given_out) :]
    if not stop_filter.hit:
        assert not held or any(stop.startswith(held) and stop != held for stop in stops)


def test_without_stop_texts_everything_passes_at_once():
    assert shown(["a", "", "bc"], [])[0] == ["a", "", "bc", ""]


@pytest.mark.parametrize(
    ("pieces", "stops", "parts"),
    [
        (["one\n", "\ntwo"], ["\n\n"], ["one", "", ""]),
        (["one\n", "two"], ["\n\n"], ["one", "\ntwo", ""]),
        (["one\n"], ["\n\n"], ["one", "\n"]),
        (["a stop b", "stop"], ["stop"], ["a ", "", ""]),
        (["abc"], ["abc", "b"], ["a", ""]),
        (["xabc"], ["c", "abc"], ["x", ""]),
    ],
)
def test_what_is_shown_when(pieces, stops, parts):
    assert shown(pieces, stops)[0] == parts
