"""A dialogue with a model: its turns, and the prompt that fits into the context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gpt2gl.errors import Gpt2glError, OptionError
from gpt2gl.generation import Event, Finished, Generation, Token, Trimmed
from gpt2gl.session import Session
from gpt2gl.templates import ASSISTANT, USER, Template, Turn

MAX_SEED = 2**63


class Dialogue:
    """The turns so far, and what makes the next one.

    When the context is full the model is shown only the newest turns that fill half of it, so
    that many more follow before everything is encoded anew; `turns` keeps them all.

    Attributes:
        options: of the answers to come. The template's stop texts are added; an answer has one
            token at least; with a seed, every answer takes the one after the last answer's.
    """

    def __init__(self, session: Session, template: Template, options: Generation) -> None:
        """Begin a dialogue of no turns; TokenizerError if the model came without a tokenizer."""
        self.session = session
        self.tokenizer = session.tokenizer
        self.template = template
        self.options = options
        self.turns: list[Turn] = []
        self._first_seen = 0
        self._n_answers = 0
        self._dropped = 0  # tokens that the last prompt left out

    @property
    def first_seen(self) -> int:
        """The first of the turns that the last prompt had room for."""
        return self._first_seen

    def say(self, text: str) -> Iterator[Event]:
        """Add a turn of the user's, and yield the events of the answer to it.

        The answer becomes a turn when the iterator ends or is closed, as far as it got; one of no
        text does not.

        Raises:
            ContextLengthError, OptionError, ...: as `Session.generate`; nothing is added then.
        """
        before = len(self.turns)
        self.turns.append(Turn(USER, text))
        try:
            yield from self._answer()
        except Gpt2glError:
            del self.turns[before:]
            raise

    def retry(self) -> Iterator[Event]:
        """Yield the events of another answer, in place of the last.

        Raises:
            OptionError: nothing was said yet.
        """
        if not self.turns:
            raise OptionError("nothing to answer again: say something first")
        if self.turns[-1].role == ASSISTANT:
            self.turns.pop()
        yield from self._answer()

    def answer(self) -> Iterator[Event]:
        """Yield the events of an answer to the turns as they are.

        Raises:
            ContextLengthError, OptionError, ...: as `Session.generate`.
        """
        yield from self._answer()

    def go_on(self) -> Iterator[Event]:
        """Yield the events of more text for the last turn, which must be an answer.

        Raises:
            OptionError: it is none.
            ContextLengthError, ...: as `Session.generate`.
        """
        if not self.turns or self.turns[-1].role != ASSISTANT:
            raise OptionError("no answer to continue: say something first")
        last = self.turns.pop()
        text = ""
        try:
            for event in self._events(self._fitting(lambda: self._opened(last))):
                if isinstance(event, Token | Finished):
                    text += event.text
                yield event
        finally:
            self.turns.append(replace(last, text=last.text + text))

    def undo(self) -> None:
        """Take back the user's last turn and the answer to it.

        Raises:
            OptionError: nothing was said yet.
        """
        users = [i for i, turn in enumerate(self.turns) if turn.role == USER]
        if not users:
            raise OptionError("nothing to take back: say something first")
        del self.turns[users[-1] :]
        self._first_seen = min(self._first_seen, len(self.turns))

    def reset(self) -> None:
        """Forget everything that was said."""
        self.turns.clear()
        self._first_seen = 0

    def _answer(self) -> Iterator[Event]:
        text = ""
        try:
            for event in self._events(self._fitting(self._tokens)):
                if isinstance(event, Token | Finished):
                    if self.template.trimmed and not text:
                        event = replace(event, text=event.text.lstrip())
                    text += event.text
                yield event
        finally:
            if text:
                self.turns.append(Turn(ASSISTANT, text))

    def _events(self, prompt: list[int]) -> Iterator[Event]:
        """The events of a generation, first what of the dialogue it does not see."""
        if self._dropped:
            yield Trimmed(self._dropped, len(prompt))
        try:
            yield from self.session.generate(prompt, self._answer_options())
        finally:
            self._n_answers += 1

    def _answer_options(self) -> Generation:
        sampling = self.options.sampling
        seed = sampling.seed
        if seed is not None:
            seed = (seed + self._n_answers) % MAX_SEED
        least = max(1, sampling.min_new_tokens)
        sampling = replace(sampling, seed=seed, min_new_tokens=least)
        stop = (*self.options.stop, *self.template.stops)
        return replace(self.options, sampling=sampling, stop=stop)

    def _tokens(self) -> list[int]:
        return self.template.prompt(self.turns[self._first_seen :], self.tokenizer)

    def _opened(self, last: Turn) -> list[int]:
        """The prompt for more of an answer."""
        turns = [*self.turns[self._first_seen :], last]
        return self.template.opened(turns, self.tokenizer)

    def _fitting(self, prompt: Callable[[], list[int]]) -> list[int]:
        """The prompt, without the oldest turns if there is not room for it and an answer."""
        if self._first_seen >= len(self.turns):  # these are other turns
            self._first_seen = 0
        tokens = whole = prompt()
        n_positions = self.session.model.config.n_positions
        room = min(self.options.max_tokens, n_positions // 4)
        if len(tokens) + room > n_positions:
            starts = [i for i, turn in enumerate(self.turns) if turn.role == USER]
            later = [i for i in starts if i > self._first_seen]
            if later:
                self._first_seen = self._first_of(later, prompt, n_positions // 2)
                tokens = prompt()
        self._dropped = len(whole) - len(tokens)
        return tokens

    def _first_of(self, starts: list[int], prompt: Callable[[], list[int]], most: int) -> int:
        """The first of the turns from which the prompt has at most that many tokens, else the last.

        Looked for from the end, where prompts are short and quick to encode.
        """

        def fits(index: int) -> bool:
            self._first_seen = starts[index]
            return len(prompt()) <= most

        good, step = len(starts) - 1, 1
        while good >= step and fits(good - step):
            good, step = good - step, 2 * step
        bad = max(-1, good - step)
        while good - bad > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if fits(middle) else (good, middle)
        return starts[good]
