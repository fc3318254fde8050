"""Compare speed with other engines: one run, one machine, the same random weights.

Usage: python tools/bench_peers.py [--quick] [--json] [--context 128] [--prefill 512] ...

Takes GPT-2 small with random weights as `transformers` initialises it, saved to a temporary folder.
Engines: gpt2gl in each precision; transformers on the CPU, and on CUDA, not compiled, where torch
sees it; onnxruntime on the CPU where it is installed.

A token runs from its id to its logits in host memory, on a cache filled by a real prefill, with a
new last token each time. Engines take turns, round by round, and each turn begins with a token
that is not counted. A ratio is taken within a round, so that what slows the machine for a while
slows both sides of it; shown are medians over the rounds, and the extremes.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel

import gpt2gl
from gpt2gl.bench import Spread

Floats = npt.NDArray[np.float32]

PRECISIONS = ("fp32", "fp16", "int8", "int4")
BASES = ("transformers cpu", "transformers cuda")
# Threads of an engine whose turn is over may still spin for work.
PAUSE_SECONDS = 0.2
CHECKED_TOKENS = 24


class Engine(Protocol):
    """A model of one other program. All logits are [vocab_size], in host memory."""

    name: str

    def prompt(self, tokens: Sequence[int]) -> Floats:
        """Logits after `tokens`, from an empty cache; the cache holds them then."""
        ...

    def token(self, token: int) -> Floats:
        """Logits after one token more; the cache holds the prompt alone again then."""
        ...

    def close(self) -> None:
        """Give back memory."""
        ...


# Engines ----------------------------------------------------------------------------------------


class Gpt2gl:
    def __init__(self, folder: Path, precision: str) -> None:
        self.name = f"gpt2gl {precision}"
        self.session = gpt2gl.load(str(folder), precision)
        self.tokens: list[int] = []

    def prompt(self, tokens: Sequence[int]) -> Floats:
        self.tokens = list(tokens)
        # A session reuses what its cache has in common with a text: here nothing may be.
        self.session.logits([(tokens[0] + 1) % self.session.model.config.vocab_size])
        return self.session.logits(self.tokens)

    def token(self, token: int) -> Floats:
        return self.session.logits([*self.tokens, token])

    def close(self) -> None:
        self.session.close()


class Transformers:
    def __init__(self, folder: Path, device: str) -> None:
        self.name = f"transformers {device}"
        self.device = device
        self.model = GPT2LMHeadModel.from_pretrained(folder).eval().to(device)
        self.cache: Any = None

    @torch.inference_mode()
    def prompt(self, tokens: Sequence[int]) -> Floats:
        self.cache = None
        return self._logits(tokens)

    @torch.inference_mode()
    def token(self, token: int) -> Floats:
        logits = self._logits([token])
        self.cache.crop(-1)
        return logits

    def _logits(self, tokens: Sequence[int]) -> Floats:
        ids = torch.tensor([tokens], device=self.device)
        out = self.model(ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        self.cache = out.past_key_values
        return out.logits[0, -1].cpu().numpy()

    def close(self) -> None:
        del self.model, self.cache


class CachedGPT2(torch.nn.Module):
    """GPT-2 on the modules of transformers, with plain tensors as cache, for export to ONNX.

    (ids [1, T], k and v of each layer [1, heads, P, d]) -> (logits [1, vocab], the same caches
    [1, heads, P + T, d]).
    """

    def __init__(self, model: GPT2LMHeadModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        gpt = self.model.transformer
        n_past, new = past[0].shape[2], ids.shape[1]
        positions = torch.arange(n_past, n_past + new)
        visible = torch.arange(n_past + new)[None] <= positions[:, None]  # [T, P + T]
        x = gpt.wte(ids) + gpt.wpe(positions)[None]
        caches: list[torch.Tensor] = []
        for i, block in enumerate(gpt.h):
            z, k, v = self._attention(block, x, past[2 * i], past[2 * i + 1], visible)
            caches += [k, v]
            x = x + block.attn.c_proj(z)
            x = x + block.mlp(block.ln_2(x))
        return self.model.lm_head(gpt.ln_f(x[:, -1])), *caches

    def _attention(
        self, block: Any, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor, visible: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        heads = self.model.config.n_head
        parts = block.attn.c_attn(block.ln_1(x)).chunk(3, -1)
        q, new_k, new_v = (part.reshape(1, x.shape[1], heads, -1).transpose(1, 2) for part in parts)
        k, v = torch.cat((k, new_k), 2), torch.cat((v, new_v), 2)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        probs = torch.softmax(torch.where(visible, scores, -1e9), -1)
        return (probs @ v).transpose(1, 2).reshape(1, x.shape[1], -1), k, v


class OnnxRuntime:
    def __init__(self, folder: Path, onnxruntime: Any) -> None:
        self.name = "onnxruntime cpu"
        model = GPT2LMHeadModel.from_pretrained(folder).eval()
        config = model.config
        self.names = [f"{kind}{i}" for i in range(config.n_layer) for kind in "kv"]
        self.empty = np.zeros((1, config.n_head, 0, config.n_embd // config.n_head), np.float32)
        path = folder / "model.onnx"
        self._export(model, path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = cores()
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self.caches: list[Floats] = []

    def _export(self, model: GPT2LMHeadModel, path: Path) -> None:
        outputs = [f"new_{name}" for name in self.names]
        lengths = {"ids": {1: "new"}, **{name: {2: "past"} for name in self.names}}
        lengths |= {name: {2: "all"} for name in outputs}
        past = [torch.zeros(1, self.empty.shape[1], 2, self.empty.shape[3])] * len(self.names)
        with torch.no_grad():
            torch.onnx.export(
                CachedGPT2(model).eval(),
                (torch.tensor([[1, 2]]), *past),
                str(path),
                input_names=["ids", *self.names],
                output_names=["logits", *outputs],
                dynamic_axes=lengths,
                dynamo=False,
            )

    def prompt(self, tokens: Sequence[int]) -> Floats:
        logits, self.caches = self._run(tokens, [self.empty] * len(self.names))
        return logits

    def token(self, token: int) -> Floats:
        return self._run([token], self.caches)[0]

    def _run(self, tokens: Sequence[int], caches: list[Floats]) -> tuple[Floats, list[Floats]]:
        inputs = {"ids": np.array([tokens]), **dict(zip(self.names, caches, strict=True))}
        logits, *new = self.session.run(None, inputs)
        return logits[0], new

    def close(self) -> None:
        del self.session, self.caches


def makers(folder: Path, precisions: Sequence[str]) -> Iterator[Callable[[], Engine]]:
    """What opens each engine that this machine can run; the base of the ratios first."""
    yield lambda: Transformers(folder, "cpu")
    if torch.cuda.is_available():
        yield lambda: Transformers(folder, "cuda")
    try:
        import onnxruntime
    except ImportError:
        pass
    else:
        yield lambda: OnnxRuntime(folder, onnxruntime)
    for precision in precisions:
        yield lambda name=precision: Gpt2gl(folder, name)


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Measuring --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Tokens of context of a decoded token and of a prompt; rounds; tokens counted in a turn."""

    context: int
    prefill: int
    rounds: int
    tokens: int


