"""GPT-2 on a device: tokens in, logits out, every intermediate tensor on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpt2gl.config import ModelConfig
from gpt2gl.errors import ContextLengthError, OptionError
from gpt2gl.gl.call import Call, Prepared, Step
from gpt2gl.gl.device import MAX_ROWS, Device
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import allocate_rows, read_rows
from gpt2gl.gl.tensor import Tensor, single_row_shape
from gpt2gl.interventions import Intervention
from gpt2gl.kv_cache import KVCache, allocate_steps
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.models.gpt2_hooks import Edits
from gpt2gl.models.gpt2_plan import Planner, Scratch
from gpt2gl.models.gpt2_trace import trace_steps
from gpt2gl.models.gpt2_weights import GPT2Weights, Uploader
from gpt2gl.passes import Dims
from gpt2gl.tensor_names import matching, tensor_names
from gpt2gl.weights import Checkpoint

Floats = NDArray[np.float32]


def dims_of(config: ModelConfig) -> Dims:
    """The sizes that passes need."""
    return Dims(
        n_embd=config.n_embd,
        n_head=config.n_head,
        head_dim=config.head_dim,
        n_positions=config.n_positions,
        layer_norm_epsilon=config.layer_norm_epsilon,
    )


class GPT2:
    """A GPT-2 whose weights, cache and activations are textures of one device.

    Made by `load_steps` or `load`. One text at a time: `encode` extends the cached text, then
    `logits` are those of its last token.
    """

    def __init__(
        self,
        device: Device,
        config: ModelConfig,
        layout: str,
        weights: GPT2Weights,
        cache: KVCache,
    ) -> None:
        self.device = device
        self.config = config
        self.layout = layout
        self.dims = dims_of(config)
        self.weights = weights
        self.cache = cache
        self.planner = Planner(device, config, self.dims, weights, self.cache)
        self._logits = self._single_row(config.vocab_size)
        # Inputs in uniform blocks mean one row group at a time: a block holds no more, and its
        # rows cost a CPU no fetch at all.
        self.chunk = device.limits.rows_per_fragment if device.tuning.x_blocks else MAX_ROWS
        self._scratch: dict[tuple[int, int], Scratch] = {}
        self._batch_logits: dict[int, Tensor] = {}
        self._plans: dict[str, list[Prepared]] = {}
        self._edits: Edits | None = None
        # Set by whoever wants to look at the text while it is made.
        self.capture: Capture | None = None

    # Loading -----------------------------------------------------------------------------------

    @classmethod
    def load_steps(
        cls, device: Device, checkpoint: Checkpoint, layout: str
    ) -> Iterator[GPT2 | float]:
        """Upload a checkpoint in steps: yields the fraction done, and last the model.

        Raises:
            OptionError: no such layout.
            WeightError: the checkpoint's file is damaged.
            DeviceError: the GPU has no room for it.
        """
        if layout not in LAYOUTS:
            raise OptionError(f"unknown layout {layout!r}: choose from {', '.join(LAYOUTS)}")
        config, dims = checkpoint.config, dims_of(checkpoint.config)
        uploader = Uploader(device, checkpoint, LAYOUTS[layout], dims)
        for _ in uploader.steps():
            yield uploader.fraction
            device.take()
        steps = allocate_steps(device, dims, config.n_layer, device.limits.rows_per_fragment)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                cache: KVCache = end.value
                break
            yield 1.0
            device.take()
        assert uploader.weights is not None
        yield cls(device, config, layout, uploader.weights, cache)

    @classmethod
    def load(cls, device: Device, checkpoint: Checkpoint, layout: str = "rgba32f") -> GPT2:
        """`load_steps` without the steps."""
        *_, model = cls.load_steps(device, checkpoint, layout)
        assert isinstance(model, GPT2)
        return model

    # Running -----------------------------------------------------------------------------------

    def encode(self, tokens: Sequence[int], n_valid: int) -> Iterator[None]:
        """Bring the cache to hold `tokens`, of which the first `n_valid` are in it already, and
        compute the logits after the last.

        Yields between bounded draws. At least the last token is computed anew.

        Raises:
            ContextLengthError: more tokens than positions.
            OptionError: no tokens, or an id outside the vocabulary.
        """
        self.check_tokens(tokens, n_valid)
        start = min(n_valid, len(tokens) - 1)
        if self.capture is not None:
            start = self.capture.first_row(start)
        if len(tokens) - start == 1:
            yield from self._decode(tokens[-1], start)
            return
        # A fragment writes a whole group of cache rows, so a chunk starts at a group's first.
        start -= start % self.device.limits.rows_per_fragment
        for first in range(start, len(tokens), self.chunk):
            yield from self._prefill(tokens[first : first + self.chunk], first)
        yield from self._run("prefill_head", Step(first, len(tokens) - first))

    def _decode(self, token: int, n_past: int) -> Iterator[None]:
        step = Step(n_past, 1)
        self.device.set_step(step, (token,))
        yield from self._run("decode", step)

    def _prefill(self, tokens: Sequence[int], n_past: int) -> Iterator[None]:
        step = Step(n_past, len(tokens))
        self.device.set_step(step, tokens)
        yield from self._run("prefill", step)

    def _run(self, plan: str, step: Step) -> Iterator[None]:
        capture = self.capture
        prepared = self.plan(plan) if capture is None else (yield from capture.plan(plan, step))
        yield from self.device.draw(prepared, step)
        self.device.check()
        if capture is not None:
            capture.drawn(plan, step)

    def logits(self) -> Floats:
        """[vocab_size] logits after the last token encoded; waits for the device."""
        logits: Floats = read_rows(self.device, self._logits)[0]
        return logits

    def row_logits(self, tokens: Sequence[int]) -> Iterator[Floats]:
        """[T, vocab_size] logits after every token, in chunks of rows; for scoring.

        The text in the cache is replaced.

        Raises:
            ContextLengthError, OptionError: as `encode`.
        """
        self.check_tokens(tokens)
        output = self.plan("row_logits")[-1].call.output
        for first in range(0, len(tokens), self.chunk):
            chunk = tokens[first : first + self.chunk]
            for plan in ("prefill", "row_logits"):
                step = Step(first, len(chunk))
                self.device.set_step(step, chunk)
                for _ in self._run(plan, step):
                    pass
            yield read_rows(self.device, output, 0, len(chunk))

    def trace(
        self, tokens: Sequence[int], names: Sequence[str] | None = None
    ) -> Mapping[str, Any]:
        """Every named tensor of one pass over `tokens`, or those that match any of `names`; see
        `gpt2_trace` for names and shapes, `tensor_names` for patterns.

        The text in the cache is replaced.

        Raises:
            ContextLengthError, OptionError: as `encode`; or a pattern matches nothing.
        """
        self.check_tokens(tokens)
        tensors: dict[str, Any] = {}
        for _ in trace_steps(self, tokens, self.tensor_names(names), tensors.__setitem__):
            pass
        return tensors

    def tensor_names(self, patterns: Sequence[str] | None = None) -> tuple[str, ...]:
        """The names that any of the patterns matches, by default all, in order of computation.

        Raises:
            OptionError: a pattern matches nothing.
        """
        names = tensor_names(self.config.n_layer)
        return names if patterns is None else matching(patterns, names)

    def check_tokens(self, tokens: Sequence[int], known: int = 0) -> None:
        """Refuse what cannot be encoded; the first `known` tokens have been checked before.

        Raises:
            ContextLengthError, OptionError: as `encode`.
        """
        if not tokens:
            raise OptionError("no tokens: start from the end-of-text token")
        if len(tokens) > self.config.n_positions:
            raise ContextLengthError(
                f"{len(tokens)} tokens exceed the model's context of {self.config.n_positions}:"
                " shorten the prompt"
            )
        for token in tokens[known:]:
            if not 0 <= token < self.config.vocab_size:
                raise OptionError(
                    f"token {token} is outside the vocabulary of {self.config.vocab_size}:"
                    " use this model's own tokenizer"
                )

    # Interventions -----------------------------------------------------------------------------

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """What the model runs under now."""
        return () if self._edits is None else self._edits.interventions

    def intervene(self, interventions: Sequence[Intervention]) -> None:
        """Run under these interventions from now on, instead of those before; none ends it.

        Keys and values in the cache are those of the model before, so the caller encodes its
        text from the first token again.

        Raises:
            OptionError: one does not fit the model; those before stay.
            DeviceError: the GPU has no room for them; those before stay.
        """
        if self._edits is not None and interventions and self._edits.replace(interventions):
            return
        new = Edits(self, interventions) if interventions else None
        if self._edits is not None:
            self._edits.close()
        self._edits = new

    # Plans -------------------------------------------------------------------------------------

    def plan(self, name: str) -> list[Prepared]:
        """The prepared calls of a plan, recorded at its first use."""
        plans = self._plans if self._edits is None else self._edits.plans
        if name not in plans:
            plans[name] = self.device.record(self._calls(name))
        return plans[name]

    def warm_up(self) -> Iterator[float]:
        """Compile and draw once what a text needs, pass by pass, so that no later step is long.

        Drivers compile at the first draw with a program rather than before. Yields the fraction
        done. The text in the cache is replaced.
        """
        calls = []
        for name in ("prefill", "prefill_head", "decode"):
            yield 0.0
            self.device.take()
            calls.append((name, self._calls(name)))
        total = 2 * sum(len(each) for _, each in calls)
        done = 0
        for name, each in calls:
            for call in each:
                self.device.prepare(call)  # programs are kept, so the plan finds them made
                done += 1
                yield done / total
            step = Step(0, 1)
            self.device.set_step(step, (0,))
            for prepared in self.plan(name):
                for _ in self.device.draw((prepared,), step):
                    yield done / total
                    self.device.take()
                done += 1
            self.device.check()

    def _calls(self, name: str) -> list[Call]:
        one = self._scratch_of(1, 1)
        many = self._scratch_of(self.device.limits.rows_per_fragment, self.chunk)
        edits = self._edits
        if edits is None:
            return self._unedited(name, one, many)
        return list(edits.applied(self._unedited(name, edits.scratch(one), edits.scratch(many))))

    def _unedited(self, name: str, one: Scratch, many: Scratch) -> list[Call]:
        if name == "trace":
            return [*self.planner.plain(many), *self.planner.plain_head(many)]
        if name == "row_logits":
            return self.planner.plain_head(many)
        if name == "prefill_head":
            return self.planner.head(many.x[0], one, self._logits)
        s = one if name == "decode" else many
        # A layout that does not fold LayerNorm has only the plain reading, and so have edits.
        fused = LAYOUTS[self.layout].fold_ln and self._edits is None
        layers = getattr(self.planner, name) if fused else self.planner.plain
        return [*layers(s), *(self.planner.head(s.x[0], s, self._logits) if s is one else ())]

    def _scratch_of(self, rows: int, max_rows: int) -> Scratch:
        key = (rows, max_rows)
        if key not in self._scratch:
            self._scratch[key] = Scratch(self.device, self.dims, self.config.n_inner, *key)
        return self._scratch[key]

    def batch_scratch(self, rows: int) -> tuple[Scratch, Tensor]:
        """Activations of a batch of that many rows, and its logits; kept for the next batch."""
        scratch = self._scratch_of(rows, rows)
        if rows not in self._batch_logits:
            self._batch_logits[rows] = scratch.tensor(self.config.vocab_size)
        return scratch, self._batch_logits[rows]

    def _single_row(self, columns: int) -> Tensor:
        width, left = single_row_shape(columns)
        return allocate_rows(self.device, 1, columns, "scratch", width=width, left=left)

    # Lifetime ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Delete every texture, program and buffer of the model's device."""
        self.device.close()

    def __enter__(self) -> GPT2:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
