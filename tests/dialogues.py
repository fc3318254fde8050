"""Dialogues with a model that says what a test wants."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from gpt2gl.dialogue import Dialogue
from gpt2gl.errors import ContextLengthError
from gpt2gl.generation import Event, Finished, Generation, Token
from gpt2gl.sampling import Sampling
from gpt2gl.templates import EosSeparated, Template

N_POSITIONS = 40


class Characters:
    """A tokenizer with a token for each character."""

    eos_id = 0

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]


class FakeSession:
    """Answers with the next of some texts, a token for each character."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[list[int]] = []
        self.options: list[Generation] = []
        self.tokenizer = Characters()
        self.model = SimpleNamespace(config=SimpleNamespace(n_positions=N_POSITIONS))
        self.name = "fake"

    def generate(self, prompt: list[int], options: Generation) -> Iterator[Event]:
        self.prompts.append(prompt)
        self.options.append(options)
        if len(prompt) > N_POSITIONS:
            raise ContextLengthError("too long")
        answer = self.answers.pop(0)
        for character in answer[:-1]:
            yield Token(ord(character), character, -1.0, 0.5)
        yield Finished("stop", answer[-1:], len(prompt), len(answer), 0, None, 0.0)


def dialogue(
    *answers: str, template: Template | None = None, **sampling: Any
) -> tuple[Dialogue, FakeSession]:
    session = FakeSession(*answers)
    options = Generation(Sampling(**sampling), max_tokens=5, stop=("END",))
    fake: Any = session
    return Dialogue(fake, template or EosSeparated(), options), session


def said(events: Iterator[Event]) -> str:
    return "".join(e.text for e in events if isinstance(e, Token | Finished))


def texts(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.turns]
