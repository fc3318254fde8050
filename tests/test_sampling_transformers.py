"""Every step, and whole chains, against the logits processors and `generate` of transformers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList
from transformers.generation import logits_process as hf

from gpt2gl.sampling import SAMPLERS, Sampler, Sampling, State

# How close to the edge of a kept set float32 rounding may decide, in probability.
EDGE = 1e-5
VOCAB = 50257


def ours(name, logits, context=(), n_prompt=0, eos_id=None, **options):
    state = State(Sampling(**options), np.array(context, dtype=np.int64), n_prompt, eos_id)
    return SAMPLERS[name](logits, state)


def theirs(processor, logits, context=()):
    ids = torch.tensor([list(context)], dtype=torch.long)
    return processor(ids, torch.from_numpy(logits.copy())[None])[0].numpy()


def softmax64(logits):
    weights = np.exp(logits.astype(np.float64) - np.float64(logits.max()))
    return weights / weights.sum()


def normal_logits(size, seed, scale):
    return (np.random.default_rng(seed).normal(0, scale, size) - 30).astype(np.float32)


@st.composite
def logit_rows(draw):
    """1 to 60 logits: spread out, crowded with equals, all equal or huge; some may be -inf."""
    size, rng = draw(st.integers(1, 60)), np.random.default_rng(draw(st.integers(0, 10**6)))
    normal = rng.normal(0, 1, size)
    scale = draw(st.sampled_from([0.1, 1, 5, 1000, 1e37]))
    kinds = {"spread": normal * scale, "equals": np.round(normal * 2) / 2, "flat": np.zeros(size)}
    logits = kinds[draw(st.sampled_from(sorted(kinds)))].astype(np.float32)
    if draw(st.booleans()):
        logits[rng.random(size) < 0.3] = -np.inf
    assume(np.isfinite(logits.max()))
    return logits


def contexts(vocab_size):
    return st.lists(st.integers(0, vocab_size - 1), max_size=14)


fractions = st.floats(0.02, 0.98)
FIVE = st.integers(0, 10**6).map(lambda seed: normal_logits(5, seed, 2))  # ids repeat a lot


# --- one step at a time: processors must be equal to the last bit


@given(logit_rows(), st.sampled_from([0.01, 0.7, 1.2, 3.0]), st.data())
def test_repetition_penalty(logits, penalty, data):
    context = data.draw(contexts(logits.size))
    assume(np.abs(logits[np.isfinite(logits)]).max() < 1e36)  # beyond, theirs overflows
    expected = theirs(hf.RepetitionPenaltyLogitsProcessor(penalty), logits, context)
    actual = ours("repetition_penalty", logits, context, repetition_penalty=penalty)
    np.testing.assert_array_equal(actual, expected)


@given(FIVE, contexts(5), st.integers(1, 5))
def test_no_repeat_ngram(logits, context, size):
    expected = theirs(hf.NoRepeatNGramLogitsProcessor(size), logits, context)
    actual = ours("no_repeat_ngram", logits, context, no_repeat_ngram=size)
    np.testing.assert_array_equal(actual, expected)


@given(
    FIVE,
    contexts(5),
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=8),
    st.sampled_from([None, 0, 3]),
)
def test_banned(logits, context, sequences, eos_id):
    assume(any(entry != [eos_id] for entry in sequences))  # theirs refuses an empty list
    expected = theirs(hf.NoBadWordsLogitsProcessor(sequences, eos_id), logits, context)
    actual = ours("banned", logits, context, eos_id=eos_id, banned=sequences)
    np.testing.assert_array_equal(actual, expected)


@given(FIVE, st.dictionaries(st.integers(0, 4), st.floats(-100, 100, width=32), min_size=1))
def test_logit_bias(logits, bias):
    processor = hf.SequenceBiasLogitsProcessor({(token,): value for token, value in bias.items()})
    np.testing.assert_array_equal(
        ours("logit_bias", logits, logit_bias=bias), theirs(processor, logits)
    )


@given(FIVE, contexts(5), st.integers(0, 6), st.data())
def test_min_new_tokens(logits, context, count, data):
    n_prompt = data.draw(st.integers(0, len(context)))
    expected = theirs(hf.MinNewTokensLengthLogitsProcessor(n_prompt, count, 3), logits, context)
    actual = ours("min_new_tokens", logits, context, n_prompt, eos_id=3, min_new_tokens=count)
    np.testing.assert_array_equal(actual, expected)


# --- warpers: equal kept sets, up to which of several equal logits on the edge


def assert_same_kept(actual, expected):
    """The kept logits are the same; only which of the least ones are kept may differ."""
    np.testing.assert_array_equal(np.sort(actual), np.sort(expected))
    above = expected > expected[expected > -np.inf].min()
    np.testing.assert_array_equal(actual[above], expected[above])


@given(logit_rows(), st.sampled_from([0.1, 0.7, 1.5, 30.0]))
def test_temperature(logits, value):
    assume(logits.max() < 1e36)  # beyond, theirs overflows
    with np.errstate(over="ignore"):
        expected = theirs(hf.TemperatureLogitsWarper(value), logits)
    np.testing.assert_array_equal(ours("temperature", logits, temperature=value), expected)


@given(logit_rows(), st.integers(1, 70))
def test_top_k(logits, k):
    expected = theirs(hf.TopKLogitsWarper(k), logits)
    np.testing.assert_array_equal(ours("top_k", logits, top_k=k), expected)


@given(logit_rows(), fractions)
def test_top_p(logits, p):
    sums = np.cumsum(np.sort(softmax64(logits)))
    assume(np.abs(sums - (1 - p)).min() > EDGE)
    assert_same_kept(ours("top_p", logits, top_p=p), theirs(hf.TopPLogitsWarper(p), logits))


@pytest.mark.parametrize("size", [1, 2, 5, 8, 10])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 0.75, 0.8, 0.9])
def test_top_p_exactly_on_the_edge(size, p):
    logits = np.full(size, -3.5, dtype=np.float32)
    assert_same_kept(ours("top_p", logits, top_p=p), theirs(hf.TopPLogitsWarper(p), logits))


@given(logit_rows(), fractions)
def test_min_p(logits, share):
    probs = softmax64(logits)
    assume(np.abs(probs / probs.max() / share - 1).min() > EDGE)
    expected = theirs(hf.MinPLogitsWarper(share), logits)
    np.testing.assert_array_equal(ours("min_p", logits, min_p=share), expected)


def test_min_p_of_one_keeps_the_equals_of_the_best():
    logits = np.array([1, 3, 2, 3], dtype=np.float32)
    expected = theirs(hf.MinPLogitsWarper(1.0), logits)
    assert expected.tolist() == [-np.inf, 3, -np.inf, 3]
    np.testing.assert_array_equal(ours("min_p", logits, min_p=1), expected)


def typical_margin(logits, mass):
    """How far the nearest token is from falling on the other side of the typical set's edge."""
    probs = softmax64(logits)[logits > -np.inf]
    with np.errstate(divide="ignore"):
        information = -np.log(probs)
    entropy = np.sum(probs[probs > 0] * information[probs > 0])
    distance = np.abs(information - entropy)
    order = np.argsort(distance, kind="stable")
    sums = np.cumsum(probs[order])
    last = order[min(np.count_nonzero(sums < mass), probs.size - 1)]
    others = distance[probs != probs[last]]
    gaps = np.abs(others[np.isfinite(others)] - distance[last])
    return min(np.abs(sums - mass).min(), gaps.min(initial=1.0) / (1 + distance[last]))


