"""Values from JSON that somebody may have edited; ValueError says what was found instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gpt2gl.config import shown
from gpt2gl.templates import ASSISTANT, USER

from .tree import CHAT, MODES

T = TypeVar("T")
CHAT_ID = re.compile(r"[0-9a-f]{32}")
# Beyond it no double counts in ones; seeds are below 2**63.
LARGEST_WHOLE = 1 << 63


def text(value: object) -> str:
    """A text of any length."""
    if not isinstance(value, str):
        raise ValueError(f"a text is needed, found {shown(value)}")
    return value


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"true or false is needed, found {shown(value)}")
    return value


def whole(value: object) -> int:
    """A whole number that fits into 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST_WHOLE:
        raise ValueError(f"a whole number is needed, found {shown(value)}")
    return value


def number(value: object) -> float:
    """A finite number."""
    if isinstance(value, float) and math.isfinite(value):
        return value
    return float(whole(value))


def items(value: object, count: int | None = None) -> list[Any]:
    """A list, of `count` items if that is given."""
    if not isinstance(value, list) or (count is not None and len(value) != count):
        wanted = "a list" if count is None else f"a list of {count}"
        raise ValueError(f"{wanted} is needed, found {shown(value)}")
    return value


def mapping(value: object) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"an object is needed, found {shown(value)}")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else text(value)


def _whole_or_none(value: object) -> int | None:
    return None if value is None else whole(value)


class Fields:
    """The fields of an object, taken one by one; what nobody takes is the rest.

    A field that is missing has the value that is usual for its type.
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = dict(raw)

    def take(self, name: str) -> Any:
        """A field as it is, None if there is none."""
        return self._raw.pop(name, None)

    def rest(self) -> dict[str, Any]:
        """The fields that were not taken."""
        return self._raw

    def text(self, name: str) -> str:
        """A text, which must be there."""
        return self._checked(name, text)

    def text_or_none(self, name: str) -> str | None:
        """A text or None."""
        return self._checked(name, _text_or_none)

    def whole(self, name: str) -> int:
        """A whole number, 0 if it is missing."""
        return self._checked(name, whole, 0)

    def whole_or_none(self, name: str) -> int | None:
        """A whole number or None."""
        return self._checked(name, _whole_or_none)

    def number(self, name: str) -> float:
        """A finite number, 0 if it is missing."""
        return self._checked(name, number, 0.0)

    def flag(self, name: str) -> bool:
        """True or false, false if it is missing."""
        return self._checked(name, flag, False)

    def name(self, name: str) -> str:
        """A text that is not empty."""
        found = self.text(name)
        if not found:
            raise ValueError(f"{name} is empty")
        return found

    def chat_id(self, name: str) -> str:
        """The id of a chat, which is also the name of a file."""
        found = self.text(name)
        if CHAT_ID.fullmatch(found) is None:
            raise ValueError(f"{name} is {shown(found)}: 32 hexadecimal digits are needed")
        return found

    def role(self, name: str) -> str:
        """Who said something."""
        return self._one_of(name, self.text(name), (USER, ASSISTANT))

    def mode(self, name: str) -> str:
        """What kind of chat it is, a dialogue if it is missing."""
        return self._one_of(name, self._checked(name, text, CHAT), MODES)

    def texts_by_text(self, name: str) -> dict[str, str]:
        """An object whose values are texts, an empty one if it is missing."""
        found = self._checked(name, mapping, {})
        return {key: self._named(name, text, value) for key, value in found.items()}

    def _checked(self, name: str, check: Callable[[object], T], missing: object = None) -> T:
        return self._named(name, check, self._raw.pop(name, missing))

    def _named(self, name: str, check: Callable[[object], T], value: object) -> T:
        try:
            return check(value)
        except ValueError as problem:
            raise ValueError(f"{name}: {problem}") from None

    def _one_of(self, name: str, found: str, allowed: tuple[str, ...]) -> str:
        if found not in allowed:
            raise ValueError(f"{name} is {shown(found)}; allowed: {' | '.join(allowed)}")
        return found
