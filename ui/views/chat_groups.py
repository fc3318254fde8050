"""The list of chats as the sidebar shows it: lines under headings of when they were changed."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from gpt2gl_ui.chats.codec import Summary

PRIVATE, PINNED, TODAY, YESTERDAY, WEEK, OLDER = (
    "Private, not saved",
    "Pinned",
    "Today",
    "Yesterday",
    "This week",
    "Older",
)


@dataclass(frozen=True)
class Line:
    """A heading, or a chat under it."""

    heading: str
    chat: Summary | None = None
    private: bool = False


def lines(private: Iterable[Summary], saved: list[Summary], today: datetime.date) -> list[Line]:
    """Headings and chats in the order of the list; only headings with chats."""
    made: list[Line] = []
    own = [Line(PRIVATE, each, private=True) for each in private]
    if own:
        made += [Line(PRIVATE), *own]
    for heading, chats in groupby(saved, Days(today).heading):
        made += [Line(heading), *(Line(heading, each) for each in chats)]
    return made


class Days:
    """Which heading a moment stands under, without asking the calendar for each chat."""

    def __init__(self, today: datetime.date) -> None:
        self._starts = [
            (_midnight(today), TODAY),
            (_midnight(today - datetime.timedelta(days=1)), YESTERDAY),
            (_midnight(today - datetime.timedelta(days=6)), WEEK),
        ]

    def heading(self, summary: Summary) -> str:
        if summary.pinned:
            return PINNED
        return next((name for start, name in self._starts if summary.updated >= start), OLDER)


def _midnight(day: datetime.date) -> float:
    """Where the day begins in this time zone, in seconds since 1970."""
    return datetime.datetime.combine(day, datetime.time()).timestamp()


def places(made: list[Line]) -> Iterator[tuple[str, int]]:
    """Each chat's id, and its line."""
    for index, line in enumerate(made):
        if line.chat is not None:
            yield line.chat.id, index