@given(logit_rows(), fractions)
def test_typical_p(logits, mass):
    assume(typical_margin(logits, mass) > EDGE)
    expected = theirs(hf.TypicalLogitsWarper(mass), logits)
    np.testing.assert_array_equal(ours("typical_p", logits, typical_p=mass), expected)


# --- whole chains


class OpenAIPenalties(hf.LogitsProcessor):
    """Presence and frequency penalty, which transformers lacks, by OpenAI's formula."""

    def __init__(self, presence, frequency, n_prompt):
        self.presence, self.frequency, self.n_prompt = presence, frequency, n_prompt

    def __call__(self, input_ids, scores):
        counts = torch.bincount(input_ids[0, self.n_prompt :], minlength=scores.shape[1])
        return scores - counts * self.frequency - (counts > 0) * self.presence


def assert_same_distribution(sampler, logits, context, n_prompt, scores):
    """`scores` are the processed ones; a set that differs may differ by EDGE in probability."""
    ids, probs = sampler.distribution(logits, context, n_prompt)
    actual, expected = np.zeros(scores.size), softmax64(scores)
    actual[ids] = probs
    edge = (actual > 0) != (scores > -np.inf)
    assert max(actual[edge].sum(), expected[edge].sum()) <= EDGE
    np.testing.assert_allclose(actual[~edge], expected[~edge], rtol=2 * EDGE, atol=1e-9)


