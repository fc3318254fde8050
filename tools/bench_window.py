"""How smooth the window is: frames and slices of work while the model loads, reads and writes.

    python tools/bench_window.py [--xvfb] [--only NAME ...] [--one-thread] [--notes]

Every row is a process of its own (window_probe.py) with folders of its own. "small" is the
embedded model, "124M" a model of that shape with random weights and GPT-2's tokenizer, written into
the temporary folder. Without --xvfb the window is a surface of EGL's that nobody sees.

A frame is late by the machine's other work too, so each number is given as wall time / CPU time of
the window's own thread; on a GPU-less machine the renderer's threads come on top of that.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpt2gl.config import GPT2_SHAPES
from gpt2gl.weights.random import random_checkpoint

ROOT = Path(__file__).parents[1]
TOKENIZER = ROOT / "tests/data/gpt2_bpe"
SMALL, LARGE = "storyteller", "124M"
GOALS = {"generate": 25, "load": 100, "prefill": 100}
Found = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One measurement; `cold` begins without any cache, the drivers' included."""

    name: str
    scene: str
    model: str = SMALL
    precision: str = "fp32"
    cold: bool = False


ROWS = (
    Row("start to first frame", "start"),
    Row("small loads", "load"),
    Row("small writes 200 tokens", "generate"),
    Row("small writes 200 tokens, int8", "generate", precision="int8"),
    Row("small reads 500 tokens", "prefill"),
    Row("small writes under 100,000 characters", "long"),
    Row("idle", "idle"),
    Row("124M loads", "load", LARGE),
    Row("124M loads, int8, packing", "load", LARGE, "int8"),
    Row("124M loads, int8, packed", "load", LARGE, "int8"),
    Row("124M loads, int4, packing", "load", LARGE, "int4"),
    Row("124M loads, caches cold", "load", LARGE, cold=True),
    Row("124M reads 500 tokens", "prefill", LARGE, "int8"),
    Row("124M writes 200 tokens", "generate", LARGE, "int8"),
    Row("124M stops while it reads", "stop", LARGE, "int8"),
)


def write_model(folder: Path) -> Path:
    """A 124M model with random weights, as safetensors with config and tokenizer."""
    from gpt2gl.config import ModelConfig

    folder.mkdir(parents=True)
    config = ModelConfig.gpt2("gpt2")
    n_embd, n_layer, n_head = GPT2_SHAPES["gpt2"]
    described = {"model_type": "gpt2", "n_embd": n_embd, "n_layer": n_layer, "n_head": n_head}
    (folder / "config.json").write_text(json.dumps(described))
    shutil.copy(TOKENIZER / "encoder.json", folder / "vocab.json")
    shutil.copy(TOKENIZER / "vocab.bpe", folder / "merges.txt")
    tensors = random_checkpoint(config, seed=0).tensors
    header: dict[str, Any] = {}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + 4 * math.prod(tensor.shape)
        shape = list(tensor.shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    encoded = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor.read(), "<f4").data)
    return folder


@contextmanager
def screen(wanted: bool) -> Iterator[dict[str, str]]:
    """An environment with a display of its own, if one is wanted."""
    if not wanted:
        yield dict(os.environ)
        return
    sys.path.insert(0, str(ROOT))
    from tests.ui.xvfb import Desktop

    with Desktop() as desktop:
        yield desktop.environment


def measure(
    row: Row, folder: Path, environment: dict[str, str], options: argparse.Namespace
) -> Found:
    """Run one row's process to its end."""
    caches = folder / ("cold" if row.cold else "warm")
    own = {
        **environment,
        "GPT2GL_DATA_DIR": tempfile.mkdtemp(dir=folder),
        "GPT2GL_CONFIG_DIR": tempfile.mkdtemp(dir=folder),
        "GPT2GL_CACHE_DIR": str(caches),
        "BENCH_STARTED": str(time.time()),
    }
    if row.cold:
        own["MESA_SHADER_CACHE_DIR"] = str(caches)
    model = str(folder / LARGE) if row.model == LARGE else row.model
    command = [sys.executable, str(ROOT / "tools/window_probe.py"), row.scene, model]
    command += [row.precision, *([] if options.xvfb else ["--headless"])]
    command += ["--tokens", str(options.tokens)]
    done = subprocess.run(command, env=own, stdout=subprocess.PIPE, check=True)
    found: Found = json.loads(done.stdout)
    return found