@dataclass(frozen=True)
class Row:
    """An engine. `decode` and `prefill` are its times over those of each base, below 1 where it is
    faster; `difference` is the largest of a logit from transformers on the CPU, and `scale` the
    standard deviation of the logits there."""

    engine: str
    decode_ms: Spread
    prefill_s: Spread
    decode: dict[str, Spread]
    prefill: dict[str, Spread]
    difference: float
    scale: float


def compare(config: GPT2Config, precisions: Sequence[str], sizes: Sizes) -> list[Row]:
    """Make the model, open every engine, and measure them in turns."""
    torch.set_num_threads(cores())
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        GPT2LMHeadModel(config).save_pretrained(folder)
        engines = []
        for make in makers(Path(folder), precisions):
            engines.append(make())
            stack.callback(engines[-1].close)
        gc.collect()
        random = np.random.default_rng(0)

        def texts(length: int) -> list[int]:
            return random.integers(0, config.vocab_size, length).tolist()

        logits = [_checked(engine, config) for engine in engines]
        past, first = texts(sizes.context - 1), texts(sizes.prefill)
        for engine in engines:
            engine.prompt(first)  # not counted
            engine.prompt(past)
        rounds = range(sizes.rounds)
        decode = [_in_turns(engines, _tokens_turn, texts(sizes.tokens + 1)) for _ in rounds]
        prefill = [_in_turns(engines, _prompt_turn, texts(sizes.prefill)) for _ in rounds]
    return _rows([engine.name for engine in engines], decode, prefill, logits)


