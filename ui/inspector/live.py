"""Pictures drawn from the model's textures while it runs, and numbers that are read on demand.

A view says in every frame which pictures it shows; they are made, kept up to date and freed in the
engine's time between frames. Nothing is read back for a picture.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from gpt2gl.errors import Gpt2glError
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.session import Session
from gpt2gl.views import Views
from gpt2gl.views.view import View

MOST_NUMBERS = 64
V = TypeVar("V", bound=View)


@dataclass
class Shown:
    """A picture in use: what it is made of, and how far it is drawn."""

    key: Hashable
    view: View
    stamp: object = None
    steps: Iterator[None] | None = None


@dataclass
class Wanted:
    key: Hashable
    make: Callable[[Views], View]


@dataclass
class Asked:
    """A number to be read; that of one `row` stays what it is while rows follow it."""

    read: Callable[[Capture], Any]
    idle: bool
    row: int | None

    def stamp(self, capture: Capture) -> object:
        """Another whenever the number may have become another."""
        if self.row is not None:
            return len(capture.rewinds), self.row < capture.n_rows
        return capture.n_rows, len(capture.rewinds), capture.epoch


class Live:
    """What is captured, the pictures of it, and numbers from it.

    Attributes:
        kinds: what should be captured; it takes effect by `switch`.
        problem: why nothing can be shown, in one line.
    """

    def __init__(self) -> None:
        self.kinds: tuple[str, ...] = ()
        self.problem = ""
        self._captured: tuple[str, ...] | None = None  # of the session; None while closed
        self._views: Views | None = None
        self._shown: dict[str, Shown] = {}
        self._wanted: dict[str, Wanted] = {}
        self._numbers: dict[Hashable, tuple[object, Any]] = {}
        self._asked: dict[Hashable, Asked] = {}

    # What views ask for ------------------------------------------------------------------------

    def begin_frame(self) -> None:
        """Forget what the last frame showed."""
        self._wanted.clear()
        self._asked.clear()

    def picture(self, slot: str, key: Hashable, make: Callable[[Views], V]) -> V | None:
        """The picture of a slot, None until there is one; `key` says which it is."""
        self._wanted[slot] = Wanted(key, make)
        shown = self._shown.get(slot)
        if shown is None or shown.key != key or shown.stamp is None:
            return None
        return shown.view  # type: ignore[return-value]

    def number(
        self,
        key: Hashable,
        read: Callable[[Capture], Any],
        *,
        idle: bool = False,
        row: int | None = None,
    ) -> Any:
        """What `read` gives, None until it was read; an older value while the text grows.

        With `idle` only while nothing is generated, since reading waits for the device. What is
        of one `row` alone is read once, however the text grows.
        """
        self._asked[key] = Asked(read, idle, row)
        return self._numbers.get(key, (None, None))[1]

    # Between frames ----------------------------------------------------------------------------

    @property
    def wants_switch(self) -> bool:
        """Whether something else should be captured than is."""
        return self.kinds != self._captured

    def switch(self, session: Session) -> None:
        """Capture `kinds` from now on; only where no pass is under way."""
        self.release()
        captured, self._captured, self.problem = self._captured, self.kinds, ""
        if captured or self.kinds:
            try:
                session.capture(*self.kinds)
            except Gpt2glError as error:
                self.problem = str(error)
        self._views = Views(session.model)

    @property
    def is_closed(self) -> bool:
        """Whether nothing of this is on the GPU."""
        return self._captured is None

    def close(self, session: Session) -> None:
        """Free everything and capture no more; only where no pass is under way."""
        self.release()
        if self._captured:
            session.capture()
        self._captured, self.kinds = None, ()

    def work(self, session: Session, deadline: float, busy: bool) -> tuple[bool, bool]:
        """Draw and read what is wanted; whether anything became another, and whether there is
        more to do."""
        changed = self._drop_unwanted()
        stamp = self._stamp(session)
        for slot, wanted in self._wanted.items():
            shown = self._shown.get(slot) or self._make(slot, wanted)
            if shown is None or shown.stamp == stamp:
                continue
            if not self._draw(shown, deadline):
                return changed, True
            shown.stamp, changed = stamp, True
        return self._read(session.model.capture, busy) or changed, False

    def has_work(self, session: Session, busy: bool) -> bool:
        """Whether `work` would do anything; cheap."""
        stamp = self._stamp(session)
        keys = {slot: shown.key for slot, shown in self._shown.items()}
        if keys != {slot: wanted.key for slot, wanted in self._wanted.items()}:
            return True
        if any(shown.stamp != stamp for shown in self._shown.values()):
            return True
        return any(True for _ in self._unread(session.model.capture, busy))

    def _stamp(self, session: Session) -> object:
        capture = session.model.capture
        if capture is None:
            return "no capture"
        return capture.n_rows, len(capture.rewinds), capture.epoch

    def _drop_unwanted(self) -> bool:
        gone = [
            slot
            for slot, shown in self._shown.items()
            if slot not in self._wanted or self._wanted[slot].key != shown.key
        ]
        for slot in gone:
            shown = self._shown.pop(slot)
            if self._views is not None:
                self._views.discard(shown.view)
        return bool(gone)

    def _make(self, slot: str, wanted: Wanted) -> Shown | None:
        if self._views is None:
            return None
        try:
            view = wanted.make(self._views)
        except Gpt2glError as error:
            self.problem = str(error)
            return None
        self._shown[slot] = Shown(wanted.key, view)
        return self._shown[slot]

    @staticmethod
    def _draw(shown: Shown, deadline: float) -> bool:
        """Advance a picture until it is drawn, which this returns, or the deadline."""
        if shown.steps is None:
            shown.steps = shown.view.update()
        for _ in shown.steps:
            if time.monotonic() >= deadline:
                return False
        shown.steps = None
        return True

    def _unread(self, capture: Capture | None, busy: bool) -> Iterator[Hashable]:
        if capture is None or not capture.n_rows:
            return
        for key, asked in self._asked.items():
            known = self._numbers.get(key, (None, None))[0]
            if known != asked.stamp(capture) and not (asked.idle and busy):
                yield key

    def _read(self, capture: Capture | None, busy: bool) -> bool:
        keys = list(self._unread(capture, busy))
        for key in keys:
            assert capture is not None
            asked = self._asked[key]
            self._numbers[key] = (asked.stamp(capture), self._number(capture, asked.read))
        while len(self._numbers) > MOST_NUMBERS:
            del self._numbers[next(iter(self._numbers))]
        return bool(keys)

    @staticmethod
    def _number(capture: Capture, read: Callable[[Capture], Any]) -> Any:
        try:
            return read(capture)
        except Gpt2glError:
            return None  # the text became shorter since it was asked for

    # Ending ------------------------------------------------------------------------------------

    def release(self) -> None:
        """Free every picture and forget every number."""
        self._shown.clear()
        self._numbers.clear()
        if self._views is not None:
            self._views.close()
            self._views = None

    def forget(self) -> None:
        """`release`, and the model's capture goes with the model."""
        self.release()
        self._captured, self.kinds = None, ()
