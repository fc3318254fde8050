"""Scoring: the windows by brute force, and the whole against the Hugging Face guide's loop."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from transformers import GPT2LMHeadModel

import gpt2gl
from gpt2gl.cli import run
from gpt2gl.errors import DeviceError, OptionError
from gpt2gl.resources import embedded_models
from gpt2gl.scoring import Score, combine, score_windows, windows_of
from gpt2gl.session import Session

VOCAB = 11
WINDOW, STRIDE, N_TOKENS = 256, 128, 1400
LIMIT = 1e-3


class Fake:
    """Logits that depend on every token before, in chunks of any size."""

    def __init__(self, rows: int = 3) -> None:
        self.rows = rows

    def row_logits(self, tokens: Sequence[int]) -> Iterator[NDArray[np.float32]]:
        rows = np.stack([logits_after(tokens[: i + 1]) for i in range(len(tokens))])
        for first in range(0, len(rows), self.rows):
            yield rows[first : first + self.rows]


def logits_after(tokens: Sequence[int]) -> NDArray[np.float32]:
    digest = hashlib.sha256(bytes(tokens)).digest()
    return (np.frombuffer(digest[:VOCAB], np.uint8) / 32).astype(np.float32)


def logprob(before: Sequence[int], token: int) -> float:
    logits = logits_after(before).astype(float)
    return float(logits[token] - np.log(np.exp(logits).sum()))


def begins(n_tokens: int, window: int, stride: int) -> list[int]:
    found = [0]
    while found[-1] + window < n_tokens:
        found.append(found[-1] + stride)
    return found


def brute_force(tokens: Sequence[int], window: int, stride: int) -> list[float | None]:
    """Each token in the first window that has it, given what stands before it there."""
    found: list[float | None] = []
    for i, token in enumerate(tokens):
        begin = next(b for b in begins(len(tokens), window, stride) if i < b + window)
        found.append(logprob(tokens[begin:i], token) if i > begin else None)
    return found


def guide(tokens: Sequence[int], window: int, stride: int) -> float:
    """Perplexity as the guide's loop weighs its windows' mean losses."""
    nll_sum, n_tokens, previous = 0.0, 0, 0
    for begin in begins(len(tokens), window, stride):
        end = min(begin + window, len(tokens))
        targets = range(max(previous, begin + 1), end)
        losses = [-logprob(tokens[begin:i], tokens[i]) for i in targets]
        if losses:
            nll_sum += sum(losses) / len(losses) * (end - previous - 1)
            n_tokens += end - previous - 1
        previous = end
    return math.exp(nll_sum / n_tokens)


def score(model: Fake, tokens: Sequence[int], window: int, stride: int) -> Score:
    parts = score_windows(model, tokens, windows_of(len(tokens), window, stride))
    return combine(len(tokens), parts, [2] * len(tokens))


@given(st.data())
@settings(deadline=None)
def test_windows_by_brute_force(data: st.DataObject) -> None:
    tokens = data.draw(st.lists(st.integers(0, VOCAB - 1), min_size=2, max_size=40))
    window = data.draw(st.integers(2, 45))
    stride = data.draw(st.integers(1, window))
    found = score(Fake(data.draw(st.integers(1, 9))), tokens, window, stride)
    expected = brute_force(tokens, window, stride)
    assert [x is None for x in expected] == np.isnan(found.logprobs).tolist()
    scored = np.array([x for x in expected if x is not None])
    np.testing.assert_allclose(found.logprobs[~np.isnan(found.logprobs)], scored, atol=1e-9)
    assert found.n_scored == len(scored)
    assert found.perplexity == pytest.approx(guide(tokens, window, stride))
    assert found.token_perplexity == pytest.approx(math.exp(-scored.mean()))
    bits = -scored.sum() / math.log(2)
    assert found.bits_per_byte == pytest.approx(bits / (2 * len(scored)))


def test_one_window_has_one_perplexity() -> None:
    found = score(Fake(), [1, 2, 3, 4, 5], 8, 4)
    assert found.perplexity == pytest.approx(found.token_perplexity)


@pytest.mark.parametrize(
    ("n_tokens", "window", "stride", "problem"),
    [
        (9, 1, 1, "--window is 1; allowed: 2 or more"),
        (9, 4, 0, "--stride is 0; allowed: 1 to the window, 4"),
        (9, 4, 5, "--stride is 5; allowed: 1 to the window, 4"),
        (0, 4, 2, "the text has no tokens"),
        (1, 4, 2, "the text has one token"),
    ],
)
def test_windows_refuse(n_tokens: int, window: int, stride: int, problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        windows_of(n_tokens, window, stride)


class Broken(Fake):
    def row_logits(self, tokens: Sequence[int]) -> Iterator[NDArray[np.float32]]:
        for rows in super().row_logits(tokens):
            yield rows * np.float32(np.nan)


def test_logits_that_are_not_numbers() -> None:
    with pytest.raises(DeviceError, match="gpt2gl doctor"):
        score(Broken(), [1, 2, 3], 4, 2)


# The embedded model -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with gpt2gl.load("storyteller") as loaded:
        yield loaded


@pytest.fixture(scope="module")
def tokens(session: Session) -> list[int]:
    folder = embedded_models()["storyteller"]
    texts = [(folder / name).read_text("utf-8") for name in ("README.md", "DATA_LICENSES.txt")]
    found = session.tokenizer.encode("".join(texts))[:N_TOKENS]
    assert len(found) == N_TOKENS
    return found


def in_transformers(tokens: Sequence[int]) -> tuple[list[float], float]:
    """Log-probabilities of all tokens but the first, and perplexity, by the guide's loop."""
    model = GPT2LMHeadModel.from_pretrained(embedded_models()["storyteller"]).float().eval()
    logprobs: list[float] = []
    nll_sum, n_tokens, previous = 0.0, 0, 0
    for begin in begins(len(tokens), WINDOW, STRIDE):
        end = min(begin + WINDOW, len(tokens))
        new = end - previous
        inputs = torch.tensor([tokens[begin:end]])
        labels = inputs.clone()
        labels[:, :-new] = -100
        with torch.no_grad():
            output = model(inputs, labels=labels)
        nll_sum += float(output.loss) * (new - 1)
        n_tokens += new - 1
        targets = inputs[0, 1:]
        logits = torch.log_softmax(output.logits[0, :-1].double(), -1)
        logprobs += logits[torch.arange(len(targets)), targets][-new:].tolist()
        previous = end
    return logprobs, math.exp(nll_sum / n_tokens)


