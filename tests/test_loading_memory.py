"""How much host memory loading takes beside the textures."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpt2gl import quantised_cache
from gpt2gl.gl.device import Device
from gpt2gl.models import gpt2_weights
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.weights import open_checkpoint
from tests.checkpoints import tiny_config, write_checkpoint
from tests.source_tree import ROOT


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache that keeps models of any size."""
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(quantised_cache, "MIN_VALUES", 0)


@pytest.fixture
def pieces_of_64_kib(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(gpt2_weights, "PIECE_ELEMENTS", 1 << 14)
    tracemalloc.start()
    yield 1 << 16
    tracemalloc.stop()


@pytest.mark.parametrize("layout", ["rgba32f", "f16", "int8", "int4"])
def test_a_few_pieces_of_a_matrix_are_in_memory_at_a_time(
    tmp_path: Path, device: Device, pieces_of_64_kib: int, layout: str
) -> None:
    """Of a model whose largest matrix has 40 pieces, read first from its own file."""
    config = tiny_config(vocab_size=10_000, n_embd=64, n_head=4, n_layer=1)
    folder = write_checkpoint(tmp_path / "model", config)
    for _ in range(2):
        with open_checkpoint(folder) as checkpoint:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            GPT2.load(device, checkpoint, layout)
            peak = tracemalloc.get_traced_memory()[1] - before
        assert peak < 12 * pieces_of_64_kib < 10_000 * 64 * 4 / 3


@pytest.mark.soak
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8", "int4"])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc for the peak")
def test_memory_of_a_model_of_full_size(tmp_path: Path, precision: str) -> None:
    """Loading 124 million float32 weights takes under 200 MB beside the weights' textures, which a
    software rasteriser keeps in the same memory."""
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config()).save_pretrained(tmp_path / "model")
    command = [sys.executable, "-c", PEAK_PROGRAM, str(tmp_path / "model"), precision]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert float(done.stdout) < 200


PEAK_PROGRAM = """
import sys
import gpt2gl

def megabytes(name):
    (line,) = [each for each in open("/proc/self/status") if each.startswith(name)]
    return int(line.split()[1]) / 1024

gpt2gl.load("storyteller", "int8").close()
before = megabytes("VmRSS")
with gpt2gl.load(sys.argv[1], sys.argv[2]) as session:
    used = session.model.device.pool.bytes_by_use
    software = session.model.device.limits.is_software
    textures = used["weights"] / 2**20 if software else 0
    print(megabytes("VmHWM") - before - textures)
"""


@pytest.mark.soak
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc for the peak")
def test_the_largest_gpt2_in_4_bits() -> None:
    """GPT-2 XL loads and decodes within twice the bytes of its float32 weights, even where a
    software rasteriser keeps textures and cache in the same memory."""
    command = [sys.executable, "-c", XL_PROGRAM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    finite, peak = done.stdout.split()
    assert finite == "True"
    assert int(peak) < 2 * 4 * XL_PARAMETERS


XL_PARAMETERS = 1_557_611_200
XL_PROGRAM = """
import numpy as np
import gpt2gl

with gpt2gl.load("random:gpt2-xl", "int4") as session:
    first = session.logits([464])
    second = session.logits([464, int(first.argmax())])
    print(bool(np.isfinite([first, second]).all()))
(line,) = [each for each in open("/proc/self/status") if each.startswith("VmHWM")]
print(int(line.split()[1]) * 1024)
"""
