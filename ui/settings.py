"""What the window remembers between runs: `window.json` beside the presets.

One flat JSON object. A value that is damaged falls back to its default and is named; fields that
are not known here, such as a newer version's, stay in the file.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gpt2gl.config import shown
from gpt2gl.errors import OptionError
from gpt2gl.generation import CONTEXT_POLICIES, GENERATION_OPTIONS, TOP_P, Generation
from gpt2gl.presets import BUILT_IN, SAMPLING_FIELDS, Preset, config_folder
from gpt2gl.sampling import SAMPLING_OPTIONS, Number, Option, Sampling
from gpt2gl.small_files import read_object, shown_path, write_whole

from .chats.writer import Writer

FILE_NAME = "window.json"
THEMES = ("light", "dark", "system")
PRECISIONS = ("fp32", "fp16", "int8", "int4")
TINTS = ("off", "probability", "entropy")
START_PRESET = "balanced"
MAX_TEXT = 1000


# Kinds of values that the library's options do not have ----------------------------------------


@dataclass(frozen=True, kw_only=True)
class OneOf(Option):
    """One of several names."""

    names: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """The names."""
        return " | ".join(self.names)

    def check(self, value: Any) -> str:
        """Return the name; OptionError for another value."""
        if not isinstance(value, str) or value not in self.names:
            raise self.refuse(value)
        return value


@dataclass(frozen=True, kw_only=True)
class Switch(Option):
    """On or off."""

    @property
    def allowed(self) -> str:
        """The two values."""
        return "true | false"

    def check(self, value: Any) -> bool:
        """Return the value; OptionError for anything but true and false."""
        if not isinstance(value, bool):
            raise self.refuse(value)
        return value


@dataclass(frozen=True, kw_only=True)
class Name(Option):
    """A short text of one line, or None."""

    @property
    def allowed(self) -> str:
        """The same words for every option of this kind."""
        return f"up to {MAX_TEXT} characters in one line, or none"

    def check(self, value: Any) -> str | None:
        """Return the text; OptionError for another type, an empty or a long text."""
        if value is None:
            return None
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or "\n" in value:
            raise self.refuse(value)
        return value


@dataclass(frozen=True, kw_only=True)
class Texts(Option):
    """Any number of texts that are not empty."""

    @property
    def allowed(self) -> str:
        """The same words for every option of this kind."""
        return "texts that are not empty"

    def check(self, value: Any) -> tuple[str, ...]:
        """Return a tuple; OptionError for a single text, another type or an empty text."""
        return Generation(stop=value).stop


@dataclass(frozen=True, kw_only=True)
class Pair(Option):
    """Two whole numbers of the same range, or None where `optional`."""

    each: Number
    optional: bool = False

    @property
    def allowed(self) -> str:
        """The range of both."""
        return f"two of {self.each.allowed}{', or none' if self.optional else ''}"

    def check(self, value: Any) -> tuple[int, int] | None:
        """Return a tuple; OptionError for another count or a number out of range."""
        if value is None and self.optional:
            return None
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise self.refuse(value)
        first, second = (self.each.check(number) for number in value)
        return int(first or 0), int(second or 0)


# The settings -----------------------------------------------------------------------------------


def _start_values() -> Generation:
    values = dict(BUILT_IN[START_PRESET].values)
    return Generation(Sampling(**values), context_policy="roll")


def _whole(name: str, help: str, low: int, high: int) -> Number:
    return Number(cli=name, help=help, kind=int, minimum=low, maximum=high, slider=(low, high))


def _setting(default: object, option: Option, label: str) -> Any:
    return field(default=default, metadata={"option": option, "label": label})


_SIDE = _whole("side", "A width or height in pixels.", 200, 16384)
_PLACE = _whole("place", "A coordinate on the desktop in pixels.", -65536, 65536)
_SCALE = Number(
    cli="ui_scale",
    help="Make everything larger or smaller; without a value the display decides.",
    kind=float,
    minimum=0.5,
    maximum=4,
    optional=True,
    slider=(0.75, 3),
)


@dataclass(frozen=True)
class Settings:
    """Everything that is kept between runs; change it with `with_value` and `replace`.

    Lengths are in units of the interface: pixels at a scale of 1; those of the window are pixels
    of the desktop. Values are not checked here but where they come in, by `CONTROLS`.
    """

    generation: Generation = field(default_factory=_start_values)
    preset: str | None = _setting(
        START_PRESET, Name(cli="preset", help="The preset that was chosen last."), "Preset"
    )
    model: str | None = _setting(
        None, Name(cli="model", help="The model that answers; none is the one inside."), "Model"
    )
    precision: str = _setting(
        "fp32",
        OneOf(
            cli="precision",
            help="How weights are stored: less precise ones take less memory and often less time.",
            names=PRECISIONS,
        ),
        "Precision",
    )
    theme: str = _setting(
        "system",
        OneOf(cli="theme", help="Light, dark, or as the desktop is.", names=THEMES),
        "Theme",
    )
    font_size: int = _setting(16, _whole("font_size", "Size of text.", 10, 40), "Font size")
    ui_scale: float | None = _setting(None, _SCALE, "Scale")
    reduced_motion: bool = _setting(
        False, Switch(cli="reduced_motion", help="Nothing moves by itself."), "Reduce motion"
    )
    token_tint: str = _setting(
        "off",
        OneOf(cli="token_tint", help="What the tint of generated text shows.", names=TINTS),
        "Token tint",
    )
    sidebar_open: bool = _setting(
        True, Switch(cli="sidebar_open", help="Show the list of chats."), "Sidebar"
    )
    sidebar_width: int = _setting(
        260, _whole("sidebar_width", "Width of the list of chats.", 160, 800), "Sidebar width"
    )
    inspector_open: bool = _setting(
        False, Switch(cli="inspector_open", help="Show what happens inside."), "Inspector"
    )
    inspector_width: int = _setting(
        380, _whole("inspector_width", "Width of the inspector.", 200, 4000), "Inspector width"
    )
    hints_seen: tuple[str, ...] = _setting(
        (), Texts(cli="hints_seen", help="Hints that need not be shown again."), "Hints seen"
    )
    recent: tuple[str, ...] = _setting(
        (), Texts(cli="recent", help="Commands and chats that were used lately."), "Used lately"
    )
    window_size: tuple[int, int] = _setting(
        (1180, 780), Pair(cli="window_size", help="Size of the window.", each=_SIDE), "Window size"
    )
    window_position: tuple[int, int] | None = _setting(
        None,
        Pair(cli="window_position", help="Place of the window.", each=_PLACE, optional=True),
        "Window position",
    )
    last_chat: str | None = _setting(
        None, Name(cli="last_chat", help="The chat that was open last."), "Last chat"
    )

    def with_preset(self, preset: Preset) -> Settings:
        """Take over a preset: options that it does not name get defaults, the seed stays."""
        values = {"seed": self.generation.sampling.seed, **preset.values}
        sampling = Sampling(**{n: v for n, v in values.items() if n in SAMPLING_FIELDS})
        others = {n: v for n, v in values.items() if n not in SAMPLING_FIELDS}
        default = Generation()
        kept = replace(self.generation, max_tokens=default.max_tokens, stop=default.stop)
        generation = replace(kept, sampling=sampling, **others)
        return replace(self, generation=generation, preset=preset.name)


DEFAULTS = Settings()


# Controls ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Control:
    """One value as the window offers it: `option` has its help sentence, range and slider."""

    name: str
    label: str
    option: Option
    get: Callable[[Settings], Any]
    put: Callable[[Settings, Any], Settings]

    @property
    def default(self) -> Any:
        """The value of a first start."""
        return self.get(DEFAULTS)


_LABELS: Mapping[str, str] = {
    "no_repeat_ngram": "No repeated n-grams",
    "min_new_tokens": "Min tokens",
    "keep": "Keep at the beginning",
}


def _label(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " ").capitalize())


def _of_sampling(name: str) -> Control:
    def put(settings: Settings, value: Any) -> Settings:
        sampling = replace(settings.generation.sampling, **{name: value})
        return replace(settings, generation=replace(settings.generation, sampling=sampling))

    option = TOP_P if name == "top_p" else SAMPLING_OPTIONS[name]
    return Control(name, _label(name), option, lambda s: getattr(s.generation.sampling, name), put)


def _of_generation(name: str, label: str, option: Option) -> Control:
    def put(settings: Settings, value: Any) -> Settings:
        return replace(settings, generation=replace(settings.generation, **{name: value}))

    return Control(name, label, option, lambda s: getattr(s.generation, name), put)


def _of_window(name: str, metadata: Mapping[str, Any]) -> Control:
    def put(settings: Settings, value: Any) -> Settings:
        return replace(settings, **{name: value})

    return Control(name, metadata["label"], metadata["option"], lambda s: getattr(s, name), put)


_STOP = Texts(cli="stop", help="Texts that end an answer; they are not part of it.")
_POLICY = OneOf(
    cli="context_policy",
    help="What to do when the text reaches the model's context.",
    names=tuple(CONTEXT_POLICIES),
)

# Name -> control, for every value that is kept; the names are the fields of the file.
CONTROLS: Mapping[str, Control] = {
    control.name: control
    for control in (
        *(_of_sampling(name) for name in SAMPLING_FIELDS),
        *(_of_generation(n, _label(n), option) for n, option in GENERATION_OPTIONS.items()),
        _of_generation("stop", "Stop texts", _STOP),
        _of_generation("context_policy", "When the context is full", _POLICY),
        *(_of_window(f.name, f.metadata) for f in fields(Settings) if f.metadata),
    )
}


def with_value(settings: Settings, name: str, value: Any) -> Settings:
    """The settings with one value changed; OptionError says what is allowed instead."""
    control = CONTROLS[name]
    return control.put(settings, control.option.check(value))


def reset(settings: Settings, name: str) -> Settings:
    """The settings with one value as at the first start."""
    return CONTROLS[name].put(settings, CONTROLS[name].default)


# The file ---------------------------------------------------------------------------------------


class SettingsFile:
    """Reads the settings once and writes them in the background.

    `problems` says in one line each what in the file had to be replaced by a default.
    """

    def __init__(self, writer: Writer, path: Path | None = None) -> None:
        self.path = path or config_folder() / FILE_NAME
        self.problems: list[str] = []
        self._writer = writer
        self._unknown: dict[str, Any] = {}
        self._damaged = False
        self._saved: Settings | None = None

    def load(self) -> Settings:
        """The settings in the file, defaults where it has none or damaged ones; never raises."""
        settings = DEFAULTS
        self.problems = []
        for name, value in self._read().items():
            if name not in CONTROLS:
                self._unknown[name] = value
                continue
            try:
                settings = with_value(settings, name, value)
            except OptionError as problem:
                default = shown(CONTROLS[name].default)
                where = f"{shown_path(self.path)}: {name}"
                self.problems.append(f"{where}: {problem}: {default} is used")
        self._saved = None if self.problems else settings
        return settings

    def save_soon(self, settings: Settings) -> bool:
        """Have the settings written in the background; whether they differ from the file's."""
        if settings == self._saved:
            return False
        self._saved = settings
        values = {name: control.get(settings) for name, control in CONTROLS.items()}
        # Escaped, since half a surrogate pair cannot be written otherwise.
        data = f"{json.dumps({**self._unknown, **values}, indent=2)}\n".encode()
        self._writer.put("settings", lambda: self._write(data))
        return True

    def _read(self) -> dict[str, Any]:
        try:
            return read_object(self.path, OptionError)
        except FileNotFoundError:
            return {}
        except OptionError as problem:
            self._damaged = True
            self.problems.append(f"{problem}; defaults are used")
            return {}

    def _write(self, data: bytes) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._damaged and self.path.exists():
            kept = self.path.with_name(f"{self.path.name}.damaged")
            shutil.copyfile(self.path, kept)
            kept.chmod(0o600)
        write_whole(self.path, data)
        self._damaged = False
