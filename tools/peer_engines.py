"""The engines that `bench_peers.py` compares, behind one interface."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from transformers import GPT2LMHeadModel

import gpt2gl

Floats = npt.NDArray[np.float32]


class Engine(Protocol):
    """A model of one other program. All logits are [vocab_size], in host memory."""

    name: str

    def prompt(self, tokens: Sequence[int]) -> Floats:
        """Logits after `tokens`, as from an empty cache; the cache holds them then.

        They begin with another token than the prompt before.
        """
        ...

    def token(self, token: int) -> Floats:
        """Logits after one token more; the cache holds the prompt alone again then."""
        ...

    def close(self) -> None:
        """Give back memory."""
        ...


class Gpt2gl:
    def __init__(self, folder: Path, precision: str) -> None:
        self.name = f"gpt2gl {precision}"
        self.session = gpt2gl.load(str(folder), precision)
        self.tokens: list[int] = []

    def prompt(self, tokens: Sequence[int]) -> Floats:
        # A session reuses what its cache has in common with a text: here nothing may be.
        assert self.tokens[:1] != list(tokens[:1])
        self.tokens = list(tokens)
        return self.session.logits(self.tokens)

    def token(self, token: int) -> Floats:
        return self.session.logits([*self.tokens, token])

    def close(self) -> None:
        self.session.close()


class Transformers:
    def __init__(self, folder: Path, device: str, threads: int, name: str) -> None:
        self.name = name
        self.device = device
        self.threads = threads
        self.model = GPT2LMHeadModel.from_pretrained(folder).eval().to(device)
        self.cache: Any = None
        # Renamed in transformers 5.
        names = inspect.signature(self.model.forward).parameters
        self.cache_name = "cache" if "cache" in names else "past_key_values"

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
        torch.set_num_threads(self.threads)
        ids = torch.tensor([tokens], device=self.device)
        past = {self.cache_name: self.cache}
        out = self.model(ids, **past, use_cache=True, logits_to_keep=1)
        self.cache = out[1]
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
    yield lambda: Transformers(folder, "cpu", cores(), "transformers cpu")
    if cores() > 1:
        yield lambda: Transformers(folder, "cpu", 1, "transformers cpu 1 thread")
    if torch.cuda.is_available():
        yield lambda: Transformers(folder, "cuda", cores(), "transformers cuda")
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
