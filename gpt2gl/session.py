"""A loaded model with its tokenizer: text in, events out.

What the command line, the window and users of the library call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import Gpt2glError, OptionError, TokenizerError
from gpt2gl.generation import Event, Generation
from gpt2gl.inside import Inside
from gpt2gl.run import Rows, Run
from gpt2gl.tokenizer import Tokenizer

if TYPE_CHECKING:
    # Importing the model imports OpenGL, which takes longer than to refuse a bad option.
    from gpt2gl.models.gpt2 import GPT2
    from gpt2gl.models.gpt2_capture import Capture

# Tokens after which what is encoded so far counts as encoded: for progress, and so that an
# interrupted prompt need not start over. The model encodes no more than these at once.
CHUNK = 128


class Session(Inside):
    """A model on a device, with the text its cache holds.

    One text at a time, from the thread that loaded the model; only `cancel` may be called from
    any thread. `close`, or leaving a `with` block, frees the GPU; whatever is called after that
    raises `Gpt2glError`.
    """

    def __init__(
        self,
        model: GPT2,
        tokenizer: Tokenizer | None,
        name: str,
        notices: tuple[str, ...] = (),
    ) -> None:
        """Take over a model, which `close` closes, with the tokenizer it came with, if any.

        `notices` are lines on what this driver could not do as asked.
        """
        self.model = model
        self.name = name
        self.notices = notices
        self._tokenizer = tokenizer
        self._cached: list[int] = []
        self._cancelled = threading.Event()
        self._thread = threading.get_ident()
        self._user: object | None = None  # who encodes now
        self._closed = False

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called since the last generation began."""
        return self._cancelled.is_set()

    @property
    def tokenizer_or_none(self) -> Tokenizer | None:
        """The model's tokenizer, if it came with one."""
        return self._tokenizer

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer.

        Raises:
            TokenizerError: the model came without one.
        """
        if self._tokenizer is None:
            raise TokenizerError(
                f"{self.name} has no tokenizer: add tokenizer.json to its folder,"
                " or give token ids instead of text"
            )
        return self._tokenizer

    # Generating --------------------------------------------------------------------------------

    def generate(
        self, prompt: str | Sequence[int], options: Generation | None = None
    ) -> Iterator[Event]:
        """Continue a prompt: text, or token ids. An empty prompt starts from end-of-text.

        Yields `Working` between bounded pieces of work, `Trimmed` where the context is full and
        the policy is to go on, `Token` for each token, last `Finished`. Iteration may be given up
        at any event; the session keeps what is encoded, and the next prompt reuses what both
        have in common.

        Raises:
            ContextLengthError: the prompt is too long and the policy is to stop.
            OptionError: the prompt or an option names a token the model does not have, or stop
                texts are given for a model without a tokenizer.
            TokenizerError: the prompt is text, or empty, and there is no tokenizer to read it.
            Gpt2glError: the session is closed, or another thread's; or, while iterating,
                something else was encoded in between.
        """
        self._require_usable()
        run = Run(self, self.prompt_tokens(prompt), options or Generation())
        self._cancelled.clear()
        return run.events()

    def generate_many(
        self, prompt: str | Sequence[int], n: int, options: Generation | None = None
    ) -> Iterator[tuple[int, Event]]:
        """`n` continuations of one prompt, made together: (row, event), last a `Finished` each.

        The prompt is encoded once and every weight is fetched once for all rows of a batch. Row i
        is what `generate` makes with the seed plus i. At the end of the context a row ends, as
        with the policy `stop`.

        Raises:
            OptionError: `n` is not positive, the context policy is another one, or the model
                runs under interventions.
            As `generate`.
        """
        self._require_usable()
        if self.interventions:
            raise OptionError("interventions hold for one text at a time: use generate()")
        rows = Rows(self, self.prompt_tokens(prompt), n, options or Generation())
        self._cancelled.clear()
        return rows.events()

    def prompt_tokens(self, prompt: str | Sequence[int]) -> list[int]:
        """Token ids of a prompt; the end-of-text token where it is empty.

        Raises:
            TokenizerError: the prompt is text and the model came without a tokenizer, or it is
                empty and no token is known that ends a text.
        """
        tokens = self.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
        if tokens:
            return tokens
        config = self.model.config
        own = self._tokenizer.eos_id if self._tokenizer else None
        for start in (own, config.bos_token_id, config.eos_token_id):
            if start is not None:
                return [start]
        raise TokenizerError(f"{self.name} has no end-of-text token to start from: give a prompt")

    def cancel(self) -> None:
        """End the running generation at its next bounded step; safe from any thread.

        Does nothing to a generation that starts later.
        """
        self._cancelled.set()

    # Encoding ----------------------------------------------------------------------------------

    @property
    def n_encoded(self) -> int:
        """How many tokens the cache holds."""
        return len(self._cached)

    @property
    def encoded(self) -> tuple[int, ...]:
        """The tokens that the cache holds."""
        return tuple(self._cached)

    def encode_steps(self, tokens: Sequence[int]) -> Iterator[None]:
        """Bring the cache to `tokens`, encoding only what differs from the text it holds.

        Yields between bounded steps, at any of which it may be given up. Only what the cache holds
        is reused: the last token is always encoded, as the logits wanted are its own.

        Raises:
            ContextLengthError, OptionError: too many tokens, none, or one that does not exist.
            Gpt2glError: as `generate`.
        """
        done = _common_prefix(self._cached, tokens)
        if 1 < done == len(tokens):
            # Read again as it was read at first, among others: decoded alone, the last token's sums
            # differ in their last bits, and with them what a seed makes of the same prompt.
            done -= 2
        user = self._begin(tokens, done)
        # While it is drawn, what the cache held beyond this is neither the old text nor the new.
        self._cached = list(tokens[:done])
        while True:
            end = min((done // CHUNK + 1) * CHUNK, len(tokens))
            for _ in self.model.encode(tokens[:end], done):
                yield
                self._require_still(user)
                # Another model may have drawn on the context since.
                self.model.device.take()
            self._cached = list(tokens[:end])
            if end == len(tokens):
                return
            done = end

    def logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """[vocab_size] logits after the last of `tokens`.

        Raises:
            ContextLengthError, OptionError: too many tokens, none, or one that does not exist.
            Gpt2glError: as `generate`.
        """
        for _ in self.encode_steps(tokens):
            pass
        return self.model.logits()

    def row_logits(self, tokens: Sequence[int]) -> Iterator[NDArray[np.float32]]:
        """Logits after every token, [rows, vocab_size] chunk by chunk; see `GPT2.row_logits`.

        Raises:
            ContextLengthError, OptionError, Gpt2glError: as `logits`.
        """
        user = self._begin(tokens)
        self._cached = []
        for rows in self.model.row_logits(tokens):
            yield rows
            self._require_still(user)

    def capture(self, *kinds: str, memory_limit: int = 1 << 30) -> Capture | None:
        """Keep scores or activations of every text from now on, on the GPU, for a window to draw
        and `Capture.read_...` to read; without kinds, no more. See `gpt2gl.models.gpt2_capture`.

        The next text is encoded from its first token, also the one that is being generated; the
        call belongs between two events of a generation. What a former call kept is let go.

        Args:
            kinds: of attention, residual, resid_mid, mlp.
            memory_limit: bytes on the GPU above which halves are kept, and then no more.

        Raises:
            OptionError: no such kind.
            DeviceError: the GPU has no room, or the limit is too low; nothing is kept then.
            Gpt2glError: as `generate`.
        """
        self._require_usable()
        model = self.model
        if model.capture is not None:
            model.capture.close()
            model.capture = None
        if not kinds:
            return None
        from gpt2gl.models.gpt2_capture import Capture

        positions = len(self._cached) + 1
        model.capture = Capture(model, kinds, positions=positions, memory_limit=memory_limit)
        self._cached = []
        return model.capture

    def _replace_text(self, tokens: Sequence[int], steps: Iterator[None]) -> Iterator[None]:
        user = self._begin(tokens)
        self._cached = []
        for _ in steps:
            yield
            self._require_still(user)
            # Another model may have drawn on the context since.
            self.model.device.take()

    def _forget_text(self) -> None:
        self._cached = []
        self._user = object()

    def _begin(self, tokens: Sequence[int], known: int = 0) -> object:
        """Claim the cache; whoever had it before is told when they go on."""
        self._require_usable()
        self.model.check_tokens(tokens, known)
        self._user = object()
        return self._user

    def hold(self) -> Callable[[], None]:
        """Keep the text in the cache: what is returned raises `Gpt2glError` once it is gone."""
        user = self._user
        return lambda: self._require_still(user)

    def _require_usable(self) -> None:
        if self._closed:
            raise Gpt2glError(f"{self.name} is closed: load it again")
        if threading.get_ident() != self._thread:
            raise Gpt2glError(
                f"{self.name} is used from another thread than the one it was loaded in:"
                " keep to that one, only cancel() may be called from elsewhere"
            )

    def _require_still(self, user: object | None) -> None:
        self._require_usable()
        if self._user is not user:
            raise Gpt2glError(
                f"{self.name} has begun another text before this one was encoded:"
                " finish one first, or load the model twice"
            )

    # Lifetime ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Free every texture, program and buffer of the model; safe to call twice."""
        self._closed = True
        self._cached = []
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


def _common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two texts have in common from the beginning."""
    if a == b[: len(a)]:  # the usual case, a text that goes on, compared at C speed
        return len(a)
    differing = (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differing, min(len(a), len(b)))
