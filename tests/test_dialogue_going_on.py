"""Answers to turns as they are, and answers that go on."""

from __future__ import annotations

import pytest

from gpt2gl.errors import OptionError
from gpt2gl.generation import Trimmed
from gpt2gl.templates import ASSISTANT, USER, Completion, Template, Transcript, Turn
from tests.dialogues import dialogue, said, texts


def test_an_answer_to_given_turns() -> None:
    talk, session = dialogue("two")
    talk.turns = [Turn(USER, "a"), Turn(ASSISTANT, "one"), Turn(USER, "b")]
    assert said(talk.answer()) == "two"
    assert session.prompts == [[*b"a", 0, *b"one", 0, *b"b", 0]]
    assert texts(talk) == ["a", "one", "b", "two"]


@pytest.mark.parametrize(
    ("template", "prompt"),
    [
        (None, [*b"a", 0, *b"one"]),
        (Transcript("A", "B"), [*b"A: a\nB: one"]),
        (Completion(), [*b"aone"]),
    ],
)
def test_more_of_an_answer(template: Template | None, prompt: list[int]) -> None:
    talk, session = dialogue(" two", template=template)
    talk.turns = [Turn(USER, "a"), Turn(ASSISTANT, "one")]
    # White space in the middle of an answer is the answer's.
    assert said(talk.go_on()) == " two"
    assert session.prompts == [prompt]
    assert texts(talk) == ["a", "one two"]


def test_more_of_an_answer_of_no_text_is_an_answer() -> None:
    talk, session = dialogue("x", template=Transcript("A", "B"))
    talk.turns = [Turn(USER, "a"), Turn(ASSISTANT, "")]
    said(talk.go_on())
    assert session.prompts == [[*b"A: a\nB:"]]


def test_only_answers_go_on() -> None:
    talk, _ = dialogue("x")
    for turns in ([], [Turn(USER, "a")]):
        talk.turns = list(turns)
        with pytest.raises(OptionError, match="no answer to continue"):
            list(talk.go_on())
        assert talk.turns == turns


def test_an_answer_keeps_what_came_when_it_is_given_up() -> None:
    talk, _ = dialogue("long")
    talk.turns = [Turn(USER, "a"), Turn(ASSISTANT, "one ")]
    events = talk.go_on()
    next(events)
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert texts(talk) == ["a", "one lo"]


def test_a_long_dialogue_says_what_an_answer_does_not_see() -> None:
    talk, session = dialogue("x", "y")
    talk.turns = [Turn(USER, "a" * 30), Turn(ASSISTANT, "b" * 8), Turn(USER, "c")]
    first = next(iter(talk.answer()))
    assert first == Trimmed(30 + 8 + 2, 2)
    assert len(talk.turns) == 3
    talk.turns = [Turn(USER, "d")]
    assert said(talk.answer()) == "x"
    assert session.prompts[-1] == [*b"d", 0]
