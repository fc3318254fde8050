"""A loaded model with its tokenizer: text in, events out.

What the command line, the window and users of the library call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import TokenizerError
from gpt2gl.generation import (
    CANCELLED,
    CONTEXT,
    CONTEXT_POLICIES,
    LENGTH,
    STOP,
    TIME,
    Event,
    Finished,
    Generation,
    Token,
    Trimmed,
    Working,
)
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.sampling import Sampler
from gpt2gl.stop_filter import StopFilter
from gpt2gl.tokenizer import StreamDecoder, Tokenizer


class Session:
    """A model on a device, with the text its cache holds.

    One generation at a time; `cancel` may be called from any thread, everything else from the
    thread that loaded the model. `close`, or leaving a `with` block, frees the GPU.
    """

    def __init__(self, model: GPT2, tokenizer: Tokenizer | None, name: str) -> None:
        self.model = model
        self.name = name
        self._tokenizer = tokenizer
        self._cached: list[int] = []
        self._cancelled = threading.Event()

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer.

        Raises:
            TokenizerError: the model came without one.
        """
        if self._tokenizer is None:
            raise TokenizerError(f"{self.name} has no tokenizer: give token ids instead of text")
        return self._tokenizer

    # Generating --------------------------------------------------------------------------------

    def generate(
        self, prompt: str | Sequence[int], options: Generation | None = None
    ) -> Iterator[Event]:
        """Continue a prompt: text, or token ids. An empty prompt starts from end-of-text.

        Yields `Working` between bounded pieces of work, `Token` for each token, last `Finished`.

        Raises:
            ContextLengthError: the prompt is too long and the policy is to stop.
            OptionError: an option names a token the model does not have.
        """
        return _Run(self, self.prompt_tokens(prompt), options or Generation()).events()

    def prompt_tokens(self, prompt: str | Sequence[int]) -> list[int]:
        """Token ids of a prompt; the end-of-text token where it is empty."""
        tokens = self.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
        if tokens:
            return tokens
        config = self.model.config
        for start in (self.tokenizer.eos_id, config.bos_token_id, config.eos_token_id):
            if start is not None:
                return [start]
        raise TokenizerError(f"{self.name} has no end-of-text token to start from: give a prompt")

    def cancel(self) -> None:
        """End the running generation at its next bounded step; safe from any thread."""
        self._cancelled.set()

    def encode_steps(self, tokens: Sequence[int]) -> Iterator[None]:
        """Bring the cache to `tokens`, encoding only what differs from the text it holds."""
        n_valid = _common_prefix(self._cached, tokens)
        # Until the last draw the cache is neither the old text nor the new one beyond this.
        self._cached = list(tokens[:n_valid])
        yield from self.model.encode(tokens, n_valid)
        self._cached = list(tokens)

    def logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """[vocab_size] logits after the last of `tokens`.

        Raises:
            ContextLengthError, OptionError: too many tokens, none, or one that does not exist.
        """
        for _ in self.encode_steps(tokens):
            pass
        return self.model.logits()

    def row_logits(self, tokens: Sequence[int]) -> Iterator[NDArray[np.float32]]:
        """Logits after every token, [rows, vocab_size] chunk by chunk; see `GPT2.row_logits`."""
        self._cached = []
        return self.model.row_logits(tokens)

    def trace(self, tokens: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        """Every named tensor of a pass over `tokens`; see `gpt2gl.models.gpt2_trace`."""
        self._cached = []
        return self.model.trace(tokens)

    # Lifetime ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the GPU; safe to call twice."""
        self.model.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Run:
    """One generation: the text so far, the window of it that the model sees, the clock."""

    def __init__(self, session: Session, prompt: list[int], options: Generation) -> None:
        self.session = session
        self.options = options
        self.text = list(prompt)
        self.window = list(prompt)
        self.n_prompt = len(prompt)
        config = session.model.config
        tokenizer = session._tokenizer
        n_valid = min(tokenizer.vocab_size, config.vocab_size) if tokenizer else None
        self.eos_ids = set(config.eos_token_ids)
        if tokenizer is not None and tokenizer.eos_id is not None:
            self.eos_ids.add(tokenizer.eos_id)
        eos = min(self.eos_ids, default=None)
        self.sampler = Sampler(options.sampling, config.vocab_size, eos, n_valid)
        self.decoder = StreamDecoder(tokenizer) if tokenizer else None
        self.filter = StopFilter(options.stop)
        self.start = time.perf_counter()
        self.first_token: float | None = None
        session._cancelled.clear()

    def events(self) -> Iterator[Event]:
        reason = LENGTH
        if len(self.window) > self.session.model.config.n_positions:
            yield self._trim()
        while len(self.text) - self.n_prompt < self.options.max_tokens:
            interrupted = yield from self._encode()
            if interrupted:
                reason = interrupted
                break
            token = self._next_token()
            if token.id in self.eos_ids:
                reason = STOP
                break
            yield token
            if self.filter.hit:
                reason = STOP
                break
            if len(self.window) > self.session.model.config.n_positions:
                if self.options.context_policy == "stop":
                    reason = CONTEXT
                    break
                yield self._trim()
        yield self._finished(reason)

    def _encode(self) -> Generator[Working, None, str | None]:
        total = len(self.window)
        for _ in self.session.encode_steps(self.window):
            yield Working(len(self.session._cached), total)
            if self.session._cancelled.is_set():
                return CANCELLED
            limit = self.options.time_limit
            if limit is not None and time.perf_counter() - self.start > limit:
                return TIME
        return None

    def _next_token(self) -> Token:
        logits = self.session.model.logits()
        choice = self.sampler.sample(logits, self.text, self.n_prompt)
        if self.first_token is None:
            self.first_token = time.perf_counter() - self.start
        if choice.token in self.eos_ids:
            return Token(choice.token, "", choice.logprob, choice.probability)
        self.text.append(choice.token)
        self.window.append(choice.token)
        text = self.filter.push(self.decoder.push(choice.token)) if self.decoder else ""
        return Token(choice.token, text, choice.logprob, choice.probability)

    def _trim(self) -> Trimmed:
        policy = CONTEXT_POLICIES[self.options.context_policy]
        before = len(self.window)
        self.window = policy(self.window, self.session.model.config.n_positions, self.options.keep)
        return Trimmed(before - len(self.window), len(self.window))

    def _finished(self, reason: str) -> Finished:
        held = self.filter.push(self.decoder.flush()) if self.decoder else ""
        return Finished(
            reason=reason,
            text=held + self.filter.flush(),
            prompt_tokens=self.n_prompt,
            new_tokens=len(self.text) - self.n_prompt,
            seed=self.sampler.seed,
            first_token_seconds=self.first_token,
            seconds=time.perf_counter() - self.start,
        )


def _common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n
