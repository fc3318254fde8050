"""What a `Sampler` promises: draws, seeds, the reported numbers, and clear refusals."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl.errors import DeviceError, OptionError
from gpt2gl.sampling import SAMPLERS, Sampler, Sampling, State, top_alternatives
from gpt2gl.sampling.warpers import WARPERS

LARGEST = float(np.finfo(np.float32).max)
WARPED = [{"top_k": 3}, {"top_p": 0.6}, {"min_p": 0.2}, {"typical_p": 0.5}, {"temperature": 0.0}]
EVERYTHING = {
    "temperature": 0.7,
    "top_k": 5,
    "top_p": 0.9,
    "min_p": 0.01,
    "typical_p": 0.95,
    "repetition_penalty": 1.3,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.25,
    "no_repeat_ngram": 2,
    "logit_bias": {1: 2.0, 3: -2.0},
    "banned": ((4,), (1, 2)),
    "min_new_tokens": 4,
}


def make(vocab_size, eos_id=None, n_valid=None, seed=0, **options):
    return Sampler(Sampling(seed=seed, **options), vocab_size, eos_id, n_valid)


def random_logits(size, seed=0, scale=3.0):
    return np.random.default_rng(seed).normal(0, scale, size).astype(np.float32)


def run(sampler, logits, count=50):
    return [sampler.sample(logits, [0], 1).token for _ in range(count)]


def support(sampler, logits, context=(0,), n_prompt=1):
    return set(sampler.distribution(logits, context, n_prompt)[0].tolist())


def softmax64(logits):
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


@st.composite
def logits_with_ties(draw):
    """1 to 40 logits, often equal, some of them -inf but never all."""
    halves = draw(st.lists(st.integers(-12, 12), min_size=1, max_size=40))
    logits = np.array(halves, dtype=np.float32) / 2
    excluded = draw(st.sets(st.integers(0, len(halves) - 1), max_size=len(halves) - 1))
    logits[list(excluded)] = -np.inf
    return logits


# --- drawing


@pytest.mark.parametrize("options", [{}, *WARPED, EVERYTHING])
def test_frequencies_equal_the_distribution(options):
    logits, count = random_logits(9, scale=1.5), 2000
    sampler = make(9, **options)
    context = [1, 5, 1]
    drawn = [sampler.sample(logits, context, 1).token for _ in range(count)]
    expected = np.zeros(9)
    ids, probs = sampler.distribution(logits, context, 1)
    expected[ids] = probs
    deviation = np.sqrt(count * expected * (1 - expected))
    error = np.abs(np.bincount(drawn, minlength=9) - count * expected)
    assert np.all(error <= 4.5 * deviation + 1e-9)


@pytest.mark.parametrize("options", [{}, *WARPED, EVERYTHING])
def test_sample_reports_the_numbers_of_both_distributions(options):
    logits, sampler = random_logits(30), make(30, **options)
    raw = np.log(softmax64(logits))
    probability = dict(
        zip(*map(np.ndarray.tolist, sampler.distribution(logits, [2], 1)), strict=True)
    )
    for _ in range(20):
        choice = sampler.sample(logits, [2], 1)
        assert choice.logprob == pytest.approx(raw[choice.token], abs=2e-6)
        assert choice.probability == probability[choice.token]


def test_draws_follow_the_documented_stream():
    logits, sampler = random_logits(200), make(200, seed=1234)
    stream = np.random.Generator(np.random.PCG64(1234))
    sums = np.cumsum(softmax64(logits))
    expected = [int(np.searchsorted(sums, stream.random(), side="right")) for _ in range(100)]
    assert run(sampler, logits, 100) == expected


def test_a_seed_repeats_and_another_differs():
    logits = random_logits(500, scale=1.0)
    assert run(make(500, seed=7), logits) == run(make(500, seed=7), logits)
    assert run(make(500, seed=7), logits) != run(make(500, seed=8), logits)


def test_a_fresh_seed_is_told_and_repeats_the_run():
    logits = random_logits(500, scale=1.0)
    first, second = make(500, seed=None), make(500, seed=None)
    assert first.seed != second.seed
    assert run(make(500, seed=first.seed), logits) == run(first, logits)


@pytest.mark.parametrize("seed", [5, None])
def test_a_row_draws_what_its_own_run_would(seed):
    logits = random_logits(500, scale=1.0)
    sampler = make(500, seed=seed, top_k=300)
    run(sampler, logits, 3)  # how far the parent has come does not matter
    for row in range(3):
        alone = make(500, seed=sampler.seed + row, top_k=300)
        assert run(sampler.fork(row), logits) == run(alone, logits)


def test_each_token_takes_one_number_of_the_stream():
    logits = random_logits(500, scale=1.0)
    expected = run(make(500), logits, 3)[2]
    switching, greedy = make(500), make(500, temperature=0.0, top_k=5)
    greedy._random = switching._random
    run(greedy, logits, 2)
    assert run(switching, logits, 1) == [expected]


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 2**-53])
def test_a_token_without_probability_is_never_drawn(uniform):
    logits = np.array([-np.inf, -2e4, 1, 0.5, 1, -2e4, -np.inf], dtype=np.float32)
    sampler = make(7)
    sampler._random = SimpleNamespace(random=lambda: uniform)
    assert sampler.sample(logits, [], 0).token in (2, 3, 4)


def test_neither_logits_nor_context_change():
    logits, context = random_logits(30), np.array([1, 2, 1, 2, 1])
    logits.flags.writeable = context.flags.writeable = False
    sampler = make(30, eos_id=29, **EVERYTHING)
    sampler.sample(logits, context, 2)
    sampler.distribution(logits, context, 2)
    sampler.top_alternatives(logits, 3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_logits_of_other_float_types_are_accepted(dtype):
    logits = np.array([1, 5, 2], dtype=dtype)
    assert make(3, temperature=0.0).sample(logits, [], 0).token == 1


# --- which tokens are kept


def test_greedy_takes_the_lowest_id_of_equals_whatever_the_filters():
    logits = np.array([0, 3, 1, 3, 3], dtype=np.float32)
    choice = make(5, temperature=0.0, top_k=2, top_p=0.1, typical_p=0.3).sample(logits, [], 0)
    assert (choice.token, choice.probability) == (1, 1.0)
    assert choice.logprob == pytest.approx(np.log(softmax64(logits)[1]), abs=1e-6)


def test_top_k_keeps_every_token_equal_to_the_kth():
    logits = np.array([0, 3, 1, 3, 3], dtype=np.float32)
    assert support(make(5, top_k=2), logits) == {1, 3, 4}


def test_top_p_keeps_the_lower_ids_of_equals_on_the_edge():
    assert support(make(8, top_p=0.5), np.zeros(8, dtype=np.float32)) == {0, 1, 2, 3}
    logits = np.array([0, 1, 2, 1, 1], dtype=np.float32)
    assert support(make(5, top_p=0.6), logits) == {1, 2}


@given(logits_with_ties(), st.floats(0, 1))
def test_top_p_keeps_the_smallest_set_that_reaches_p(logits, p):
    ids, _ = make(logits.size, top_p=p).distribution(logits, [], 0)
    kept = softmax64(logits)[ids]
    assert kept.sum() >= p - 1e-6
    assert ids.size == 1 or kept[:-1].sum() <= p + 1e-6 or p == 1
    dropped = np.delete(logits, ids)
    assert dropped.size == 0 or dropped.max() <= logits[ids].min()


@pytest.mark.parametrize("k", [3, 10**9])
def test_top_k_of_the_whole_vocabulary_or_more_keeps_all(k):
    assert support(make(3, top_k=k), np.array([1, 2, 3], dtype=np.float32)) == {0, 1, 2}


def test_top_p_beyond_what_top_k_leaves_keeps_all_of_it():
    logits = random_logits(1000, scale=0.01)  # the best 40 hold about 4 % of the probability
    ids, probs = make(1000, top_k=40, top_p=0.99).distribution(logits, [], 0)
    assert ids.size == 40
    assert probs.sum() == pytest.approx(1)
    assert make(1000, top_k=40, top_p=0.99).sample(logits, [], 0).token in ids


@given(logits_with_ties(), st.sampled_from(WARPED), st.floats(0.05, 0.95))
def test_excluded_tokens_do_not_matter_to_a_warper(logits, options, value):
    (name,) = options
    if options[name] not in (0.0, 3):
        options = {name: value}
    state = State(Sampling(**options), np.empty(0, dtype=np.int64), 0, None)
    living = logits > -np.inf
    whole, compact = WARPERS[name](logits, state), WARPERS[name](logits[living], state)
    np.testing.assert_array_equal(whole[living], compact)
    assert np.all(whole[~living] == -np.inf)


def test_padding_is_never_chosen():
    logits = np.array([1, 2, 3, np.nan, np.inf, 99], dtype=np.float32)
    sampler = make(6, n_valid=3)
    ids, probs = sampler.distribution(logits, [], 0)
    assert ids.tolist() == [2, 1, 0]
    np.testing.assert_allclose(probs, softmax64(logits[:3])[::-1], rtol=1e-6)
    assert set(run(sampler, logits, 200)) == {0, 1, 2}
    assert [token for token, _ in sampler.top_alternatives(logits, 6)] == [2, 1, 0]
    fork = sampler.fork(1)
    assert fork.n_valid == 3


def test_one_finite_logit_is_enough():
    logits = np.full(50, -np.inf, dtype=np.float32)
    logits[17] = -4.5
    for options in ({}, {"temperature": 0.0}, EVERYTHING):
        choice = make(50, **options).sample(logits, [1], 1)
        assert (choice.token, choice.logprob, choice.probability) == (17, 0.0, 1.0)
    assert make(50).top_alternatives(logits, 3) == [(17, 1.0)]


def test_presence_and_frequency_count_only_the_answer():
    logits, context = np.zeros(6, dtype=np.float32), [0, 0, 1, 2, 2, 2, 1, 9]
    options = Sampling(presence_penalty=0.5, frequency_penalty=-0.25)
    state = State(options, np.array(context), 2, None)
    presence = SAMPLERS["presence_penalty"](logits, state)
    frequency = SAMPLERS["frequency_penalty"](logits, state)
    assert presence.tolist() == [0, -0.5, -0.5, 0, 0, 0]
    assert frequency.tolist() == [0, 0.5, 0.75, 0, 0, 0]


def test_ids_without_a_logit_may_stand_in_the_context():
    sampler = make(6, n_valid=5, eos_id=2, **EVERYTHING)
    ids, _ = sampler.distribution(random_logits(6), [5, 9, 5, 0, 5], 1)
    assert 5 not in ids


@pytest.mark.parametrize("eos_id", [None, 50256])
def test_a_text_without_an_end_ignores_min_new_tokens(eos_id):
    sampler = make(4, eos_id=eos_id, min_new_tokens=9)
    assert support(sampler, np.zeros(4, dtype=np.float32)) == {0, 1, 2, 3}


# --- extreme values; the test run turns NumPy's warnings into errors


@pytest.mark.parametrize("temperature", [1.0, 0.0, 5e-324, 1e-30, 0.3, 100.0])
@pytest.mark.parametrize("peak", [LARGEST, -LARGEST / 4, 0.0, 1e-40])
def test_extreme_logits_and_temperatures_give_probabilities(temperature, peak):
    logits = np.array([peak, -LARGEST, -np.inf, -LARGEST / 2, 0, -1], dtype=np.float32)
    logits[4:] = np.minimum(logits[4:], np.float32(peak))
    for options in ({}, {"top_p": 0.9}, {"min_p": 0.1}, {"typical_p": 0.9}, {"top_k": 2}):
        sampler = make(6, temperature=temperature, repetition_penalty=0.01, **options)
        ids, probs = sampler.distribution(logits, [0, 1, 2], 1)
        assert np.all(probs >= 0)
        assert probs.sum() == pytest.approx(1)
        choice = sampler.sample(logits, [0, 1, 2], 1)
        assert choice.token in ids
        assert choice.probability > 0
        assert np.isfinite(choice.logprob)


def test_a_very_low_temperature_acts_as_greedy():
    logits = np.array([-50, -50.1, -60], dtype=np.float32)
    ids, probs = make(3, temperature=1e-300).distribution(logits, [], 0)
    assert (ids[0], probs[0]) == (0, 1.0)


# --- distributions to show


@given(logits_with_ties(), st.sampled_from([{}, *WARPED]))
def test_distribution_is_sorted_and_sums_to_one(logits, options):
    ids, probs = make(logits.size, **options).distribution(logits, [], 0)
    assert probs.sum() == pytest.approx(1)
    assert np.all(logits[ids] > -np.inf)
    assert [*zip(-probs, ids, strict=True)] == sorted(zip(-probs, ids, strict=True))


@pytest.mark.parametrize("limit", [0, 1, 4, 999])
def test_limit_cuts_the_distribution_short(limit):
    logits, sampler = random_logits(60), make(60, top_k=20)
    ids, probs = sampler.distribution(logits, [], 0)
    first_ids, first_probs = sampler.distribution(logits, [], 0, limit=limit)
    np.testing.assert_array_equal(first_ids, ids[:limit])
    np.testing.assert_array_equal(first_probs, probs[:limit])


def test_showing_does_not_move_the_stream():
    logits, sampler = random_logits(90), make(90)
    sampler.distribution(logits, [], 0)
    sampler.top_alternatives(logits, 5)
    assert run(sampler, logits) == run(make(90), logits)


@given(logits_with_ties(), st.integers(-1, 45))
def test_top_alternatives_are_the_model_s_own(logits, n):
    found = top_alternatives(logits, n)
    probs = softmax64(logits)
    order = [i for i in np.lexsort((np.arange(logits.size), -logits)) if logits[i] > -np.inf]
    assert [token for token, _ in found] == order[: max(n, 0)]
    assert [p for _, p in found] == pytest.approx(probs[order[: max(n, 0)]].tolist(), rel=1e-5)
    filtered = make(logits.size, temperature=0.0, banned=((0,),))
    assert filtered.top_alternatives(logits, n) == found


# --- refusals


BROKEN = {
    "nan": ([0, np.nan, np.nan], "hold nan for 2 of 3 tokens, first at 1"),
    "inf": ([np.inf, 1, 2], "hold inf for 1 of 3 tokens, first at 0"),
    "both": ([1, np.inf, np.nan], "hold inf for 2 of 3 tokens, first at 1"),
    "nothing": ([-np.inf] * 3, "are -inf for all 3 tokens"),
}


@pytest.mark.parametrize(("logits", "fault"), BROKEN.values(), ids=BROKEN.keys())
def test_logits_that_no_model_computes_are_the_driver_s_fault(logits, fault):
    broken, sampler = np.array(logits, dtype=np.float32), make(3, temperature=0.0)
    calls = [
        lambda: sampler.sample(broken, [], 0),
        lambda: sampler.distribution(broken, [], 0),
        lambda: sampler.top_alternatives(broken, 2),
        lambda: top_alternatives(broken, 2),
    ]
    for call in calls:
        with pytest.raises(DeviceError) as caught:
            call()
        assert str(caught.value) == (
            f"the model's logits {fault}: the OpenGL driver computed a wrong result; "
            "run `gpt2gl doctor` to find the operation that failed"
        )


def test_options_that_forbid_every_token_are_named():
    sampler = make(3, eos_id=2, no_repeat_ngram=1, min_new_tokens=5, top_k=2)
    with pytest.raises(OptionError) as caught:
        sampler.sample(np.zeros(3), [0, 1], 1)
    assert str(caught.value) == (
        "no token is left to choose after 2 tokens of text: --no-repeat-ngram, --min-new-tokens "
        "together forbid all of them; relax one of these options"
    )


def test_a_refused_token_does_not_move_the_stream():
    logits, sampler = random_logits(90), make(90, no_repeat_ngram=1)
    with pytest.raises(OptionError):
        sampler.sample(logits, range(90), 90)
    assert run(sampler, logits) == run(make(90, no_repeat_ngram=1), logits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"logit_bias": {2: 1.0, 5: 1.0}}, "--logit-bias names token 5; .* 0 to 4$"),
        ({"banned": ((1,), (2, 6, 3))}, "--banned names token 6; .* 0 to 4$"),
    ],
)
def test_token_ids_must_exist_in_the_model(options, message):
    with pytest.raises(OptionError, match=message):
        make(8, n_valid=5, **options)


WRONG_CALLS = {
    "logits_shape": (lambda s: s.sample(np.zeros((1, 4)), [], 0), r"\(1, 4\), expected \(4,\)"),
    "logits_size": (lambda s: s.distribution(np.zeros(5), [], 0), r"\(5,\), expected \(4,\)"),
    "n_prompt": (lambda s: s.sample(np.zeros(4), [1, 2], 3), "n_prompt is 3; .* 2 tokens"),
    "n_prompt_sign": (lambda s: s.sample(np.zeros(4), [1, 2], -1), "n_prompt is -1"),
    "row": (lambda s: s.fork(-1), "row is -1"),
    "n_valid": (lambda s: make(4, n_valid=5), "n_valid is 5; it must be from 1 to 4"),
    "n_valid_zero": (lambda s: make(4, n_valid=0), "n_valid is 0"),
}


@pytest.mark.parametrize(("call", "message"), WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_wrong_calls_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(make(4))
