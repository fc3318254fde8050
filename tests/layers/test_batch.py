"""Several texts that share a prompt, against each of them alone."""

from __future__ import annotations

import numpy as np
import pytest

from gpt2gl.errors import ContextLengthError, OptionError
from gpt2gl.gl.tuning import GPU, SOFTWARE
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_batch import Batch
from gpt2gl_reference import gpt2_numpy as oracle
from tests.conftest import MakeDevice
from tests.engine import drain
from tests.models import check_logits, checkpoint, config, encoded, some_tokens

TUNINGS = {"gpu": GPU, "software": SOFTWARE}


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize(
    ("layout", "n_prompt", "n"),
    [("rgba32f", 13, 4), ("rgba32f", 64, 3), ("rgba32f", 1, 8), ("int8", 6, 5)],
)
def test_rows_equal_texts_of_their_own(
    make_device: MakeDevice, layout: str, n_prompt: int, n: int, tuning: str
) -> None:
    source = checkpoint(config())
    weights = {name: tensor.read() for name, tensor in source.tensors.items()}
    prompt = some_tokens(source.config, n_prompt)
    added = np.random.default_rng(1).integers(0, source.config.vocab_size, (5, n))
    device = make_device()
    device.tuning = TUNINGS[tuning]
    model = GPT2.load(device, source, layout)
    encoded(model, prompt)
    batch = Batch(model, n_prompt, n, 5)
    for t, tokens in enumerate(added):
        drain(batch.decode(tokens.tolist()))
        logits = batch.logits()
        for row in range(n):
            text = [*prompt, *added[: t + 1, row].tolist()]
            wanted = oracle.forward(weights, source.config, text)["logits"][-1]
            check_logits(layout, logits[row], wanted)
    batch.close()
    check_logits(layout, encoded(model, prompt), encoded(model, prompt[:0] + prompt))


def test_batches_leave_nothing_behind(make_device: MakeDevice) -> None:
    """Programs, blocks and scratch are kept for the next batch; the texts' caches are not."""
    source = checkpoint(config())
    model = GPT2.load(make_device(), source, "rgba32f")
    encoded(model, [1, 2, 3])
    counts = []
    for _ in range(3):
        batch = Batch(model, 3, 4, 6)
        drain(batch.decode([1, 2, 3, 4]))
        batch.close()
        counts.append((model.device.counts(), dict(model.device.pool.bytes_by_use)))
    assert counts[0] == counts[1] == counts[2]


def test_the_plain_layout_has_no_batches(make_device: MakeDevice) -> None:
    model = GPT2.load(make_device(), checkpoint(config()), "r32f")
    with pytest.raises(OptionError, match="one text at a time"):
        Batch(model, 3, 2, 5)


def test_what_a_batch_refuses(make_device: MakeDevice) -> None:
    model = GPT2.load(make_device(), checkpoint(config(n_positions=11)), "rgba32f")
    encoded(model, [1, 2, 3])
    for n in (0, 9):
        with pytest.raises(OptionError, match="batch"):
            Batch(model, 3, n, 5)
    batch = Batch(model, 3, 2, 100)
    assert batch.max_tokens == 8
    for _ in range(8):
        drain(batch.decode([5, 6]))
    with pytest.raises(ContextLengthError):
        drain(batch.decode([5, 6]))


def test_four_colour_attachments(make_device: MakeDevice) -> None:
    source = checkpoint(config())
    model = GPT2.load(make_device(max_draw_buffers=4), source, "rgba32f")
    prompt = some_tokens(source.config, 9)
    encoded(model, prompt)
    with pytest.raises(OptionError, match="1 to 4"):
        Batch(model, 9, 5, 5)
    batch = Batch(model, 9, 4, 5)
    drain(batch.decode([1, 2, 3, 4]))
    found = batch.logits()
    for row in range(4):
        check_logits("rgba32f", found[row], encoded(model, [*prompt, row + 1]))
