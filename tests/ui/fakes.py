"""The app without a model: an engine that is ready at once and says what a test wants it to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from imgui_bundle import imgui

from gpt2gl.generation import Event, Finished, Generation, Token, Working
from gpt2gl.sampling import Alternative
from gpt2gl_ui.app import App
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.engine import READY
from gpt2gl_ui.views import composer, conversation, notebook
from gpt2gl_ui.widgets import Area
from gpt2gl_ui.window import open_window
from tests.ui.driver import Clock, Driver


class FakeTokenizer:
    """A token is a character, its id the code point."""

    eos_id = 0

    def encode(self, text: str) -> list[int]:
        return [ord(each) for each in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


@dataclass
class FakeSession:
    """Answers with `words`, one each step; `prompts` are the texts it was given.

    With `held` it makes no token until a test clears that.
    """

    words: Sequence[str] = ("Once", " upon", " a", " time", ".")
    reason: str = "stop"
    name: str = "storyteller"
    n_positions: int = 1024
    held: bool = False
    working: int = 0
    prompts: list[str] = field(default_factory=list)
    tokenizer: FakeTokenizer = field(default_factory=FakeTokenizer)
    is_cancelled: bool = False
    n_encoded: int = 0

    def __post_init__(self) -> None:
        pool = SimpleNamespace(bytes_by_use={"weights": 4 << 20, "cache": 1 << 20})
        device = SimpleNamespace(
            take=lambda: None,
            fetches_per_draw=1_000_000,
            pool=pool,
            limits=SimpleNamespace(is_software=True),
        )
        config = SimpleNamespace(n_positions=self.n_positions)
        self.model = SimpleNamespace(config=config, device=device)

    @property
    def tokenizer_or_none(self) -> FakeTokenizer:
        return self.tokenizer

    def generate(self, prompt: str | list[int], options: Generation) -> Iterator[Event]:
        self.is_cancelled = False
        text = prompt if isinstance(prompt, str) else self.tokenizer.decode(prompt)
        self.prompts.append(text)
        return self._events(len(text))

    def _events(self, n_prompt: int) -> Iterator[Event]:
        while self.held and not self.is_cancelled:
            yield Working(self.working, max(n_prompt, self.working))
        made = 0
        for word in self.words:
            if self.is_cancelled:
                break
            made += 1
            yield Token(made, word, -0.7, 0.5, alternatives(word), 1.5)
        reason = "cancelled" if self.is_cancelled else self.reason
        yield Finished(reason, "", n_prompt, made, 7, 0.1, 1.0)

    def cancel(self) -> None:
        self.is_cancelled = True

    def close(self) -> None:
        """Nothing is held."""


def alternatives(word: str) -> tuple[Alternative, ...]:
    """Ten, `word`'s first character the first."""
    ids = [ord(word[0]) if word else 65, *range(97, 106)]
    return tuple(
        Alternative(id, 0.5 / (rank + 1), 0.6 / (rank + 1) if rank < 4 else 0.0)
        for rank, id in enumerate(ids)
    )


@dataclass
class Stage:
    """An app with somebody at its window; `session` is the fake model's, None for none."""

    app: App
    driver: Driver
    session: FakeSession | None

    def rest(self) -> None:
        """Frames until the engine has nothing to do."""
        self.driver.until(lambda: not self.app.engine.is_busy, "the engine is idle")
        self.driver.frame(2)

    def say(self, text: str) -> None:
        """A message and its answer."""
        assert self.app.talk.send(text)
        self.rest()


@contextmanager
def staged(
    folder: Path,
    patch: pytest.MonkeyPatch,
    session: FakeSession | None = None,
    size: tuple[int, int] = (1000, 700),
    whole: bool = False,
) -> Iterator[Stage]:
    """An app whose files are in `folder`, closed at the end.

    Only the conversation and the composer, or the notebook, are drawn, unless the `whole` window
    is asked for.
    """
    if not whole:
        patch.setattr("gpt2gl_ui.app.draw_window", _draw_middle)
    for name in ("DATA", "CONFIG", "CACHE"):
        patch.setenv(f"GPT2GL_{name}_DIR", str(folder / name.lower()))
    app = App(open_window("test", size, (200, 200)))
    app.loop.on_error = _raise
    clock = Clock()
    app.loop.clock = app.backend._clock = clock
    if session is not None:
        give_model(app, session)
    stage = Stage(app, Driver(app.window, app.backend, app.loop, app.hook, clock), session)
    try:
        yield stage
    finally:
        app.engine.session = None
        app.close()


class NoFences:
    """Nothing runs on the GPU; and a clock that stands still has no deadlines to wait until."""

    def mark(self) -> None:
        """A step ended."""

    def wait(self, deadline: float, most: int) -> bool:
        return True

    def close(self) -> None:
        """Nothing is held."""


def give_model(app: App, session: Any) -> None:
    """Have a session answer as if it had been loaded, a step in each frame."""
    app.engine._fences = NoFences()  # type: ignore[assignment]
    app.engine.session, app.engine.state, app.engine.name = session, READY, session.name


def _draw_middle(app: App) -> None:
    view = imgui.get_main_viewport()
    area = Area(view.pos.x, view.pos.y, view.size.x, view.size.y)
    if app.talk.chat.mode == NOTEBOOK:
        notebook.draw(app, area)
        return
    low = composer.height(app, area.width)
    conversation.draw(app, Area(area.x, area.y, area.width, area.height - low))
    composer.draw(app, Area(area.x, area.bottom - low, area.width, low))
    app.toasts.draw()


def _raise(error: Exception) -> None:
    """Tests want to see what the app would only report."""
    raise error
