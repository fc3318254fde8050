"""Events of a generation on a model that predicts a script: exact, and without a GPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from gpt2gl.config import ModelConfig
from gpt2gl.errors import ContextLengthError, Gpt2glError, OptionError, TokenizerError
from gpt2gl.generation import Finished, Generation, Token, Trimmed, Working
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.resources import embedded_models
from gpt2gl.sampling import Sampling
from gpt2gl.session import CHUNK, Session
from gpt2gl.tokenizer import Tokenizer

STEPS = 3
EOS = 0
GREEDY = Sampling(temperature=0)
FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}"


class Scripted:
    """Stands in for the model: each call of `logits` predicts the next token of a script, at the
    end of it end-of-text. `calls` holds what was encoded: (tokens, how many were valid)."""

    check_tokens = GPT2.check_tokens

    def __init__(self, script: Sequence[int], **config: object) -> None:
        sizes = {"vocab_size": 8192, "n_positions": 1024, "n_embd": 4, "n_layer": 1, "n_head": 1}
        self.config = ModelConfig(**{**sizes, "eos_token_ids": (EOS,), **config})
        self.script = iter(script)
        self.calls: list[tuple[list[int], int]] = []
        self.steps = 0
        self.device = SimpleNamespace(take=lambda: None)
        self.closed = 0

    def encode(self, tokens: Sequence[int], n_valid: int) -> Iterator[None]:
        self.check_tokens(tokens)
        self.calls.append((list(tokens), n_valid))
        for _ in range(STEPS):
            self.steps += 1
            yield

    def logits(self) -> np.ndarray:
        logits = np.zeros(self.config.vocab_size, np.float32)
        logits[next(self.script, EOS)] = 20.0
        return logits

    def row_logits(self, tokens: Sequence[int]) -> Iterator[np.ndarray]:
        yield from ([self.logits()] for _ in tokens)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_directory(embedded_models()["storyteller"])


def session_of(
    script: Sequence[int], tokenizer: Tokenizer | None = None, **config: object
) -> Session:
    return Session(Scripted(script, **config), tokenizer, "scripted")


def run(session: Session, prompt: str | Sequence[int] = (5,), **options: object):
    """Pieces of text given out, and the end."""
    *events, end = session.generate(prompt, Generation(**{"sampling": GREEDY, **options}))
    assert isinstance(end, Finished)
    assert not any(isinstance(event, Finished) for event in events)
    return [event.text for event in events if isinstance(event, Token)] + [end.text], end


# Why it ends ------------------------------------------------------------------------------------


def test_end_of_text_is_not_given_out(tokenizer):
    ids = tokenizer.encode("Once more")
    pieces, end = run(session_of(ids, tokenizer))
    assert "".join(pieces) == "Once more"
    assert (end.reason, end.new_tokens, end.prompt_tokens) == ("stop", len(ids), 1)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_length(tokenizer, count):
    pieces, end = run(session_of([7] * 9, tokenizer), max_tokens=count)
    assert "".join(pieces) == tokenizer.decode([7] * count)
    assert (end.reason, end.new_tokens) == ("length", count)


def test_nothing_is_encoded_for_no_tokens():
    session = session_of([7])
    run(session, max_tokens=0)
    assert session.model.calls == []


STOPS = [
    ("A tale. THE END of it", ["THE END"], "A tale. "),
    ("A tale. THE EN", ["THE END"], "A tale. THE EN"),
    ("one\n\ntwo", ["\n\n"], "one"),
    ("abracadabra", ["cad", "zz", "dab"], "abra"),
    (f"so {FAMILY}!", ["\N{WOMAN}"], "so \N{MAN}\N{ZERO WIDTH JOINER}"),
    ("stop", ["stop"], ""),
]


@pytest.mark.parametrize(("text", "stops", "shown"), STOPS)
def test_stop_texts(tokenizer, text, stops, shown):
    pieces, end = run(session_of(tokenizer.encode(text), tokenizer), stop=tuple(stops))
    assert "".join(pieces) == shown
    assert end.reason == "stop"


def test_no_token_is_made_after_a_stop_text(tokenizer):
    ids = tokenizer.encode("a STOP b c d e f g")
    session = session_of(ids, tokenizer)
    _, end = run(session, stop=("STOP",))
    assert end.new_tokens == len(tokenizer.encode("a STOP"))
    assert len(session.model.calls) == end.new_tokens


def test_a_stop_text_that_the_last_flush_completes(tokenizer):
    half = tokenizer.encode(FAMILY)[:1]
    stop = ("\N{REPLACEMENT CHARACTER}",)
    pieces, end = run(session_of(half, tokenizer), stop=stop, max_tokens=1)
    assert ("".join(pieces), end.reason) == ("", "stop")


def test_characters_are_whole_and_half_ones_come_last(tokenizer):
    text = f"né {FAMILY} 漢字"
    ids = tokenizer.encode(text)
    assert len(ids) > len(text)
    pieces, _ = run(session_of(ids, tokenizer))
    assert "".join(pieces) == text
    cut, end = run(session_of(ids, tokenizer), max_tokens=len(ids) - 1)
    assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in cut[:-1])
    assert end.text == "\N{REPLACEMENT CHARACTER}"


def test_context(tokenizer):
    session = session_of([7] * 99, tokenizer, n_positions=8)
    _, end = run(session, [5] * 6)
    # The eighth position predicts a ninth token, which is the last.
    assert (end.reason, end.new_tokens) == ("context", 3)


def test_all_that_was_asked_for_is_length_even_if_the_context_is_full():
    _, end = run(session_of([7] * 99, n_positions=8), [5] * 6, max_tokens=3)
    assert end.reason == "length"


def test_time(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("gpt2gl.run.time.perf_counter", lambda: float(next(clock)))
    session = session_of([7] * 99)
    _, end = run(session, time_limit=20.0)
    assert end.reason == "time"
    assert 0 < end.new_tokens < 20


@pytest.mark.parametrize("at", [1, 2, STEPS, STEPS + 1, 4 * STEPS + 2])
def test_cancelled_from_another_thread_within_one_step(at):
    session = session_of([7] * 99)
    model, end = session.model, None
    for event in session.generate([5], Generation(sampling=GREEDY)):
        end = event
        if isinstance(event, Working) and model.steps == at:
            thread = threading.Thread(target=session.cancel)
            thread.start()
            thread.join()
    assert isinstance(end, Finished)
    assert end.reason == "cancelled"
    assert model.steps == at
    assert end.new_tokens == (at - 1) // STEPS


def test_cancel_does_nothing_to_a_later_generation():
    session = session_of([7] * 9)
    session.cancel()
    assert run(session, max_tokens=2)[1].reason == "length"


def test_every_end_of_text_waits_for_min_new_tokens():
    session = session_of([9, 9, 9, 9, 9], eos_token_ids=(EOS, 9))
    _, end = run(session, sampling=Sampling(temperature=0, min_new_tokens=3))
    assert (end.reason, end.new_tokens) == ("stop", 3)


# Windows and progress ---------------------------------------------------------------------------


def test_a_prompt_that_is_too_long_is_refused_at_the_call():
    session = session_of([7], n_positions=8)
    with pytest.raises(ContextLengthError, match="has 9 tokens and the model's context holds 8"):
        session.generate([5] * 9)


@pytest.mark.parametrize(
    ("policy", "window"), [("roll", [16, 17, 18, 19]), ("keep-head", [0, 1, 17, 18, 19])]
)
def test_a_prompt_that_is_too_long_is_trimmed(policy, window):
    session = session_of([7] * 99, n_positions=8, eos_token_ids=())
    options = Generation(GREEDY, 1, context_policy=policy, keep=2)
    first, *_ = session.generate(range(20), options)
    assert first == Trimmed(20 - len(window), len(window))
    assert session.model.calls == [(window, 0)]


def test_far_beyond_the_context():
    session = session_of([7] * 999, n_positions=8)
    options = Generation(GREEDY, 100, context_policy="roll")
    events = list(session.generate([5], options))
    trims = [event for event in events if isinstance(event, Trimmed)]
    assert (events[-1].reason, events[-1].new_tokens) == ("length", 100)
    assert trims == [Trimmed(5, 4)] * (1 + (100 - 9) // 5)
    assert max(len(tokens) for tokens, _ in session.model.calls) == 8


def test_work_is_reported_by_chunks():
    session = session_of([7] * 9)
    options = Generation(sampling=GREEDY, max_tokens=1)
    steps = [event for event in session.generate([5] * 300, options) if isinstance(event, Working)]
    expected = [done for done in (0, CHUNK, 2 * CHUNK) for _ in range(STEPS)]
    assert [step.done for step in steps] == expected
    assert {step.total for step in steps} == {300}


def test_an_interrupted_prompt_does_not_start_over():
    session = session_of([7] * 9)
    events = session.generate([5] * 300)
    for _ in range(STEPS + 1):
        next(events)
    events.close()
    assert session.n_encoded == CHUNK
    session.model.calls.clear()
    session.logits([5] * 300)
    assert [n_valid for _, n_valid in session.model.calls] == [CHUNK, 2 * CHUNK]


# Misuse -----------------------------------------------------------------------------------------


def test_an_empty_prompt_starts_from_end_of_text(tokenizer):
    assert session_of([], tokenizer).prompt_tokens("") == [tokenizer.eos_id]
    assert session_of([], eos_token_ids=(9,)).prompt_tokens([]) == [9]
    assert session_of([], eos_token_ids=(9,), bos_token_id=8).prompt_tokens([]) == [8]
    with pytest.raises(TokenizerError, match="no end-of-text token to start from: give a prompt"):
        session_of([], eos_token_ids=()).generate([])


def test_text_needs_a_tokenizer():
    with pytest.raises(TokenizerError, match="scripted has no tokenizer: add"):
        session_of([]).generate("text")
    with pytest.raises(OptionError, match="--stop is text and scripted has no tokenizer"):
        session_of([]).generate([5], Generation(stop=("a",)))


@pytest.mark.parametrize("tokens", [[8192], [-1], [5] * 1000 + [9999]])
def test_a_prompt_of_unknown_tokens_is_refused_at_the_call(tokens):
    with pytest.raises(OptionError, match=f"token {tokens[-1]} is outside the vocabulary of 8192"):
        session_of([]).generate(tokens, Generation(context_policy="roll"))


def test_an_option_with_an_unknown_token_is_refused_at_the_call(tokenizer):
    sampling = Sampling(logit_bias={8192: 1.0})
    with pytest.raises(OptionError, match=r"--logit-bias names token 8192; allowed: .* 0 to 8191"):
        session_of([], tokenizer).generate([5], Generation(sampling=sampling))


USES = {
    "generate": lambda session: session.generate([5]),
    "logits": lambda session: session.logits([5]),
    "row_logits": lambda session: list(session.row_logits([5])),
    "trace": lambda session: session.trace([5]),
    "encode_steps": lambda session: list(session.encode_steps([5])),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_closed_session_says_so(use):
    session = session_of([7])
    session.close()
    session.close()
    with pytest.raises(Gpt2glError, match="scripted is closed: load it again"):
        use(session)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_another_thread_is_told_so(use):
    session, told = session_of([7]), []

    def elsewhere() -> None:
        with pytest.raises(Gpt2glError, match="another thread than the one it was loaded in"):
            use(session)
        told.append(True)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert told == [True]


def test_a_generation_that_outlives_its_session_is_told_so():
    with session_of([7] * 9) as session:
        events = session.generate([5])
        next(events)
    with pytest.raises(Gpt2glError, match="closed"):
        next(events)


def test_a_generation_that_another_text_interrupted_is_told_so():
    session = session_of([7] * 9)
    events = session.generate([5, 6])
    next(events)
    session.logits([8])
    with pytest.raises(Gpt2glError, match="has begun another text before this one was encoded"):
        list(events)
    assert session.n_encoded == 1


def test_generations_may_take_turns_between_tokens():
    session = session_of([7, 8] * 9)
    first, second = (session.generate([start], Generation(GREEDY, 3)) for start in (5, 6))
    for event in first:
        if isinstance(event, Token):
            assert next(e for e in second if not isinstance(e, Working))
    texts = [tokens for tokens, _ in session.model.calls]
    assert texts == [[5], [6], [5, 7], [6, 8], [5, 7, 7], [6, 8, 8]]


def test_scores_do_not_leave_a_cache_that_is_half_another_text():
    session = session_of([7] * 99)
    rows = session.row_logits([5, 6])
    next(rows)
    session.logits([8])
    with pytest.raises(Gpt2glError, match="has begun another text"):
        next(rows)
