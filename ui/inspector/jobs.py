"""Numbers that take a while: computed aside while nothing else runs, and kept for their text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Any

from gpt2gl.errors import Gpt2glError
from gpt2gl.session import Session
from gpt2gl_ui.engine import Engine

MOST_KEPT = 24
Make = Callable[[Session], Generator[Any, None, Any]]


@dataclass(frozen=True)
class Wish:
    """Something to compute: `name` is the view that wants it, `key` from what it is made."""

    name: str
    key: Hashable
    make: Make


class Jobs:
    """At most one runs. A view asks in every frame for what it shows; what is no longer asked for
    under the same name is given up."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.running: Wish | None = None
        self._results: OrderedDict[tuple[str, Hashable], Any] = OrderedDict()
        self._failures: dict[tuple[str, Hashable], str] = {}
        self._wishes: list[Wish] = []

    def result(self, name: str, key: Hashable, make: Make) -> Any:
        """What `make` returned, None as long as it has not; it is begun when there is time."""
        found = (name, key)
        if found in self._results:
            self._results.move_to_end(found)
            return self._results[found]
        if found not in self._failures:
            self._wishes.append(Wish(name, key, make))
        return None

    def failure(self, name: str, key: Hashable) -> str:
        """Why there will be no result, empty if there may be one."""
        return self._failures.get((name, key), "")

    def is_running(self, name: str, key: Hashable = None) -> bool:
        """Whether the job of that name runs, by default whatever it is made from."""
        running = self.running
        return running is not None and running.name == name and key in (None, running.key)

    def begin_frame(self) -> None:
        """Forget what was wished for in the last frame."""
        self._wishes.clear()

    def work(self) -> None:
        """Begin what is wished for, if the engine has nothing else to do."""
        if self.engine.is_busy or self.engine.session is None or not self._wishes:
            return
        if self.running is not None:
            wanted = {wish.name: wish.key for wish in self._wishes}
            if wanted.get(self.running.name, self.running.key) == self.running.key:
                return
        elif not self.engine.is_idle:
            return
        self._begin(self._wishes[0], self.engine.session)

    def begin(self, name: str, key: Hashable, make: Make) -> None:
        """Do something now that has no result, in place of what runs aside."""
        assert self.engine.session is not None
        if (name, key) not in self._failures:
            self._begin(Wish(name, key, make), self.engine.session)

    def _begin(self, wish: Wish, session: Session) -> None:
        def steps() -> Generator[Any, None, None]:
            result = yield from wish.make(session)
            if result is not None:
                self._keep(wish, result)

        def ended(error: Gpt2glError | None) -> None:
            self.running = None
            if error is not None:
                self._failures[wish.name, wish.key] = str(error)

        self._wishes = [each for each in self._wishes if each is not wish]
        self.engine.start_aside(steps(), ended)
        self.running = wish

    def _keep(self, wish: Wish, result: Any) -> None:
        self._results[wish.name, wish.key] = result
        while len(self._results) > MOST_KEPT:
            self._results.popitem(last=False)

    def forget(self) -> None:
        """Drop every result, for another model."""
        self._results.clear()
        self._failures.clear()
        self._wishes.clear()
