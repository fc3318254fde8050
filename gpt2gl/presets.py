"""Named settings of text generation: three that ship, and those that people save.

A saved preset is one JSON file, `presets/NAME.json` in the configuration folder:
`{"temperature": 0.7, "top_p": 0.9, "max_tokens": 300, "stop": ["\\n\\n"]}`. Options that it does
not name keep their defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from gpt2gl.config import shown
from gpt2gl.errors import OptionError
from gpt2gl.generation import Generation
from gpt2gl.sampling import SAMPLING_OPTIONS, Number, Sampling
from gpt2gl.small_files import (
    make_private_folder,
    read_object,
    shown_path,
    user_folder,
    write_whole,
)

CONFIG_DIR_VARIABLE = "GPT2GL_CONFIG_DIR"

# Options that hold token ids mean something else with another model, so presets have none.
SAMPLING_FIELDS = tuple(n for n, option in SAMPLING_OPTIONS.items() if isinstance(option, Number))
GENERATION_FIELDS = ("max_tokens", "stop")

# Lower case, so that two presets never share a file where file names ignore case; short enough
# for every file system.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# Names of devices on Windows, whatever the suffix.
_RESERVED = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")


@dataclass(frozen=True)
class Preset:
    """Values for some fields of `Sampling`, and of `Generation` those in `GENERATION_FIELDS`.

    Raises:
        OptionError: an unknown field, or a value outside its range.
    """

    name: str
    values: Mapping[str, Any]
    built_in: bool = False

    def __post_init__(self) -> None:
        known = (*SAMPLING_FIELDS, *GENERATION_FIELDS)
        for name in self.values:
            if name not in known:
                raise OptionError(f"unknown option {shown(name)}; allowed: {', '.join(known)}")
        object.__setattr__(self, "values", _checked(self.values))


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values in their stored form; JSON gives lists for tuples."""
    sampling = Sampling(**{n: v for n, v in values.items() if n in SAMPLING_FIELDS})
    others = {n: v for n, v in values.items() if n in GENERATION_FIELDS}
    generation = Generation(sampling, **others)
    return {n: getattr(sampling if n in SAMPLING_FIELDS else generation, n) for n in values}


BUILT_IN: Mapping[str, Preset] = {
    name: Preset(name, values, built_in=True)
    for name, values in {
        "creative": {"temperature": 1.1, "top_k": 0, "top_p": 0.95, "repetition_penalty": 1.1},
        "balanced": {"temperature": 0.8, "top_k": 40, "top_p": 0.95},
        "precise": {"temperature": 0.3, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.15},
    }.items()
}


def config_folder() -> Path:
    """Where settings are kept: the platform's folder, or what `GPT2GL_CONFIG_DIR` names."""
    return user_folder(
        CONFIG_DIR_VARIABLE, lambda: platformdirs.user_config_dir("gpt2gl", appauthor=False)
    )


def find_preset(name: str) -> Preset:
    """A preset by name.

    Raises:
        OptionError: there is none, listing those there are; or its file is damaged, naming it.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    try:
        return _read(name, _file_of(name))
    except FileNotFoundError:
        known = ", ".join([*BUILT_IN, *saved_names()])
        raise OptionError(f"no preset {shown(name)}; there are {known}") from None


def saved_names() -> list[str]:
    """The names of the saved presets, sorted; files of other names are left alone."""
    try:
        names = [path.stem for path in _folder().iterdir() if path.suffix == ".json"]
    except OSError:
        return []  # none was ever saved, or the folder is not readable, which `save` reports
    return sorted(name for name in names if _is_name(name) and name not in BUILT_IN)


def save_preset(preset: Preset) -> Path:
    """Save a preset, replacing a saved one of that name; returns its file, of mode 0600.

    Raises:
        OptionError: the name is not allowed or built in, or the file cannot be written.
    """
    path = _own_file(preset.name)
    try:
        make_private_folder(path.parent)
    except OSError as error:
        where = shown_path(path.parent)
        raise OptionError(
            f"{where}: cannot be made ({error.strerror}): set {CONFIG_DIR_VARIABLE}"
        ) from None
    text = json.dumps(dict(preset.values), indent=2, ensure_ascii=False)
    write_whole(path, f"{text}\n".encode())
    return path


def remove_preset(name: str) -> None:
    """Delete a saved preset, damaged or not.

    Raises:
        OptionError: there is none of that name, it is built in, or it cannot be deleted.
    """
    path = _own_file(name)
    try:
        path.unlink()
    except FileNotFoundError:
        saved = ", ".join(saved_names()) or "none"
        raise OptionError(f"no saved preset {shown(name)}; saved are {saved}") from None
    except OSError as error:
        raise OptionError(f"{shown_path(path)}: cannot be removed ({error.strerror})") from None


def _read(name: str, path: Path) -> Preset:
    values = read_object(path, OptionError)
    try:
        return Preset(name, values)
    except OptionError as error:
        raise OptionError(
            f"{shown_path(path)}: {error}: edit it, or run 'gpt2gl presets remove {name}'"
        ) from None


def _own_file(name: str) -> Path:
    if name in BUILT_IN:
        raise OptionError(f"preset {name} is built in: choose another name")
    return _file_of(name)


def _file_of(name: str) -> Path:
    if not _is_name(name):
        raise OptionError(
            f"preset name {shown(name)}; allowed: up to 40 of a-z, 0-9, _ and -, not a reserved"
            " name such as con"
        )
    return _folder() / f"{name}.json"


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and _RESERVED.fullmatch(name) is None


def _folder() -> Path:
    return config_folder() / "presets"
