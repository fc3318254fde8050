"""Sessions on real models: context windows against transformers, reuse, interruption, lifetime."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

import gpt2gl
from gpt2gl.errors import TokenizerError
from gpt2gl.gl.context import Context
from gpt2gl.gl.device import MAX_ROWS
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.sampling import Sampling
from gpt2gl.session import CHUNK, Session
from tests import models
from tests.checkpoints import write_checkpoint

GREEDY = Sampling(temperature=0)
N_POSITIONS = 1024
KEEP = 100
CLOSE = 2e-4  # logits of a few units, computed from rows by another plan

TINY = models.checkpoint(models.config(n_positions=N_POSITIONS, n_layer=1))
WINDOWS = {
    "roll": lambda tokens: tokens[-512:],
    "keep-head": lambda tokens: tokens[:KEEP] + tokens[KEEP:][-462:],
}


def tiny_session(make_module_device: Callable[..., object]) -> Session:
    return Session(GPT2.load(make_module_device(), TINY), None, "tiny")


@pytest.fixture(scope="module")
def tiny(make_module_device) -> Session:
    return tiny_session(make_module_device)


@pytest.fixture(scope="module")
def fresh_logits(make_module_device) -> Callable[[Sequence[int]], np.ndarray]:
    """Logits of a model that has no text yet."""
    model = GPT2.load(make_module_device(), TINY)
    return lambda tokens: models.encoded(model, tokens)


@pytest.fixture(scope="module")
def reference() -> Callable[[Sequence[int]], np.ndarray]:
    """Logits after the last token, by transformers."""
    model = models.in_transformers(TINY)

    def logits(tokens: Sequence[int]) -> np.ndarray:
        with torch.no_grad():
            return model(torch.tensor([list(tokens)])).logits[0, -1].numpy()

    return logits


def some_tokens(count: int, seed: int = 0) -> list[int]:
    return models.some_tokens(TINY.config, count, seed)


def generated(session: Session, prompt: Sequence[int] | str, **options: object) -> list[int]:
    settings = gpt2gl.Generation(**{"sampling": GREEDY, **options})
    return [e.id for e in session.generate(prompt, settings) if isinstance(e, gpt2gl.Token)]


# Context ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", WINDOWS)
@pytest.mark.parametrize("length", [1022, 1023, 1024, 1025, 1026, 2600])
def test_windows_against_transformers(tiny, reference, length, policy):
    text = some_tokens(length)
    window, trims, count = list(text), 0, 4
    options = gpt2gl.Generation(GREEDY, count, context_policy=policy, keep=KEEP)
    for event in tiny.generate(text, options):
        if isinstance(event, gpt2gl.Trimmed):
            trims += 1
        if isinstance(event, gpt2gl.Token):
            if len(window) > N_POSITIONS:
                window = WINDOWS[policy](window)
            logits = tiny.model.logits()
            np.testing.assert_allclose(logits, reference(window), atol=1e-3)
            assert event.id == logits.argmax()
            window.append(event.id)
    assert trims == int(length + count - 1 > N_POSITIONS)
    assert event.new_tokens == count


@pytest.mark.parametrize("length", [1022, 1024])
def test_stop_uses_every_position(tiny, length):
    *_, end = tiny.generate(some_tokens(length), gpt2gl.Generation(GREEDY, 9))
    assert (end.reason, end.new_tokens) == ("context", N_POSITIONS + 1 - length)


def test_a_window_is_encoded_in_bounded_steps(tiny, monkeypatch):
    """A twentieth of the work allowed in a step makes many more steps, and the same text."""
    options = gpt2gl.Generation(GREEDY, 1, context_policy="roll")
    steps, tokens = [], []
    for budget in (1_000_000, 2_000):
        tiny.logits([30])
        monkeypatch.setattr(tiny.model.device, "fetches_per_draw", budget)
        events = list(tiny.generate(some_tokens(2000), options))
        steps.append(sum(isinstance(event, gpt2gl.Working) for event in events))
        tokens.append([event.id for event in events if isinstance(event, gpt2gl.Token)])
    assert steps[1] > 2 * steps[0] > 8
    assert tokens[0] == tokens[1]


# Reuse ------------------------------------------------------------------------------------------

BASE = some_tokens(300)
# Name -> the text that follows BASE in the same session, and how many tokens they have in common.
CHANGES = {
    "longer": (BASE + some_tokens(9, seed=1), 300),
    "one more": ([*BASE, 3], 300),
    "shorter": (BASE[:200], 200),
    "the same": (BASE, 300),
    "edited": ([*BASE[:250], (BASE[250] + 1) % 31, *BASE[251:]], 250),
    "branched": (BASE[:100] + some_tokens(90, seed=2), 100),
    "another": ([(BASE[0] + 1) % 31, *some_tokens(20, seed=3)], 0),
}


@pytest.fixture
def rows_encoded(tiny, monkeypatch) -> list[int]:
    """Rows of each forward pass from here on."""
    rows: list[int] = []
    set_step = tiny.model.device.set_step

    def counting(step, tokens):
        rows.append(step.n_rows)
        set_step(step, tokens)

    monkeypatch.setattr(tiny.model.device, "set_step", counting)
    return rows


@pytest.mark.parametrize(("text", "common"), CHANGES.values(), ids=CHANGES)
def test_only_what_differs_is_encoded(tiny, fresh_logits, rows_encoded, text, common):
    tiny.logits(BASE)
    rows_encoded.clear()
    np.testing.assert_allclose(tiny.logits(text), fresh_logits(text), atol=CLOSE)
    # At least the last token; at most the rest of a group of rows that are written together.
    group = tiny.model.device.limits.rows_per_fragment
    new = max(1, len(text) - common)
    assert new <= sum(rows_encoded) < new + group


def test_answers_do_not_depend_on_what_was_there_before(tiny, make_module_device):
    plain = {name: text for name, (text, _) in CHANGES.items()}
    with tiny_session(make_module_device) as other:
        fresh = {}
        for name, text in plain.items():
            other.logits([30])  # nothing in common with any of them
            fresh[name] = generated(other, text, max_tokens=5)
    for name, text in plain.items():
        generated(tiny, BASE, max_tokens=3)
        assert generated(tiny, text, max_tokens=5) == fresh[name], name


def test_a_token_at_a_time_is_encoded_while_generating(tiny, rows_encoded):
    generated(tiny, BASE, max_tokens=6)
    rows_encoded.clear()
    generated(tiny, [*BASE, 3], max_tokens=6)
    assert rows_encoded == [1] * 6


def test_keep_head_reuses_the_head(tiny, rows_encoded):
    text = some_tokens(N_POSITIONS)
    tiny.logits(text)
    rows_encoded.clear()
    assert len(generated(tiny, text, max_tokens=2, context_policy="keep-head", keep=KEEP)) == 2
    group = tiny.model.device.limits.rows_per_fragment
    # What is whole in the cache is read again from its last group on.
    assert sum(rows_encoded) <= group + 462 + group


def test_chunks_are_one_pass_of_the_model():
    assert CHUNK == MAX_ROWS


# Interruption -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_interrupted_at_any_step_the_session_stays_right(tiny, fresh_logits, seed):
    chance = random.Random(seed)
    for _ in range(3):
        common = BASE[: chance.randrange(1, 300)]
        prompt = common + some_tokens(chance.randrange(1, 150), seed=chance.randrange(99))
        events = tiny.generate(prompt, gpt2gl.Generation(GREEDY, 6))
        for _ in itertools.islice(events, chance.randrange(0, 120)):
            pass
        if chance.random() < 0.5:
            tiny.cancel()
            rest = list(events)
            assert not rest or rest[-1].reason in ("cancelled", "length")
        events.close()
    text = BASE[: chance.randrange(1, 300)] + some_tokens(4, seed=seed)
    np.testing.assert_allclose(tiny.logits(text), fresh_logits(text), atol=CLOSE)


def test_scores_and_traces_do_not_spoil_the_next_text(tiny, fresh_logits):
    other = some_tokens(200, seed=4)
    tiny.logits(BASE)
    rows = np.concatenate(list(tiny.row_logits(other)))
    assert rows.shape == (200, 31)
    np.testing.assert_allclose(tiny.logits(BASE), fresh_logits(BASE), atol=CLOSE)
    traced = tiny.trace(other)
    np.testing.assert_allclose(traced["logits"], rows, atol=CLOSE)
    np.testing.assert_allclose(tiny.logits(BASE), fresh_logits(BASE), atol=CLOSE)


# The embedded model -----------------------------------------------------------------------------

PROMPT = "Once upon a time there was a king"


@pytest.fixture(scope="module")
def story(context: Context) -> Iterator[Session]:
    with gpt2gl.load() as session:
        yield session


@pytest.mark.usefixtures("make_module_device")
def test_the_same_prompt_gives_the_same_bits_whatever_the_cache_holds(story):
    tokens = story.prompt_tokens(PROMPT)
    first = story.logits(tokens)
    again = story.logits(tokens)
    story.logits(tokens[:1])
    afresh = story.logits(tokens)
    assert first.tobytes() == again.tobytes() == afresh.tobytes()


@pytest.mark.usefixtures("make_module_device")
def test_the_same_seed_gives_the_same_text(story):
    first, again, other = (
        generated(story, PROMPT, sampling=Sampling(seed=seed), max_tokens=16) for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other


@pytest.mark.usefixtures("make_module_device")
def test_two_models_side_by_side_give_the_same_greedy_text(story):
    """Step by step in turn on one context: fp32, and fp32 in the plain layout."""
    options = gpt2gl.Generation(GREEDY, 40)
    with gpt2gl.load(precision="fp32-plain") as plain:
        runs = [session.generate(PROMPT, options) for session in (story, plain)]
        turns = list(itertools.zip_longest(*runs))
    both = [
        [event.id for event in events if isinstance(event, gpt2gl.Token)]
        for events in zip(*turns, strict=True)
    ]
    assert both[0] == both[1] == generated(story, PROMPT, max_tokens=40)
    assert len(both[0]) == 40


# Lifetime ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("context")
def test_close_frees_everything():
    """The check for leaks is the one around every test with a context."""
    with gpt2gl.load() as first, gpt2gl.load() as second:
        ids = [generated(session, "Once", max_tokens=2) for session in (first, second)]
        assert ids[0] == ids[1]
        first.close()
        first.close()
        assert not any(first.model.device.counts().values())
        assert generated(second, "Once", max_tokens=2) == ids[0]


def damaged(folder: Path) -> Path:
    write_checkpoint(folder)
    (folder / "tokenizer.json").write_text("{")
    return folder


@pytest.mark.usefixtures("context")
def test_a_load_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        gpt2gl.load(str(damaged(tmp_path)))
    with pytest.raises(RuntimeError, match="given up"):
        gpt2gl.load(progress=_give_up)


def _give_up(fraction: float) -> None:
    raise RuntimeError("given up")


@pytest.mark.usefixtures("context")
def test_a_folder_without_a_tokenizer_takes_token_ids(tmp_path):
    with gpt2gl.load(str(write_checkpoint(tmp_path))) as session:
        assert len(generated(session, [1, 2], max_tokens=3)) == 3
        with pytest.raises(TokenizerError, match=r"has no tokenizer: add tokenizer\.json"):
            session.generate("text")