def warm_up(rows: Sequence[Row], folder: Path) -> None:
    """Have the shaders compiled of what is not to be measured cold."""
    for model, precision in sorted({(r.model, r.precision) for r in rows if not r.cold}):
        path = str(folder / LARGE) if model == LARGE else model
        own = {**os.environ, "GPT2GL_CACHE_DIR": str(folder / "warm")}
        subprocess.run(
            [sys.executable, "-m", "gpt2gl.warming", path, precision], env=own, check=True
        )


HEADINGS = (
    "what",
    "frames: p50",
    "p95",
    "p99",
    "longest",
    "drawing p95",
    "slice p95",
    "step p95",
    "longest step",
    "tokens/s (alone)",
    "s",
)


def table_row(row: Row, found: Found) -> tuple[str, ...]:
    """The cells of a row, times in milliseconds as wall / CPU."""
    frames = [at(found["interval"], part) for part in (0.5, 0.95, 0.99, 1.0)]
    parts = [at(found[name], 0.95) for name in ("draw", "work", "step")]
    speed = ""
    if row.scene == "generate":
        speed = f"{found['tokens'] / found['seconds']:.1f} ({found['tokens_alone']:.1f})"
    return (row.name, *frames, *parts, at(found["step"], 1.0), speed, f"{found['seconds']:.1f}")


def at(spans: list[list[float]], part: float) -> str:
    """A quantile of wall and of CPU times, each by itself."""
    if not spans:
        return ""
    last = len(spans) - 1
    values = [sorted(each)[round(last * part)] for each in zip(*spans, strict=True)]
    return " / ".join(f"{1e3 * value:.0f}" for value in values)


def notes(row: Row, found: Found) -> Iterator[str]:
    """What stands out, or what has no frames."""
    if row.scene == "start":
        yield f"{found['seconds']:.2f} s, {found['process_seconds']:.2f} s of CPU time"
    elif row.scene == "idle":
        yield f"{100 * found['process_seconds'] / found['seconds']:.2f} % of a CPU"
    elif row.scene == "stop":
        yield "waits " + " ".join(f"{1e3 * wait:.0f}" for wait in found["pauses"]) + " ms"
    else:
        goal = GOALS.get(row.scene, 50)
        late = sum(1e3 * wall > goal for wall, _ in found["interval"])
        yield f"{late} of {len(found['interval'])} frames later than {goal} ms"
        pauses = [1e3 * pause for pause in found["pauses"]] or [0.0]
        yield f"garbage collection: {len(pauses)}, longest {max(pauses):.0f} ms"
        for wall, cpu, what in found["longest"]:
            yield f"{wall:.0f} / {cpu:.0f} ms to {what}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xvfb", action="store_true", help="a real window")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name contains one")
    parser.add_argument("--tokens", type=int, default=200, help="to write")
    one = "Mesa draws in the window's thread, whose CPU time is then all of it"
    parser.add_argument("--one-thread", action="store_true", help=one)
    parser.add_argument("--notes", action="store_true", help="say which steps were the longest")
    parser.add_argument("--folder", type=Path, help="keep model and caches here for another run")
    options = parser.parse_args()
    if options.one_thread:
        os.environ["LP_NUM_THREADS"] = "0"
    rows = [r for r in ROWS if not options.only or any(o in r.name for o in options.only)]
    with tempfile.TemporaryDirectory(prefix="gpt2gl-bench-") as temporary:
        folder = options.folder or Path(temporary)
        if any(row.model == LARGE for row in rows) and not (folder / LARGE).exists():
            write_model(folder / LARGE)
        (folder / "warm").mkdir(parents=True, exist_ok=True)
        warm_up(rows, folder)
        with screen(options.xvfb) as environment:
            show(rows, folder, environment, options)
    print(f"\nLoad {Path('/proc/loadavg').read_text()[:4]}, {os.cpu_count()} cores")


def show(
    rows: Sequence[Row], folder: Path, environment: dict[str, str], options: argparse.Namespace
) -> None:
    print("| " + " | ".join(HEADINGS) + " |\n" + "|---" * len(HEADINGS) + "|", flush=True)
    remarks = []
    for row in rows:
        if row.name.endswith("packing"):
            shutil.rmtree(folder / "warm/quantised", ignore_errors=True)
        if row.cold:
            shutil.rmtree(folder / "cold", ignore_errors=True)
            (folder / "cold").mkdir()
        found = measure(row, folder, environment, options)
        print("| " + " | ".join(table_row(row, found)) + " |", flush=True)
        said = list(notes(row, found))
        remarks += [row.name, *(f"  {line}" for line in (said if options.notes else said[:1]))]
    print("\n" + "\n".join(remarks))


if __name__ == "__main__":
    main()
