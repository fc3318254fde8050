"""What a `Sampler` tells of the tokens that it did not choose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpt2gl.sampling import Sampler, Sampling, top_alternatives


@given(
    logits=hnp.arrays(np.float32, st.integers(2, 40), elements=st.floats(-20, 20, width=32)),
    top_k=st.integers(0, 10),
    temperature=st.floats(0.2, 3),
)
def test_alternatives_tell_the_models_probability_and_the_chance_that_is_left(
    logits: np.ndarray, top_k: int, temperature: float
) -> None:
    options = Sampling(seed=1, top_k=top_k, temperature=temperature)
    sampler = Sampler(options, logits.size, None)
    choice = sampler.sample(logits, [0], 1, alternatives=5)
    ids, chances = sampler.distribution(logits, [0], 1)
    kept = dict(zip(ids.tolist(), chances.tolist(), strict=True))
    expected = top_alternatives(logits, 5)
    assert [each.token for each in choice.alternatives] == [token for token, _ in expected]
    for each, (_, probability) in zip(choice.alternatives, expected, strict=True):
        assert each.probability == pytest.approx(probability, rel=1e-5)
        assert each.kept == pytest.approx(kept.get(each.token, 0.0), abs=1e-6)
    probs = np.exp(logits - logits.max(), dtype=np.float64)
    probs /= probs.sum()
    assert choice.entropy == pytest.approx(-(probs * np.log(probs)).sum(), abs=1e-4)


def test_alternatives_change_nothing_else() -> None:
    logits = np.linspace(-1, 1, 30, dtype=np.float32)
    plain, told = (Sampler(Sampling(seed=3), 30, None) for _ in range(2))
    for _ in range(20):
        a, b = plain.sample(logits, [0], 1), told.sample(logits, [0], 1, alternatives=3)
        assert (a.token, a.probability) == (b.token, b.probability)
        assert a.logprob == pytest.approx(b.logprob, abs=1e-5)
        assert a.alternatives == ()
        assert len(b.alternatives) == 3
