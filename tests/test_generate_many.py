"""Several continuations of one prompt, as the session and the command line make them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import gpt2gl
from gpt2gl.cli import run
from gpt2gl.errors import Gpt2glError, OptionError
from gpt2gl.generation import Event, Finished, Generation, Token
from gpt2gl.sampling import Sampling
from gpt2gl.session import Session

PROMPT = "Once upon a time there was"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with gpt2gl.load("storyteller") as loaded:
        yield loaded


def options(seed: int = 5, **changes: object) -> Generation:
    sampling = Sampling(seed=seed, temperature=0.8, top_k=40, top_p=0.95)
    return Generation(sampling=sampling, **{"max_tokens": 12, **changes})


def collected(
    events: Iterator[tuple[int, Event]], n: int
) -> tuple[list[list[int]], list[Finished]]:
    tokens: list[list[int]] = [[] for _ in range(n)]
    ends: dict[int, Finished] = {}
    for row, event in events:
        assert row not in ends, "an event after the end of its row"
        if isinstance(event, Token):
            tokens[row].append(event.id)
        if isinstance(event, Finished):
            ends[row] = event
    return tokens, [ends[row] for row in range(n)]


def alone(session: Session, wanted: Generation) -> tuple[list[int], Finished]:
    events = list(session.generate(PROMPT, wanted))
    return [e.id for e in events if isinstance(e, Token)], events[-1]


@pytest.mark.parametrize("n", [1, 3, 9])
def test_rows_equal_single_runs(session: Session, n: int) -> None:
    """More rows than a batch holds are made in several batches."""
    tokens, ends = collected(session.generate_many(PROMPT, n, options()), n)
    for row in {0, 1, n - 1} & set(range(n)):
        expected, end = alone(session, options(5 + row))
        assert tokens[row] == expected
        assert (ends[row].reason, ends[row].seed) == (end.reason, 5 + row)
        assert ends[row].new_tokens == len(expected)


def test_rows_end_by_themselves(session: Session) -> None:
    """A stop text ends one row and not the others."""
    texts = [
        "".join(e.text for e in session.generate(PROMPT, options(5 + row)) if isinstance(e, Token))
        for row in range(2)
    ]
    word = next(w for w in texts[0].split() if w not in texts[1])
    _, ends = collected(session.generate_many(PROMPT, 2, options(stop=(word,))), 2)
    assert [end.reason for end in ends] == ["stop", "length"]


def test_no_tokens(session: Session) -> None:
    tokens, ends = collected(session.generate_many(PROMPT, 2, options(max_tokens=0)), 2)
    assert tokens == [[], []]
    assert {end.reason for end in ends} == {"length"}


def test_the_end_of_the_context(session: Session) -> None:
    prompt = session.tokenizer.encode(PROMPT)
    prompt = (prompt * 400)[: session.model.config.n_positions - 2]
    tokens, ends = collected(session.generate_many(prompt, 2, options(max_tokens=9)), 2)
    assert {end.reason for end in ends} == {"context"}
    assert [len(row) for row in tokens] == [3, 3]


def test_cancelling(session: Session) -> None:
    ends = []
    for row, event in session.generate_many(PROMPT, 3, options()):
        if row == 1 and isinstance(event, Token):
            session.cancel()
        if isinstance(event, Finished):
            ends.append(event)
    assert [end.reason for end in ends] == ["cancelled"] * 3


def test_another_text_in_between(session: Session) -> None:
    """The prompt's cache is shared: whoever replaces it ends the batch with an error."""
    events = session.generate_many(PROMPT, 2, options())
    while not isinstance(next(events)[1], Token):
        pass
    session.logits([1, 2, 3])
    with pytest.raises(Gpt2glError, match="begun another text"):
        list(events)


@pytest.mark.parametrize(("n", "changes"), [(0, {}), (-1, {}), (2, {"context_policy": "roll"})])
def test_what_is_refused(session: Session, n: int, changes: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="--num"):
        session.generate_many(PROMPT, n, options(**changes))


def test_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["generate", PROMPT, "--num", "2", "--max-tokens", "4", "--seed", "5"]
    assert run(arguments) == 0
    shown = capfd.readouterr()
    assert shown.out.count(PROMPT) == 2
    assert "--- 2 of 2, seed 6" in shown.out
    assert "8 tokens in 2 texts" in shown.err
    assert run([*arguments, "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert [row["seed"] for row in report["continuations"]] == [5, 6]
    assert all(f"{PROMPT}{row['text']}" in shown.out for row in report["continuations"])


def test_command_line_refuses(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", PROMPT, "--num", "0"]) == 2
    assert "--num is 0" in capfd.readouterr().err
