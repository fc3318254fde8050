"""Every pass on small and odd cases against the NumPy oracle, extreme inputs included."""

from __future__ import annotations

import numpy as np
import pytest

from gpt2gl.gl.device import Device
from gpt2gl.gl.storage import read_rows, upload_rows
from gpt2gl.gl.tensor import Tensor, ceil_div
from gpt2gl.passes import CHUNK, PASSES, Dims, Norm, Passes
from gpt2gl_reference import gpt2_numpy as oracle
from tests.dequantise import dequantised
from tests.engine import (
    Array,
    Floats,
    assert_close,
    blank_rows,
    dims,
    draw,
    drawn,
    normal,
    put_matrix,
    put_rows,
)

EXTREMES = [0.0, -0.0, 1e-30, 0.5, 15.0, 44.0, 80.0, 88.0, 89.0, 1e4, 3e12, 1e19]


# Elementwise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gelu_new", "gelu", "relu", "silu"])
@pytest.mark.parametrize("rows", [1, 8])
def test_activate(module_device: Device, name: str, rows: int) -> None:
    values = np.concatenate([normal((3, 2 * len(EXTREMES)), std=4), [[*EXTREMES, *EXTREMES]]])
    values[-1, len(EXTREMES) :] *= -1
    x = values.astype(np.float32)
    out = blank_rows(module_device, *x.shape, rows)
    a = put_rows(module_device, x, rows)
    found = drawn(module_device, Passes(module_device, dims(), rows).activate(a, out, name), 4)
    wanted = oracle.ACTIVATIONS[name](x.astype(np.float64))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("rows", [1, 4, 8])
def test_add(module_device: Device, rows: int) -> None:
    x, y = normal((9, 21)), normal((9, 21), 1, std=1e4)
    a, b = put_rows(module_device, x, rows, 2), put_rows(module_device, y, rows)
    out = blank_rows(module_device, 9, 21, rows, 3)
    found = drawn(module_device, Passes(module_device, dims(), rows).add(a, b, out), 9)
    assert np.array_equal(found, x + y)


# Embedding -----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["r32f", "rgba32f", "f16", "int8", "int4"])
@pytest.mark.parametrize("rows", [1, 8])
def test_embed(module_device: Device, layout: str, rows: int) -> None:
    """n_embd of two int4 groups and a rest, a vocabulary that is no multiple of four."""
    d = dims(70, 5, 20)
    wte, wpe = normal((d.n_embd, 13)), normal((d.n_positions, d.n_embd), 1)
    tokens = [12, 0, 7, 7, 3, 1, 2, 11, 9] if rows > 1 else [10]
    out = blank_rows(module_device, 9, d.n_embd, rows, 4)
    table = upload_rows(module_device, wpe, "test")
    matrix = put_matrix(module_device, layout, wte)
    call = Passes(module_device, d, rows).embed(matrix, table, out)
    draw(module_device, call, len(tokens), n_past=8, tokens=tokens)
    wanted = dequantised(layout, wte).T[tokens] + wpe[8 : 8 + len(tokens)]
    assert_close(read_rows(module_device, out, 0, len(tokens)), wanted)


def test_embed_at_the_last_position(module_device: Device) -> None:
    d = dims(70, 5, 20)
    wte, wpe = normal((d.n_embd, 13)), normal((d.n_positions, d.n_embd), 1)
    out = blank_rows(module_device, 9, d.n_embd, 8, 4)
    matrix, table = put_matrix(module_device, "rgba32f", wte), upload_rows(module_device, wpe, "t")
    call = Passes(module_device, d, 8).embed(matrix, table, out)
    draw(module_device, call, 4, n_past=16, tokens=[1, 2, 3, 4])
    assert_close(read_rows(module_device, out, 0, 4), wte.T[1:5] + wpe[16:20])
    assert np.isfinite(read_rows(module_device, out, 0, 8)).all()


# Norm ----------------------------------------------------------------------------------------

NORM_ROWS = {
    "normal": normal((5, 30)),
    "equal values": np.full((5, 30), 7.25, np.float32),
    "zeros": np.zeros((5, 30), np.float32),
    "tiny": normal((5, 30), std=1e-6),
    "offset": normal((5, 30)) + np.float32(4096),
    "outliers": normal((5, 30)) + np.eye(5, 30, 3, dtype=np.float32) * np.float32(6000),
}


