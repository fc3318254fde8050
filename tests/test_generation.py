"""Options of a generation: ranges, options that name text, and what a full context keeps."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl.errors import ContextLengthError, OptionError
from gpt2gl.generation import (
    CONTEXT_POLICIES,
    Finished,
    Generation,
    banned_sequences,
    token_bias,
)
from gpt2gl.sampling import Sampling

REFUSED = [
    ({"max_tokens": -1}, "--max-tokens is -1; allowed: a whole number of 0 or more"),
    ({"max_tokens": 1.5}, "--max-tokens is 1.5; allowed: a whole number of 0 or more"),
    ({"max_tokens": True}, "--max-tokens is True; allowed: a whole number of 0 or more"),
    ({"keep": -1}, "--keep is -1; allowed: a whole number of 0 or more"),
    ({"time_limit": 0}, "--time-limit is 0; allowed: a number above 0, at most 1000000, or none"),
    (
        {"time_limit": float("nan")},
        "--time-limit is nan; allowed: a number above 0, at most 1000000, or none",
    ),
    ({"stop": ("a", "")}, "--stop is ''; allowed: texts that are not empty"),
    ({"stop": "abc"}, "--stop is 'abc'; allowed: texts that are not empty"),
    ({"stop": (5,)}, "--stop is 5; allowed: texts that are not empty"),
    ({"stop": None}, "--stop is None; allowed: texts that are not empty"),
    ({"context_policy": "x"}, "--context-policy is 'x'; allowed: stop | roll | keep-head"),
    ({"sampling": Sampling(top_p=0)}, "--top-p is 0.0; allowed: a number above 0, at most 1"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused_values(options, message):
    with pytest.raises(OptionError) as caught:
        Generation(**options)
    assert str(caught.value) == message


def test_accepted_edges():
    edges = Generation(max_tokens=0, keep=0, time_limit=1e-3, stop=["a", "b"])
    assert edges.stop == ("a", "b")
    assert dataclasses.replace(edges, stop=()).max_tokens == 0
    assert Generation() == Generation(time_limit=None, context_policy="stop")


def letters(text: str) -> list[int]:
    """A tokenizer in which every character is a token."""
    return [ord(char) for char in text]


def test_banned_words_with_and_without_a_space_before():
    assert banned_sequences(["ab"], letters) == ((97, 98), (32, 97, 98))
    assert banned_sequences([" ab", "ab"], letters) == ((97, 98), (32, 97, 98))
    assert banned_sequences([" "], letters) == ((32,),)
    assert banned_sequences([], letters) == ()


def test_banned_words_are_not_empty():
    with pytest.raises(OptionError, match="--banned is ''; allowed: texts that are not empty"):
        banned_sequences(["a", ""], letters)


def test_bias_by_id_and_by_text():
    assert token_bias([(5, 1.0), ("a", -2.0), (97, 3.0)], letters) == {5: 1.0, 97: 3.0}


@pytest.mark.parametrize(("text", "shown"), [("ab", "'ab', which is 2 tokens (97, 98)")])
def test_bias_needs_one_token(text, shown):
    with pytest.raises(OptionError) as caught:
        token_bias([(text, 1.0)], letters)
    assert shown in str(caught.value)


sizes = st.tuples(st.integers(1, 40), st.integers(1, 60), st.integers(0, 50))


@given(sizes)
def test_roll_keeps_the_newest_half(size):
    n_positions, excess, keep = size
    tokens = list(range(n_positions + excess))
    kept = CONTEXT_POLICIES["roll"](tokens, n_positions, keep)
    assert kept == tokens[len(tokens) - max(1, n_positions // 2) :]


@given(sizes)
def test_keep_head_keeps_the_head_and_the_newest_half_of_the_rest(size):
    n_positions, excess, keep = size
    tokens = list(range(n_positions + excess))
    kept = CONTEXT_POLICIES["keep-head"](tokens, n_positions, keep)
    n_head = min(keep, n_positions // 2)
    n_tail = max(1, (n_positions - n_head) // 2)
    assert kept == tokens[:n_head] + tokens[len(tokens) - n_tail :]
    assert len(kept) <= n_positions


def test_stop_refuses():
    with pytest.raises(ContextLengthError, match="has 9 tokens and the model's context holds 8"):
        CONTEXT_POLICIES["stop"](list(range(9)), 8, 0)


def test_speed_leaves_out_the_prompt():
    end = Finished("length", "", 5, 11, 1, first_token_seconds=2.0, seconds=4.0)
    assert end.tokens_per_second == 5.0
    assert dataclasses.replace(end, new_tokens=1).tokens_per_second == 0.0
    assert dataclasses.replace(end, first_token_seconds=None).tokens_per_second == 0.0
