"""What all pictures share: which positions have changed, and drawing in bounded steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence

from gpt2gl.gl.call import Call, Prepared, Step
from gpt2gl.gl.pictures import Picture, Pictures
from gpt2gl.models.gpt2_capture import Capture

# A picture's draws do not depend on the step.
STEP = Step(0, 1)


class View(ABC):
    """A picture that follows something on the device.

    `picture` is another object after a change of size, so ask for it each frame. `update` and
    `draw` leave the context in the device's hands, as the model's own steps do: call
    `device.end()` before a window toolkit draws.
    """

    def __init__(self, pictures: Pictures) -> None:
        self.pictures = pictures
        self._picture: Picture | None = None
        self._calls: dict[object, Prepared] = {}

    @property
    def picture(self) -> Picture:
        """What is shown; drawn by the last `update` that was run to its end."""
        if self._picture is None:
            self._picture = self.pictures.make(1, 1)
        return self._picture

    @abstractmethod
    def update(self) -> Iterator[None]:
        """Bring the picture up to date, yielding between bounded draws; does nothing, and does
        not yield, where nothing has changed."""

    def draw(self) -> Picture:
        """`update` at once."""
        for _ in self.update():
            pass
        return self.picture

    def close(self) -> None:
        """Delete the picture; safe to call twice."""
        self._calls.clear()
        if self._picture is not None:
            self.pictures.discard(self._picture)
            self._picture = None

    def _resize(self, width: int, height: int, *, linear: bool = False) -> bool:
        """Whether there is a new picture, with nothing in it."""
        old = self._picture
        if old is not None and (old.width, old.height) == (width, height):
            return False
        self._picture = self.pictures.make(width, height, linear=linear)
        self._calls.clear()
        if old is not None:
            self.pictures.discard(old)
        return True

    def _prepared(self, key: object, make: Call) -> Prepared:
        if key not in self._calls:
            self._calls[key] = self.pictures.device.prepare(make)
        return self._calls[key]

    def _textures(self) -> object:
        """Something that is another once the textures that are drawn from are others."""
        return None

    def _steps(
        self, prepared: Prepared, values: Sequence[float] = ()
    ) -> Generator[None, None, bool]:
        """Draw; returns whether it came to an end before its textures became others."""
        textures = self._textures()
        self.pictures.set_view(values)
        for _ in self.pictures.device.draw((prepared,), STEP):
            yield
            if self._textures() != textures:
                return False
            # Somebody else may have drawn another picture, or on the context, since.
            self.pictures.set_view(values)
        return True


class Follower:
    """Which positions of a captured text have changed since they were last drawn."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.drawn = 0
        self.is_complete = False  # not, while all of the picture is being drawn
        self._rewinds = len(capture.rewinds)
        self._epoch = capture.epoch

    def changed(self) -> tuple[int, int]:
        """First position that is not as drawn, and the end of those: of new ones, or of old ones
        that are no more."""
        first = min([self.drawn, *self.capture.rewinds[self._rewinds :]])
        return min(first, self.capture.n_rows), max(self.drawn, self.capture.n_rows)

    def done(self, n_rows: int, n_rewinds: int) -> None:
        """Everything is drawn as it was when there were so many rows and rewinds."""
        self.drawn = n_rows
        self.is_complete = True
        self._rewinds = n_rewinds

    def has_moved(self) -> bool:
        """Whether the histories are other textures than the last time this was asked."""
        moved = self._epoch != self.capture.epoch
        self._epoch = self.capture.epoch
        return moved
