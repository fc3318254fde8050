"""What the list of chats is searched for, and what was found so far: work in slices."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gpt2gl_ui.chats.search import Hit, Search
from gpt2gl_ui.chats.store import Store
from gpt2gl_ui.chats.tree import Chat

SLICE = 0.004  # seconds
PAUSE = 0.12  # of typing, before the search begins
MOST = 200


class Finder:
    """One search at a time; `ask` in each frame, `work` between frames.

    Attributes:
        hits: what is known of the answer.
        asked: the words that `hits` are about.
        searching: whether more may come.
    """

    def __init__(self, store: Store) -> None:
        self.hits: list[Hit] = []
        self.asked = ""
        self.searching = False
        self._search = Search(store)
        self._noted: list[Chat] = []
        self._starts = 0.0
        self._steps: Iterator[bool] | None = None

    def ask(self, query: str, unsaved: list[Chat]) -> float | None:
        """Search for something else from now on, or for the same; an empty query ends it.

        `unsaved` are chats that the disk does not have, or not as they are now. Gives when the
        search begins, in seconds of `time.monotonic`, for a frame to be drawn then.
        """
        query = " ".join(query.split())
        if query == self.asked:
            return None
        self.asked, self._noted = query, unsaved
        self.searching = bool(query)
        self._steps = None
        if not query:
            self.hits = []
            return None
        self._starts = time.monotonic() + PAUSE
        return self._starts

    def again(self, unsaved: list[Chat]) -> None:
        """Search for the same anew, e.g. after a chat was deleted."""
        query, self.asked = self.asked, ""
        self.ask(query, unsaved)

    def work(self) -> bool:
        """A slice of the search, if there is one to do; whether something new can be drawn."""
        if not self.searching or time.monotonic() < self._starts:
            return False
        if self._steps is None:
            self._steps = self._all_steps()
        until = time.monotonic() + SLICE
        for done in self._steps:
            if done or time.monotonic() >= until:
                break
        return True

    def _all_steps(self) -> Iterator[bool]:
        """Yields whether that was all."""
        self._search.begin()
        for chat in self._noted:
            self._search.note(chat)
        while not self._search.update(time.monotonic() + SLICE / 2):
            yield False
        found: list[Hit] = []
        for hits in self._search.scan(self.asked):
            found += hits
            if len(found) >= MOST:
                break
            yield False
        for chat in self._noted:
            self._search.forget(chat.id)
        self.hits, self.searching = found[:MOST], False
        yield True
