"""Names that match a few typed letters, the best first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

from gpt2gl_ui.chats.search import fold

Item = TypeVar("Item")
ENOUGH = 500  # of more items that match, these are the first
START, BOUNDARY, RUN, GAP = 12.0, 8.0, 10.0, 0.3


def best(
    items: Iterable[Item], name: Callable[[Item], str], query: str, most: int
) -> list[tuple[Item, tuple[int, ...]]]:
    """Up to `most` items whose name has the letters of the query in order, and which letters of
    the name those are. Equally good ones stay in their order; of very many that match, only the
    first are compared."""
    letters = "".join(fold(query).split())
    found = []
    pattern = _pattern(letters)
    search = pattern.search
    for item in items:
        folded = _aligned(name(item))
        if search(folded):
            places = match(folded, letters)
            found.append((score(folded, places), item, places))
            if len(found) == ENOUGH:
                break
    found.sort(key=lambda each: -each[0])
    return [(item, places) for _, item, places in found[:most]]


@lru_cache(maxsize=256)
def _pattern(letters: str) -> re.Pattern[str]:
    """Finds in C what most names fail."""
    return re.compile(".*?".join(map(re.escape, letters)), re.DOTALL)


@lru_cache(maxsize=1 << 14)
def _aligned(name: str) -> str:
    """The name folded letter by letter, so that places in both are the same."""
    if name.isascii():
        return name.lower()
    return "".join((fold(letter) or " ")[0] for letter in name)


def match(folded: str, letters: str) -> tuple[int, ...]:
    """The best places of the letters: together where they stand together, else at the beginnings
    of words, else the first that there are. They must be in the name."""
    whole = folded.find(letters)
    if whole >= 0:
        word = re.search(rf"\b{re.escape(letters)}", folded)
        start = word.start() if word else whole
        return tuple(range(start, start + len(letters)))
    return _at_words(folded, letters) or _first(folded, letters)


def _at_words(folded: str, letters: str) -> tuple[int, ...]:
    """Each letter the beginning of a word, or the one after the last place; () if that fails."""
    places: list[int] = []
    for letter in letters:
        last = places[-1] if places else -2
        if last + 1 < len(folded) and last >= 0 and folded[last + 1] == letter:
            places.append(last + 1)
            continue
        found = re.compile(rf"\b{re.escape(letter)}").search(folded, max(last + 1, 0))
        if found is None:
            return ()
        places.append(found.start())
    return tuple(places)


def _first(folded: str, letters: str) -> tuple[int, ...]:
    places: list[int] = []
    at = -1
    for letter in letters:
        at = folded.index(letter, at + 1)
        places.append(at)
    return tuple(places)


def score(folded: str, places: tuple[int, ...]) -> float:
    """Higher for letters that stand together, begin words, or come early."""
    total = 0.0
    for index, at in enumerate(places):
        if at == 0:
            total += START
        elif not folded[at - 1].isalnum():
            total += BOUNDARY
        if index and places[index - 1] == at - 1:
            total += RUN
    gaps = places[-1] - places[0] + 1 - len(places) if places else 0
    return total - GAP * gaps - 0.01 * len(folded)