def _checked(engine: Engine, config: GPT2Config) -> Floats:
    """Logits after a text, by way of the cache."""
    random = np.random.default_rng(1)
    *text, last = random.integers(0, config.vocab_size, CHECKED_TOKENS).tolist()
    engine.prompt(text)
    return engine.token(last)


def _in_turns(
    engines: Sequence[Engine], turn: Callable[[Engine, list[int]], float], tokens: list[int]
) -> list[float]:
    """One round: what `turn` measures of each engine on the same tokens."""
    found = []
    for engine in engines:
        time.sleep(PAUSE_SECONDS)
        found.append(turn(engine, tokens))
    return found


def _tokens_turn(engine: Engine, tokens: Sequence[int]) -> float:
    """Milliseconds a token, without the first."""
    engine.token(tokens[0])
    return 1e3 * statistics.median(_seconds(engine.token, token) for token in tokens[1:])


def _prompt_turn(engine: Engine, prompt: Sequence[int]) -> float:
    return _seconds(engine.prompt, prompt)


def _seconds(function: Callable[[Any], object], argument: Any) -> float:
    start = time.perf_counter()
    function(argument)
    return time.perf_counter() - start


def _rows(
    names: Sequence[str],
    decode: Sequence[Sequence[float]],
    prefill: Sequence[Sequence[float]],
    logits: Sequence[Floats],
) -> list[Row]:
    bases = {name: names.index(name) for name in BASES if name in names}
    return [
        Row(
            engine=name,
            decode_ms=Spread.of(times[i] for times in decode),
            prefill_s=Spread.of(times[i] for times in prefill),
            decode={b: Spread.of(t[i] / t[j] for t in decode) for b, j in bases.items()},
            prefill={b: Spread.of(t[i] / t[j] for t in prefill) for b, j in bases.items()},
            difference=float(np.abs(logits[i] - logits[0]).max()),
            scale=float(logits[0].std()),
        )
        for i, name in enumerate(names)
    ]


# Output -----------------------------------------------------------------------------------------


def table_of(rows: Sequence[Row], sizes: Sizes) -> Table:
    table = Table(title=f"context {sizes.context}, prompt {sizes.prefill}, {sizes.rounds} rounds")
    bases = list(rows[0].decode)
    headings = [f"{what} / {base}" for what in ("token", "prompt") for base in bases]
    for heading in ("engine", "ms a token", "s a prompt", *headings, "logits differ"):
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for row in rows:
        ratios = (part[base] for part in (row.decode, row.prefill) for base in bases)
        table.add_row(
            row.engine,
            _spread(row.decode_ms),
            _spread(row.prefill_s),
            *map(_spread, ratios),
            f"{row.difference:.1e} of {row.scale:.1e}",
        )
    return table


def _spread(spread: Spread) -> str:
    return f"{spread.median:.3g} ({spread.min:.3g} to {spread.max:.3g})"


def machine() -> dict[str, Any]:
    return {
        "cores": cores(),
        "cpu": platform.processor() or platform.machine(),
        "system": platform.platform(),
        "torch": torch.__version__,
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare speed with other engines.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and a short prompt")
    parser.add_argument("--context", type=int, default=128, help="tokens, the new one included")
    parser.add_argument("--prefill", type=int, help="tokens of the prompt; 512, or 64 if quick")
    parser.add_argument("--rounds", type=int, help="5, or 3 if quick")
    parser.add_argument("--tokens", type=int, help="counted in a turn; 10, or 4 if quick")
    parser.add_argument("--precision", action="append", choices=PRECISIONS, help="repeatable")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    prefill, rounds, tokens = (64, 3, 4) if args.quick else (512, 5, 10)
    sizes = Sizes(
        args.context, args.prefill or prefill, args.rounds or rounds, args.tokens or tokens
    )
    rows = compare(GPT2Config(), args.precision or PRECISIONS, sizes)
    if args.json:
        found = {"machine": machine(), "sizes": asdict(sizes), "rows": [asdict(r) for r in rows]}
        print(json.dumps(found))
        return
    console = Console(width=200, highlight=False)
    console.print(table_of(rows, sizes))
    console.print(", ".join(f"{name} {value}" for name, value in machine().items() if value))


if __name__ == "__main__":
    main()