@pytest.mark.parametrize("rows", [1, 4, 8])
@pytest.mark.parametrize("case", NORM_ROWS)
def test_layernorm_by_texture(module_device: Device, case: str, rows: int) -> None:
    x = NORM_ROWS[case]
    passes = Passes(module_device, dims(30, 1), rows)
    a, stats = put_rows(module_device, x, rows, 4), blank_rows(module_device, 5, 4, rows)
    draw(module_device, passes.row_stats(a, stats), 5)
    gain, bias = normal((1, 30), 2), normal((1, 30), 3)
    affine = upload_rows(module_device, gain, "t"), upload_rows(module_device, bias, "t")
    out = blank_rows(module_device, 5, 30, rows)
    found = drawn(module_device, passes.layernorm(a, out, Norm(stats), affine), 5)
    wanted = oracle.layernorm(x.astype(np.float64), gain[0], bias[0], 1e-5)
    assert_close(found, wanted, norm_limit(case))


def norm_limit(case: str) -> float:
    """Values of 4096 + 1 are themselves rounded to 2^-12 of a deviation in the mean."""
    return 1e-7 if case == "offset" else 1e-11


@pytest.mark.parametrize("case", NORM_ROWS)
def test_layernorm_by_vertex(module_device: Device, case: str) -> None:
    """The row that the step names, without gain and bias, under another fold."""
    x = NORM_ROWS[case]
    passes = Passes(module_device, dims(30, 1), 1)
    a, out = put_rows(module_device, x, 4, 3), blank_rows(module_device, 1, 30, 1, 5)
    call = passes.layernorm(a, out, Norm(row="step_counts.z"), None)
    draw(module_device, call, 3)
    wanted = oracle.layernorm(x[2:3].astype(np.float64), np.ones(30), np.zeros(30), 1e-5)
    assert_close(read_rows(module_device, out), wanted, norm_limit(case))


# Attention -----------------------------------------------------------------------------------

HEADS = 3
SCORE_SCALES = {"usual": 1.0, "large": 100.0, "equal": 0.0}


class Attention:
    """q, k and v on a device, for `n_rows` queries after `n_past` cached positions."""

    def __init__(self, device: Device, d: Dims, rows: int, n_past: int, n_rows: int, std: float):
        self.device, self.d, self.rows = device, d, rows
        self.n_past, self.n_rows = n_past, n_rows
        self.n_keys = n_past + n_rows
        self.passes = Passes(device, d, rows)
        self.values_q = normal((n_rows, d.n_embd), 1, std)
        self.values_k = normal((self.n_keys, d.n_embd), 2, std)
        self.values_v = normal((self.n_keys, d.n_embd), 3)
        self.q = put_rows(device, self._padded(self.values_q), rows)
        self.kv = put_rows(device, self._cache(), 4 if rows == 1 else rows, width=4)

    def wanted(self, scale: float) -> tuple[Array, Array, Array]:
        q, k, v = (x.astype(np.float64) for x in (self.values_q, self.values_k, self.values_v))
        return oracle.attention(q, k, v, self.d.n_head, scale)

    def _padded(self, x: Floats) -> Floats:
        heads = x.reshape(len(x), self.d.n_head, self.d.head_dim)
        pad = 4 * self.d.head4 - self.d.head_dim
        return np.pad(heads, ((0, 0), (0, 0), (0, pad))).reshape(len(x), -1)

    def _cache(self) -> Floats:
        """[n_positions rounded up, 2 * padded heads]; stale values after the last key."""
        slots = ceil_div(self.d.n_positions, 8) * 8
        rows = np.concatenate([self._padded(self.values_k), self._padded(self.values_v)], axis=1)
        stale = np.full((slots - self.n_keys, rows.shape[1]), 50, np.float32)
        return np.concatenate([rows, stale])

    def score_rows(self, columns: int) -> Tensor:
        """A score tensor that holds stale values, as one does after a longer text."""
        groups = ceil_div(self.n_rows, self.rows) * self.d.n_head
        shape = (groups * self.rows, columns)
        return put_rows(self.device, np.full(shape, 90, np.float32), self.rows, width=8, left=3)

    def by_head(self, tensor: Tensor) -> Floats:
        """Rows ordered (row group, head, row of group) -> [H, T, S]."""
        flat = read_rows(self.device, tensor)
        groups = flat.reshape(-1, self.d.n_head, self.rows, flat.shape[1])
        heads = groups.transpose(1, 0, 2, 3).reshape(self.d.n_head, -1, flat.shape[1])
        return heads[:, : self.n_rows, : self.n_keys]

    def unpadded(self, rows: Floats) -> Floats:
        heads = rows.reshape(len(rows), self.d.n_head, -1)[:, :, : self.d.head_dim]
        return heads.reshape(len(rows), -1)

    def scores(self, scale: float) -> Tensor:
        keys = ceil_div(self.d.n_positions, self.rows) * self.rows
        out = self.score_rows(keys)
        self.draw(self.passes.attention_scores(self.q, self.kv, out, scale))
        return out

    def draw(self, call: object) -> None:
        draw(self.device, call, self.n_rows, self.n_past)  # type: ignore[arg-type]

    def heads_out(self) -> Tensor:
        return blank_rows(self.device, self.n_rows, 4 * self.d.ep4, self.rows, 4)


