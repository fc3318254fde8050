"""What the settings dialogue is in the middle of, and how values are written and read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpt2gl.errors import OptionError
from gpt2gl.presets import BUILT_IN, Preset, find_preset, saved_names
from gpt2gl.sampling import Number, Option

LONGEST_SHOWN = 24


@dataclass
class Undo:
    """What can be taken back, in words, and how."""

    text: str
    action: Callable[[], None]


@dataclass
class Form:
    """What is half written.

    Attributes:
        section: the one that is shown while nothing is searched for.
        query: what settings are searched for.
        drafts: texts of fields that are being changed, by the field's name.
        reasons: why what was typed last was not taken, by the field's name.
        renaming: the preset whose name is being changed.
        undo: what was deleted or reset last.
        presets: those there are, or the error of one; None when to be looked for again.
    """

    section: str = ""
    query: str = ""
    drafts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    renaming: str | None = None
    focus: bool = False
    undo: Undo | None = None
    is_open: bool = False
    presets: list[tuple[str, Preset | OptionError]] | None = None

    def all_presets(self) -> list[tuple[str, Preset | OptionError]]:
        """Names with their presets, the built-in ones first."""
        if self.presets is None:
            names = [*BUILT_IN, *saved_names()]
            self.presets = [(name, _found(name)) for name in names]
        return self.presets


def _found(name: str) -> Preset | OptionError:
    try:
        return find_preset(name)
    except OptionError as error:
        return error


# Numbers ----------------------------------------------------------------------------------------


def number_text(value: float | None) -> str:
    """A number as its field shows it; empty for None."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def read_number(option: Number, text: str) -> Any:
    """The number that was typed; OptionError with a reason for anything else."""
    typed = text.strip()
    if not typed and option.optional:
        return None
    try:
        value = option.kind(typed.replace(",", ".") if option.kind is float else typed)
    except (ValueError, OverflowError):
        raise refusal(option, typed) from None
    return checked(option, value, typed)


def checked(option: Option, value: Any, typed: str) -> Any:
    """The value in its stored form; OptionError repeats what was typed."""
    try:
        return option.check(value)
    except (OptionError, OverflowError):
        raise refusal(option, typed) from None


def refusal(option: Option, typed: str) -> OptionError:
    """Why something typed is not taken, in one line."""
    shown = typed if len(typed) <= LONGEST_SHOWN else typed[: LONGEST_SHOWN - 1] + "…"
    named = f"“{shown}” is not possible" if shown else "Something is needed here"
    return OptionError(f"{named}; allowed: {option.allowed}")


# Texts with line breaks in one line -------------------------------------------------------------

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_READ = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def escaped(text: str) -> str:
    r"""A text in one line: `\n`, `\r`, `\t` and `\\` stand for what cannot be seen."""
    return "".join(_ESCAPES.get(each, each) for each in text)


def unescaped(text: str) -> str:
    """What `escaped` was given; a backslash before anything else stays."""
    return re.sub(r"\\([nrt\\])", lambda found: _READ[found[1]], text)
