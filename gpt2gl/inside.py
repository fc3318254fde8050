"""Looking inside a model and changing what is there: the part of `Session` for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from gpt2gl.interventions import Intervention
from gpt2gl.lens import Lens, LensReader, check_positions, check_top

if TYPE_CHECKING:
    # Importing the model imports OpenGL, which takes longer than to refuse a bad option.
    from gpt2gl.gl.call import Prepared, Step
    from gpt2gl.models.gpt2 import GPT2

Hook = Callable[[str, NDArray[Any]], None]
T = TypeVar("T")
Self = TypeVar("Self", bound="Inside")


class Inside(ABC):
    """Traces, the logit lens and interventions of a session."""

    model: GPT2

    @property
    @abstractmethod
    def is_closed(self) -> bool:
        """Whether `close` was called."""

    @abstractmethod
    def _require_usable(self) -> None:
        """Refuse a closed session, or one of another thread."""

    @abstractmethod
    def _replace_text(self, tokens: Sequence[int], steps: Iterator[None]) -> Iterator[None]:
        """Claim the cache and run `steps`, which overwrite the text in it."""

    @abstractmethod
    def _forget_text(self) -> None:
        """Make whoever uses the text in the cache start again."""

    # Traces -----------------------------------------------------------------------------------

    def trace(
        self,
        tokens: Sequence[int],
        names: Sequence[str] | None = None,
        hooks: Mapping[str, Hook] | None = None,
    ) -> Mapping[str, NDArray[Any]]:
        """The named tensors of a pass over `tokens`; see `gpt2gl.models.gpt2_trace`.

        Args:
            names: patterns of the tensors to return, such as `h.*.attn.probs`; by default all,
                and with hooks none.
            hooks: by pattern, a function called with name and array of each tensor it matches,
                as they come. Those are not kept.

        Raises:
            ContextLengthError, OptionError, Gpt2glError: as `logits`; or a pattern matches
                nothing.
        """
        return drained(self.trace_steps(tokens, names, hooks))

    def trace_steps(
        self,
        tokens: Sequence[int],
        names: Sequence[str] | None = None,
        hooks: Mapping[str, Hook] | None = None,
    ) -> Generator[None, None, Mapping[str, NDArray[Any]]]:
        """`trace` in bounded steps; its result is the generator's return value.

        Raises:
            ContextLengthError, OptionError, Gpt2glError: as `trace`.
        """
        self._require_usable()
        from gpt2gl.models.gpt2_trace import streamed_steps, trace_steps

        kept: dict[str, NDArray[Any]] = {}
        wanted = None if hooks and names is None else self.model.tensor_names(names)
        calls = [(set(self.model.tensor_names((p,))), hook) for p, hook in (hooks or {}).items()]
        every = set(wanted or ()).union(*(matched for matched, _ in calls))

        def on_tensor(name: str, values: NDArray[Any]) -> None:
            for matched, hook in calls:
                if name in matched:
                    hook(name, values)
            if wanted is not None and name in wanted:
                kept[name] = values

        ordered = [name for name in self.model.tensor_names() if name in every]
        steps = trace_steps if wanted else streamed_steps
        yield from self._replace_text(tokens, steps(self.model, tokens, ordered, on_tensor))
        return kept

    def pass_steps(
        self, tokens: Sequence[int], on_pass: Callable[[Prepared, Step], None]
    ) -> Iterator[None]:
        """Run the passes of `tokens` one at a time; see `gpt2gl.models.gpt2_trace.pass_steps`.

        Raises:
            ContextLengthError, OptionError, Gpt2glError: as `trace`.
        """
        from gpt2gl.models.gpt2_trace import pass_steps

        yield from self._replace_text(tokens, pass_steps(self.model, tokens, on_pass))

    def lens(
        self,
        tokens: Sequence[int],
        positions: Sequence[int] | None = None,
        top: int = 5,
        chosen: Mapping[int, int] | None = None,
    ) -> Lens:
        """What each layer would have said next, by the model's own head: the logit lens.

        Args:
            positions: where in the text; by default everywhere.
            top: guesses to keep of each layer and position.
            chosen: by position, the token whose rank and probability are wanted, where that is
                not the text's next.

        Raises:
            ContextLengthError, OptionError, Gpt2glError: as `logits`; or positions or `top` are
                out of range.
        """
        return drained(self.lens_steps(tokens, positions, top, chosen))

    def lens_steps(
        self,
        tokens: Sequence[int],
        positions: Sequence[int] | None = None,
        top: int = 5,
        chosen: Mapping[int, int] | None = None,
    ) -> Generator[None, None, Lens]:
        """`lens` in bounded steps; its result is the generator's return value.

        Raises:
            ContextLengthError, OptionError, Gpt2glError: as `lens`.
        """
        self._require_usable()
        from gpt2gl.models.gpt2_lens import lens_names, lens_steps

        config = self.model.config
        self.model.check_tokens(list((chosen or {}).values()) or tokens)
        where = check_positions(positions, len(tokens))
        reader = LensReader(
            lens_names(config.n_layer),
            tokens,
            where,
            check_top(top, config.vocab_size),
            chosen or {},
        )
        steps = lens_steps(self.model, tokens, where, reader.on_logits)
        yield from self._replace_text(tokens, steps)
        return reader.result()

    # Interventions -----------------------------------------------------------------------------

    @property
    def interventions(self) -> tuple[Intervention, ...]:
        """What the model runs under now."""
        return self.model.interventions

    def set_interventions(self, interventions: Sequence[Intervention]) -> None:
        """Run under these from now on, instead of those before; an empty list ends it.

        Whatever is running has to be started again, since the model is another one now.

        Raises:
            OptionError: one does not fit the model; those before stay.
            DeviceError: the GPU has no room for them; those before stay.
            Gpt2glError: the session is closed, or another thread's.
        """
        self._require_usable()
        self.model.intervene(interventions)
        self._forget_text()

    @contextmanager
    def intervene(self: Self, *interventions: Intervention) -> Iterator[Self]:
        """Run under interventions, on top of those before, inside a `with` block.

        Raises:
            OptionError, DeviceError, Gpt2glError: as `set_interventions`.
        """
        before = self.interventions
        self.set_interventions([*before, *interventions])
        try:
            yield self
        finally:
            if not self.is_closed:
                self.set_interventions(before)


def drained(steps: Generator[Any, None, T]) -> T:
    """Run a generator to its end; what it returned."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
