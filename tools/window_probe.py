"""One measurement of the window, in a process of its own: see bench_window.py.

    python tools/window_probe.py SCENE MODEL PRECISION [--headless]

Prints one line of JSON. The clocks are read around what the frame loop and the engine do anyway;
frames are drawn at the full rate, as if something moved, so that a late one is seen.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpt2gl_ui import bootstrap

IDLE_SECONDS = 10.0
PATIENCE = 900.0
SIZE, MINIMUM = (1180, 780), (640, 480)
MESSAGES, CHARACTERS = 100, 1000
PROMPT = "Once upon a time there was a small dog"
SENTENCE = "The little dog ran to the park and saw a big red ball under the old tree. "
Span = tuple[float, float]  # seconds of wall time, and of this thread's CPU time


def clocks() -> Span:
    return time.perf_counter(), time.thread_time()


def since(start: Span) -> Span:
    wall, cpu = clocks()
    return wall - start[0], cpu - start[1]


@dataclass
class Stretch:
    """What was recorded between a beginning and an end.

    `interval` and `draw` hold a frame's, `work` and `step` a slice's and a step's of the engine,
    `longest` the longest steps: (wall ms, CPU ms, what it led to).
    """

    interval: list[Span] = field(default_factory=list)
    draw: list[Span] = field(default_factory=list)
    work: list[Span] = field(default_factory=list)
    step: list[Span] = field(default_factory=list)
    longest: list[tuple[float, float, str]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    process_seconds: float = 0.0
    tokens: int = 0
    tokens_alone: float = 0.0


class Probe:
    """Clocks around an app's frames and steps."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.now = Stretch()
        self._frame: Span | None = None
        self._began: Span = (0.0, 0.0)
        self._collecting = 0.0
        loop, engine = app.loop, app.engine
        loop._draw = self._timed(loop._draw, lambda: self.now.draw)
        engine.work = self._timed(engine.work, lambda: self.now.work)
        self._step, engine._step = engine._step, self._timed_step
        self._build, loop._build = loop._build, self._timed_frame
        gc.callbacks.append(self._collected)

    def begin(self) -> None:
        """Forget what was, record from now on."""
        self.now, self._frame = Stretch(), None
        self._began = (time.perf_counter(), time.process_time())

    def end(self) -> Stretch:
        """What was recorded."""
        self.now.seconds = time.perf_counter() - self._began[0]
        self.now.process_seconds = time.process_time() - self._began[1]
        self.now.longest = sorted(self.now.longest, reverse=True)[:6]
        return self.now

    def _timed(self, action: Callable[..., Any], kept: Callable[[], list[Span]]) -> Any:
        def timed(*arguments: Any) -> Any:
            start = clocks()
            result = action(*arguments)
            kept().append(since(start))
            return result

        return timed

    def _timed_frame(self) -> Any:
        if self._frame is not None:
            self.now.interval.append(since(self._frame))
        self._frame = clocks()
        return self._build()

    def _timed_step(self, job: Any) -> None:
        results: list[Any] = []
        before, self.app.engine.stepped = self.app.engine.stepped, results.append
        start = clocks()
        try:
            self._step(job)
        finally:
            self.app.engine.stepped = before
        wall, cpu = since(start)
        for result in results:
            before(result)
            self.now.tokens += type(result).__name__ == "Token"
        self.now.step.append((wall, cpu))
        what = repr(results[0])[:60] if results else "the end"
        self.now.longest.append((round(1e3 * wall, 1), round(1e3 * cpu, 1), what))

    def _collected(self, phase: str, information: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.perf_counter()
        else:
            self.now.pauses.append(time.perf_counter() - self._collecting)


Scene = Callable[[Any, Probe, Any], Iterator[None]]


def loaded(app: Any, options: Any) -> Iterator[None]:
    """Load the model as the window does, and wait until it rests."""
    app.load_model(options.model)
    while not app.is_ready:
        if app.engine.error is not None:
            raise app.engine.error
        yield
    for _ in range(20):
        yield


def load(app: Any, probe: Probe, options: Any) -> Iterator[None]:
    probe.begin()
    yield from loaded(app, options)


def answered(app: Any, text: str) -> Iterator[None]:
    assert app.talk.send(text)
    while not app.talk.can_write:
        yield


def generate(app: Any, probe: Probe, options: Any) -> Iterator[None]:
    """Answers until there are enough tokens, and as many without a window."""
    yield from loaded(app, options)
    yield from answered(app, PROMPT)
    probe.begin()
    while probe.now.tokens < options.tokens:
        app.shelf.new()
        yield
        yield from answered(app, PROMPT)
    found = probe.end()
    found.tokens_alone = alone(app, options.tokens)


def alone(app: Any, tokens: int) -> float:
    """Tokens a second of `session.generate`, drawn as suits the device."""
    from gpt2gl_ui.talk import ALTERNATIVES

    session, device = app.engine.session, app.engine.session.model.device
    device.fetches_per_draw = device.tuning.fetches_per_draw
    options = app.generation.__class__(
        app.generation.sampling, max_tokens=tokens, alternatives=ALTERNATIVES
    )
    with app.engine.held():
        events = [type(event).__name__ for event in session.generate(PROMPT, options)]
        start = time.perf_counter()
        events = [type(event).__name__ for event in session.generate(PROMPT, options)]
    return events.count("Token") / (time.perf_counter() - start)


def prefill(app: Any, probe: Probe, options: Any) -> Iterator[None]:
    """A prompt of 500 tokens, to the first token of the answer."""
    yield from loaded(app, options)
    app.set("max_tokens", 3)
    tokens = app.engine.session.tokenizer.encode
    text = SENTENCE * (480 // (len(tokens(SENTENCE * 10)) // 10))
    probe.begin()
    yield from answered(app, text)


def long(app: Any, probe: Probe, options: Any) -> Iterator[None]:
    """An answer below 100,000 characters of conversation."""
    yield from loaded(app, options)
    chat = app.talk.chat
    for number in range(MESSAGES // 2):
        chat.say(f"{number} " + (SENTENCE * 20)[:CHARACTERS])
        answer = chat.begin_answer(chat.last.id, options.model)
        chat.append_text(answer.id, (SENTENCE * 20)[:CHARACTERS])
    probe.begin()
    while probe.now.tokens < options.tokens // 2:
        yield from answered(app, "And then?")


def stop(app: Any, probe: Probe, options: Any) -> Iterator[None]:
    """Prompts of 500 tokens, each stopped after a part of a second; `pauses` are the waits."""
    yield from loaded(app, options)
    waits = []
    for part in range(8):
        app.shelf.new()
        assert app.talk.send(SENTENCE * 25)
        begun = time.perf_counter()
        while time.perf_counter() - begun < 0.05 + 0.1 * part and not app.talk.can_write:
            yield
        asked = time.perf_counter()
        app.talk.stop()
        while not app.talk.can_write:
            yield
        waits.append(time.perf_counter() - asked)
    probe.begin()
    probe.now.pauses = waits


SCENES: dict[str, Scene] = {
    "load": load,
    "generate": generate,
    "prefill": prefill,
    "long": long,
    "stop": stop,
}


def measured(app: Any, options: Any) -> Stretch:
    """Let the window run with a scene in it; what the scene recorded."""
    probe = Probe(app)
    scene = SCENES[options.scene](app, probe, options)
    own = app.loop._work
    give_up = time.monotonic() + PATIENCE

    def work(deadline: float) -> bool:
        more = bool(own(deadline))
        app.loop.animate_until(time.monotonic() + 1)
        try:
            next(scene)
        except StopIteration:
            app.loop.stop()
        if time.monotonic() > give_up:
            raise TimeoutError(options.scene)
        return more

    app.loop._work = work
    app.loop.on_error = _raise
    app.loop.run()
    found = probe.now
    return found if found.seconds else probe.end()


def idle(app: Any, options: Any) -> Stretch:
    """CPU time of all threads while nothing happens, the model loaded."""
    import pyglet

    scene = loaded(app, options)
    own = app.loop._work

    def work(deadline: float) -> bool:
        more = bool(own(deadline))
        if next(scene, "rests") == "rests":
            app.loop.stop()
        return more or not app.loop._stopped

    app.loop._work = work
    app.loop.run()
    app.loop._work = own
    probe = Probe(app)
    # Toasts and the like have their time first.
    pyglet.clock.schedule_once(lambda passed: probe.begin(), 3.0)
    pyglet.clock.schedule_once(lambda passed: app.loop.stop(), 3.0 + IDLE_SECONDS)
    app.loop.run()
    return probe.end()


def start(app: Any, options: Any) -> Stretch:
    """From the start of the process to the first frame on the screen."""
    app.loop.step()
    found = Stretch()
    found.seconds = time.time() - float(os.environ["BENCH_STARTED"])
    found.process_seconds = time.process_time()
    return found


def _raise(error: Exception) -> None:
    raise error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=[*SCENES, "idle", "start"])
    parser.add_argument("model")
    parser.add_argument("precision")
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--tokens", type=int, default=200)
    options = parser.parse_args()
    bootstrap.prepare(headless=options.headless)
    from gpt2gl_ui.app import App
    from gpt2gl_ui.settings import with_value
    from gpt2gl_ui.window import open_window

    app = App(open_window("gpt2gl", SIZE, MINIMUM))
    app.settings = with_value(app.settings, "precision", options.precision)
    scenes: dict[str, Any] = {"idle": idle, "start": start}
    found = scenes.get(options.scene, measured)(app, options)
    app.quit()
    app.close()
    print(json.dumps({**asdict(found), "renderer": _renderer()}))


def _renderer() -> str:
    return f"{os.uname().machine}, {os.cpu_count()} cores, {Path('/proc/loadavg').read_text()[:4]}"


if __name__ == "__main__":
    main()
