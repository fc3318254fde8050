"""Generations while they run: one text, or several that share a prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import OptionError
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
from gpt2gl.sampling import Sampler
from gpt2gl.stop_filter import StopFilter
from gpt2gl.tokenizer import StreamDecoder, Tokenizer

if TYPE_CHECKING:
    from gpt2gl.models.gpt2 import GPT2
    from gpt2gl.models.gpt2_batch import Batch


class Host(Protocol):
    """What a run needs of the session that it belongs to."""

    model: GPT2
    name: str

    @property
    def tokenizer_or_none(self) -> Tokenizer | None: ...

    @property
    def is_cancelled(self) -> bool: ...

    @property
    def n_encoded(self) -> int: ...

    def encode_steps(self, tokens: Sequence[int]) -> Iterator[None]: ...

    def hold(self) -> Callable[[], None]: ...


class Run:
    """One generation: the text so far, the window of it that the model sees, the clock."""

    def __init__(self, session: Host, prompt: list[int], options: Generation) -> None:
        self.start = time.perf_counter()
        self.session = session
        self.options = options
        self.text = list(prompt)
        self.window = list(prompt)
        self.n_prompt = len(prompt)
        self.n_positions = session.model.config.n_positions
        tokenizer = session.tokenizer_or_none
        if options.stop and tokenizer is None:
            raise OptionError(f"--stop is text and {session.name} has no tokenizer: leave it out")
        # Ids that only one of tokenizer and model knows are never chosen.
        vocab_size = session.model.config.vocab_size
        n_valid = min(tokenizer.vocab_size, vocab_size) if tokenizer else vocab_size
        self.eos_ids = _eos_ids(session, n_valid)
        eos = min(self.eos_ids, default=None)
        self.other_eos_ids = sorted(self.eos_ids - {eos})
        self.sampler = Sampler(options.sampling, vocab_size, eos, n_valid)
        self.decoder = StreamDecoder(tokenizer) if tokenizer else None
        self.filter = StopFilter(options.stop)
        self.first_token: float | None = None
        self._check_prompt()

    def _check_prompt(self) -> None:
        """Refuse a prompt before anything is shown, not at the first step."""
        if self.is_full and self.options.context_policy == "stop":
            self._kept()
        for first in range(0, self.n_prompt, self.n_positions):
            self.session.model.check_tokens(self.text[first : first + self.n_positions])

    @property
    def n_new(self) -> int:
        return len(self.text) - self.n_prompt

    @property
    def is_full(self) -> bool:
        return len(self.window) > self.n_positions

    def events(self) -> Iterator[Event]:
        reason = yield from self._tokens()
        yield self.finished(reason)

    def _tokens(self) -> Generator[Event, None, str]:
        """Make tokens; returns why no more are made."""
        while True:
            limit = self.limit()
            if limit is not None:
                return limit
            if self.is_full:
                yield self._trim()
            interrupted = yield from self._encode()
            if interrupted is not None:
                return interrupted
            token, reason = self.take(self.session.model.logits())
            if token is not None:
                yield token
            if reason is not None:
                return reason

    def limit(self) -> str | None:
        """Why no token can be added, if there is a reason."""
        if self.n_new >= self.options.max_tokens:
            return LENGTH
        return CONTEXT if self.is_full and self.options.context_policy == "stop" else None

    def take(self, logits: NDArray[np.float32]) -> tuple[Token | None, str | None]:
        """Choose the next token from `logits` [vocab_size]; with why the text ends, if it does."""
        token = self._next_token(logits)
        if token.id in self.eos_ids:
            return None, STOP
        return token, STOP if self.filter.hit else None

    def _encode(self) -> Generator[Working, None, str | None]:
        """Encode the window; returns why that was interrupted, or None."""
        total = len(self.window)
        for _ in self.session.encode_steps(self.window):
            yield Working(self.session.n_encoded, total)
            interrupted = self.interrupted()
            if interrupted is not None:
                return interrupted
        return None

    def interrupted(self) -> str | None:
        """Why to stop between two bounded steps, if there is a reason."""
        if self.session.is_cancelled:
            return CANCELLED
        limit = self.options.time_limit
        return TIME if limit is not None and time.perf_counter() - self.start > limit else None

    def _next_token(self, logits: NDArray[np.float32]) -> Token:
        if self.n_new < self.options.sampling.min_new_tokens:
            # The sampler knows one token that ends a text, and a model may have several.
            logits[self.other_eos_ids] = -np.inf
        choice = self.sampler.sample(
            logits, self.text, self.n_prompt, self.options.alternatives
        )
        if self.first_token is None:
            self.first_token = time.perf_counter() - self.start
        text = "" if choice.token in self.eos_ids else self._append(choice.token)
        return Token(
            choice.token,
            text,
            choice.logprob,
            choice.probability,
            choice.alternatives,
            choice.entropy,
        )

    def _append(self, token: int) -> str:
        """Add a token to the text; returns what can be shown now."""
        self.text.append(token)
        self.window.append(token)
        return self.filter.push(self.decoder.push(token)) if self.decoder else ""

    def _kept(self) -> list[int]:
        policy = CONTEXT_POLICIES[self.options.context_policy]
        return policy(self.window, self.n_positions, self.options.keep)

    def _trim(self) -> Trimmed:
        before = len(self.window)
        self.window = self._kept()
        return Trimmed(before - len(self.window), len(self.window))

    def finished(self, reason: str) -> Finished:
        """The end, with what was held back."""
        held = self.filter.push(self.decoder.flush()) if self.decoder else ""
        return Finished(
            reason=STOP if self.filter.hit else reason,
            text=held + self.filter.flush(),
            prompt_tokens=self.n_prompt,
            new_tokens=self.n_new,
            seed=self.sampler.seed,
            first_token_seconds=self.first_token,
            seconds=time.perf_counter() - self.start,
        )


class Rows:
    """Several continuations of one prompt, as many at once as the device draws together."""

    def __init__(self, session: Host, prompt: list[int], n: int, options: Generation) -> None:
        if n < 1:
            raise OptionError(f"--num is {n}; allowed: a whole number of 1 or more")
        if options.context_policy != "stop":
            raise OptionError(
                f"--num {n} goes with --context-policy stop only, not {options.context_policy}"
            )
        self.session = session
        self.prompt = prompt
        self.runs = [Run(session, prompt, options)]
        seed = self.runs[0].sampler.seed
        for row in range(1, n):
            sampling = replace(options.sampling, seed=seed + row)
            self.runs.append(Run(session, prompt, replace(options, sampling=sampling)))

    def events(self) -> Iterator[tuple[int, Event]]:
        at_once = self.session.model.device.limits.rows_per_fragment
        for first in range(0, len(self.runs), at_once):
            rows = dict(enumerate(self.runs))
            yield from self._together({r: rows[r] for r in list(rows)[first : first + at_once]})

    def _together(self, rows: dict[int, Run]) -> Iterator[tuple[int, Event]]:
        """Runs that fit one batch, from the prompt to the end of the last of them."""
        interrupted = yield from self._encode_prompt(rows)
        if interrupted is not None:
            yield from _all_finished(rows, interrupted)
            return
        # Importing the model imports OpenGL, which takes longer than to refuse a bad option.
        from gpt2gl.models.gpt2_batch import Batch

        model = self.session.model
        most = max(run.options.max_tokens for run in rows.values())
        batch = Batch(model, len(self.prompt), len(rows), most)
        try:
            yield from self._decode(batch, rows)
        finally:
            batch.close()

    def _encode_prompt(
        self, rows: dict[int, Run]
    ) -> Generator[tuple[int, Event], None, str | None]:
        row, run = next(iter(rows.items()))
        for _ in self.session.encode_steps(self.prompt):
            yield row, Working(self.session.n_encoded, len(self.prompt))
            interrupted = run.interrupted()
            if interrupted is not None:
                return interrupted
        return None

    def _decode(self, batch: Batch, rows: dict[int, Run]) -> Iterator[tuple[int, Event]]:
        require_prompt = self.session.hold()
        of_prompt = self.session.model.logits()
        logits = np.broadcast_to(of_prompt, (len(rows), len(of_prompt)))
        active = dict(rows)
        while active:
            for (row, run), row_logits in zip(rows.items(), logits, strict=True):
                if row not in active:
                    continue
                reason = run.limit() or (yield from _take(row, run, row_logits)) or run.limit()
                if reason is not None:
                    del active[row]
                    yield row, run.finished(reason)
            if not active:
                return
            # Rows that have ended go on unseen, with the token they ended with.
            for _ in batch.decode([run.text[-1] for run in rows.values()]):
                row, run = next(iter(active.items()))
                yield row, Working(len(run.text), len(run.text))
                require_prompt()
                interrupted = run.interrupted()
                if interrupted is not None:
                    yield from _all_finished(active, interrupted)
                    return
            logits = batch.logits()


def _take(
    row: int, run: Run, logits: NDArray[np.float32]
) -> Generator[tuple[int, Event], None, str | None]:
    """One more token of a row; returns why the row ends, if it does."""
    token, reason = run.take(logits)
    if token is not None:
        yield row, token
    return reason


def _all_finished(rows: dict[int, Run], reason: str) -> Iterator[tuple[int, Event]]:
    for row, run in rows.items():
        yield row, run.finished(reason)


def _eos_ids(session: Host, n_valid: int) -> set[int]:
    """Tokens that end a text, by the model's config and by its tokenizer."""
    ids = set(session.model.config.eos_token_ids)
    if session.tokenizer_or_none is not None and session.tokenizer_or_none.eos_id is not None:
        ids.add(session.tokenizer_or_none.eos_id)
    return {token for token in ids if token < n_valid}