# rows a fragment, positions before, queries: none before, a partial group, the end of the context.
STEPS = [(1, 0, 1), (1, 38, 1), (4, 0, 5), (4, 8, 3), (8, 0, 11), (8, 32, 5), (8, 0, 2)]


@pytest.mark.parametrize("size", SCORE_SCALES)
@pytest.mark.parametrize(("rows", "n_past", "n_rows"), STEPS)
def test_attention(module_device: Device, rows: int, n_past: int, n_rows: int, size: str) -> None:
    """Scores, probabilities and mixed values, pass by pass and by the online softmax."""
    d = dims(HEADS * 6, HEADS, 39)
    a = Attention(module_device, d, rows, n_past, n_rows, SCORE_SCALES[size])
    wanted_scores, wanted_probs, wanted_z = a.wanted(0.3)
    scores = a.scores(0.3)
    keys = scores.rows.columns
    visible = np.tri(n_rows, a.n_keys, n_past, dtype=bool)
    found = a.by_head(scores)
    assert (found[:, ~visible] == np.float32(-1e30)).all()
    assert_close(found * visible, wanted_scores * visible)

    stats, probs, z = a.score_rows(4), a.score_rows(keys), a.heads_out()
    a.draw(a.passes.softmax_stats(scores, stats))
    a.draw(a.passes.softmax(scores, stats, probs))
    a.draw(a.passes.attention_apply(probs, a.kv, z))
    limit = 1e-7 if size == "large" else 1e-11
    assert_close(a.by_head(probs), wanted_probs, limit)
    assert (a.by_head(probs)[:, ~visible] == 0).all()
    assert_close(a.unpadded(read_rows(module_device, z, 0, n_rows)), wanted_z, limit)

    mixed = a.heads_out()
    a.draw(a.passes.attention_mix(scores, a.kv, mixed))
    assert_close(a.unpadded(read_rows(module_device, mixed, 0, n_rows)), wanted_z, limit)


@pytest.mark.parametrize("size", SCORE_SCALES)
@pytest.mark.parametrize("n_past", [0, 3, CHUNK - 1, CHUNK, 3 * CHUNK - 2, 3 * CHUNK - 1])
def test_attention_in_chunks(module_device: Device, n_past: int, size: str) -> None:
    """One query over up to three chunks of keys, put together from unnormalised parts."""
    d = dims(HEADS * 6, HEADS, 3 * CHUNK)
    a = Attention(module_device, d, 1, n_past, 1, SCORE_SCALES[size])
    scores = a.scores(0.3)
    parts, stats = (blank_rows(module_device, 3, 4 * d.ep4, 1, 4) for _ in range(2))
    z = a.heads_out()
    a.draw(a.passes.attention_mix_split(scores, a.kv, parts, stats))
    a.draw(a.passes.attention_combine(parts, stats, z))
    limit = 1e-7 if size == "large" else 1e-11
    assert_close(a.unpadded(read_rows(module_device, z)), a.wanted(0.3)[2], limit)


@pytest.mark.parametrize("level", [-1e4, 0.0, 1e4])
def test_softmax_of_extreme_scores(module_device: Device, level: float) -> None:
    """All scores equal and far from 0: probabilities are 1 / (number of visible keys)."""
    n, rows = 9, 4
    passes = Passes(module_device, dims(4, 1, 12), rows)
    scores, stats, probs = (put_rows(module_device, v, rows) for v in masked_scores(level, n))
    draw(module_device, passes.softmax_stats(scores, stats), n)
    draw(module_device, passes.softmax(scores, stats, probs), n)
    wanted = np.tri(n, 12) / np.arange(1, n + 1)[:, None]
    assert_close(read_rows(module_device, probs, 0, n), wanted)


def masked_scores(level: float, n: int) -> tuple[Floats, Floats, Floats]:
    """Scores [12, 12] of one head with the mask in place, and room for stats and probs."""
    scores = np.where(np.tri(12, 12, dtype=bool), level, -1e30)
    return scores.astype(np.float32), np.zeros((12, 4), np.float32), np.zeros((12, 12), np.float32)


TESTED = {
    *("activate", "add", "embed", "row_stats", "layernorm", "attention_scores", "softmax_stats"),
    *("softmax", "attention_apply", "attention_mix", "attention_combine"),
    "linear",  # in test_linear.py
    "part_stats",  # in test_tuning.py
    "edit",  # in test_interventions.py
}


def test_no_pass_is_left_out() -> None:
    assert set(PASSES) == TESTED