LARGE_CHAINS = [
    ({"top_k": 40, "top_p": 0.95}, [hf.TopKLogitsWarper(40), hf.TopPLogitsWarper(0.95)]),
    ({"top_k": 40, "top_p": 0.9999}, [hf.TopKLogitsWarper(40), hf.TopPLogitsWarper(0.9999)]),
    (
        {"temperature": 0.6, "top_p": 0.9},
        [hf.TemperatureLogitsWarper(0.6), hf.TopPLogitsWarper(0.9)],
    ),
    (
        {"temperature": 1.5, "top_k": 5000, "min_p": 0.002, "typical_p": 0.5},
        [
            hf.TemperatureLogitsWarper(1.5),
            hf.TopKLogitsWarper(5000),
            hf.MinPLogitsWarper(0.002),
            hf.TypicalLogitsWarper(0.5),
        ],
    ),
    (
        {"repetition_penalty": 1.5, "no_repeat_ngram": 1, "typical_p": 0.3},
        [
            hf.RepetitionPenaltyLogitsProcessor(1.5),
            hf.NoRepeatNGramLogitsProcessor(1),
            hf.TypicalLogitsWarper(0.3),
        ],
    ),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("options", "processors"), LARGE_CHAINS)
def test_chain_on_gpt2_s_vocabulary(options, processors, seed):
    logits = normal_logits(VOCAB, seed, 3.0)
    context = np.random.default_rng(seed).integers(0, VOCAB, 300).tolist()
    scores = theirs(LogitsProcessorList(processors), logits, context)
    sampler = Sampler(Sampling(**options), VOCAB, VOCAB - 1)
    assert_same_distribution(sampler, logits, context, 10, scores)


N_VOCAB, EOS, PROMPT, N_NEW = 40, 7, [3, 14, 15, 9, 3, 14], 16


@pytest.fixture(scope="module")
def model():
    """A model that repeats itself, so that the penalties matter."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=N_VOCAB, n_positions=32, n_embd=16, n_layer=1, n_head=2,
        bos_token_id=EOS, eos_token_id=EOS, initializer_range=0.6,
    )  # fmt: skip
    return GPT2LMHeadModel(config).eval()


def generate(model, options, seed):
    """What `generate` gives for `options`: the ids, and the raw and processed logits per step."""
    torch.manual_seed(seed)
    sampled = options.temperature > 0
    warping = {
        "temperature": options.temperature,
        "top_k": options.top_k,
        "top_p": options.top_p,
        "min_p": options.min_p,
        "typical_p": options.typical_p,
    }
    bias = [[[token], value] for token, value in options.logit_bias.items()]
    penalties = (options.presence_penalty, options.frequency_penalty)
    return model.generate(
        torch.tensor([PROMPT]),
        attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
        pad_token_id=EOS,
        max_new_tokens=N_NEW,
        do_sample=sampled,
        repetition_penalty=options.repetition_penalty,
        no_repeat_ngram_size=options.no_repeat_ngram,
        sequence_bias=bias or None,
        bad_words_ids=[list(entry) for entry in options.banned] or None,
        min_new_tokens=options.min_new_tokens,
        logits_processor=LogitsProcessorList([OpenAIPenalties(*penalties, len(PROMPT))]),
        output_logits=True,
        output_scores=True,
        return_dict_in_generate=True,
        **(warping if sampled else {}),
    )


CHAINS = {
    "default": {},
    "filters": {"temperature": 0.8, "top_k": 12, "top_p": 0.9, "min_p": 0.02, "typical_p": 0.9},
    "penalties": {
        "repetition_penalty": 1.4,
        "presence_penalty": 0.6,
        "frequency_penalty": 0.3,
        "top_p": 0.8,
    },
    "everything": {
        "temperature": 1.3,
        "top_k": 15,
        "top_p": 0.95,
        "min_p": 0.01,
        "typical_p": 0.95,
        "repetition_penalty": 1.2,
        "presence_penalty": -0.5,
        "frequency_penalty": 0.4,
        "no_repeat_ngram": 2,
        "logit_bias": {EOS: 3.0, 5: -1.5, 30: 2.0},
        "banned": ((EOS,), (11,), (3, 30), (14, 15, 9)),
        "min_new_tokens": 9,
    },
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", CHAINS.values(), ids=CHAINS.keys())
def test_every_step_of_generate(model, options, seed):
    chosen = Sampling(**options)
    out = generate(model, chosen, seed)
    sampler, ids = Sampler(chosen, N_VOCAB, EOS), out.sequences[0].tolist()
    for step, (logits, scores) in enumerate(zip(out.logits, out.scores, strict=True)):
        context = ids[: len(PROMPT) + step]
        assert_same_distribution(
            sampler, logits[0].numpy(), context, len(PROMPT), scores[0].numpy()
        )


@pytest.mark.parametrize("options", CHAINS.values(), ids=CHAINS.keys())
def test_greedy_generate(model, options):
    chosen = Sampling(**options | {"temperature": 0.0})
    out = generate(model, chosen, 0)
    sampler, ids = Sampler(chosen, N_VOCAB, EOS), list(PROMPT)
    for logits in out.logits:
        ids.append(sampler.sample(logits[0].numpy(), ids, len(PROMPT)).token)
    assert ids == out.sequences[0].tolist()
    assert len(ids) == len(PROMPT) + N_NEW or ids[-1] == EOS