def test_equals_transformers(session: Session, tokens: list[int]) -> None:
    parts = score_windows(session, tokens, windows_of(len(tokens), WINDOW, STRIDE))
    lengths = [len(session.tokenizer.token_bytes(token)) for token in tokens]
    found = combine(len(tokens), parts, lengths)
    logprobs, perplexity = in_transformers(tokens)
    np.testing.assert_allclose(found.logprobs[1:], logprobs, atol=LIMIT, rtol=0)
    assert abs(found.perplexity - perplexity) <= LIMIT * perplexity
    n_bytes = len(session.tokenizer.decode_bytes(tokens[1:]))
    assert found.bits_per_byte == pytest.approx(-sum(logprobs) / math.log(2) / n_bytes, abs=LIMIT)


# The command ------------------------------------------------------------------------------------


def test_json(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("Once upon a time,\r\na king 🙂".encode())
    assert run(["score", str(path), "--json", "--window", "8", "--stride", "3"]) == 0
    report = json.loads(capfdbinary.readouterr().out)
    assert (report["window"], report["stride"], report["model"]) == (8, 3, "storyteller")
    tokens = report["tokens"]
    assert [t["position"] for t in tokens] == list(range(report["n_tokens"]))
    assert tokens[0]["logprob"] is None
    logprobs = [t["logprob"] for t in tokens[1:]]
    assert report["n_scored"] == len(logprobs)
    assert report["token_perplexity"] == pytest.approx(
        math.exp(-sum(logprobs) / len(logprobs)), rel=1e-9
    )


def test_table(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "text.txt"
    path.write_text("A [b]king :smile:", "utf-8")
    assert run(["score", str(path)]) == 0
    shown = capfdbinary.readouterr().out.decode("utf-8")
    assert "perplexity" in shown
    assert "bits per byte" in shown
    assert "[" in shown


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        (b"", [], "no tokens"),
        (b"a", [], "one token"),
        (b"ab\xff", [], "not UTF-8 text (byte 2)"),
        (b"a king", ["--window", "2000"], "--window is 2000; allowed: 2 to the model's 1024"),
        (None, [], "No such file"),
    ],
)
def test_bad_input(
    content: bytes | None,
    options: list[str],
    problem: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    assert run(["score", str(path), *options]) == 2
    output, message = capfd.readouterr()
    assert output == ""
    assert problem in message
    assert message.count("\n") == 1
