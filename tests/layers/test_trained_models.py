"""Trained weights: the sorting model with its authors' activations, and the embedded model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from gpt2gl.gl.device import Device
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.resources import embedded_models
from gpt2gl.tokenizer import Tokenizer
from gpt2gl.tolerances import compare, visible_keys
from gpt2gl.weights import open_checkpoint
from tests.conftest import MakeDevice
from tests.engine import Array
from tests.models import check_decode, check_prefill, encoded, in_transformers

NANO_SORT = Path(__file__).parents[1] / "data" / "gpt_nano_sort"
# Two logits this near may change places: no float32 computation can tell them apart.
TIE = 1e-3


# The sorting model ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nano_sort(module_device: Device) -> GPT2:
    with open_checkpoint(NANO_SORT / "model") as source:
        return GPT2.load(module_device, source)


@pytest.fixture(scope="module")
def partials() -> dict[str, Array]:
    with np.load(NANO_SORT / "partials.npz") as stored:
        return dict(stored)


@pytest.mark.parametrize("item", [0, 1, 2])
def test_the_authors_activations(nano_sort: GPT2, partials: dict[str, Array], item: int) -> None:
    tokens = partials["tokens"][item].tolist()
    traced = nano_sort.trace(tokens)
    for name in partials.keys() - {"tokens"}:
        found, wanted = (visible_keys(name, t) for t in (traced[name], partials[name][item]))
        difference = compare("rgba32f", name, found, np.where(np.isfinite(wanted), wanted, 0))
        assert difference.ok, (name, difference)
    expected = {"logits": partials["logits"][item]}
    check_prefill(nano_sort, tokens, expected)
    check_decode(nano_sort, tokens, expected)


def test_it_sorts(nano_sort: GPT2) -> None:
    """Every ninth of the 729 inputs, decoded greedily."""
    for letters in list(product(range(3), repeat=6))[::9]:
        tokens = list(letters)
        logits = encoded(nano_sort, tokens)
        for _ in range(5):
            tokens.append(int(logits.argmax()))
            logits = encoded(nano_sort, tokens, len(tokens) - 1)
        assert [*tokens[6:], int(logits.argmax())] == sorted(letters)


# The embedded model --------------------------------------------------------------------------

STORYTELLER = embedded_models()["storyteller"]
PROMPTS = [
    "Once upon a time there was a little dog named Max.",
    "User: Hello! What is your name?\n",
    "One day, Lily found a big red ball in the park. She",
]


@pytest.fixture(scope="module")
def storyteller(make_module_device: MakeDevice) -> GPT2:
    with open_checkpoint(STORYTELLER) as source:
        return GPT2.load(make_module_device(), source)


@pytest.fixture(scope="module")
def outside_storyteller() -> torch.nn.Module:
    with open_checkpoint(STORYTELLER) as source:
        return in_transformers(source)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_text(storyteller: GPT2, outside_storyteller: torch.nn.Module, prompt: str) -> None:
    """200 tokens are those that transformers prefers, up to the first tie."""
    tokens = Tokenizer.from_directory(STORYTELLER).encode(prompt)
    start = len(tokens)
    text = continued(storyteller, tokens, 200)
    with torch.no_grad():
        rows = outside_storyteller(torch.tensor([text])).logits[0].numpy()
    for row, chosen in zip(rows[start - 1 :], text[start:], strict=False):
        if row.argmax() != chosen:
            assert row.max() - row[chosen] < TIE
            break


def continued(model: GPT2, tokens: Sequence[int], count: int) -> list[int]:
    """`tokens` and the `count` tokens that follow, each the most probable."""
    text = list(tokens)
    n_valid = 0
    for _ in range(count):
        logits = encoded(model, text, n_valid)
        n_valid = len(text)
        text.append(int(logits.argmax()))
    return text
