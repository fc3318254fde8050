"""How a model wants a dialogue written: data beside the model, in `dialogue.json`.

`{"template": "eos-separated"}`, `{"template": "none"}`, or `{"template": "transcript", "user":
"Alice", "assistant": "Bob"}`. A model without the file is recognised by its name, or else gets a
transcript.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from gpt2gl.config import shown
from gpt2gl.errors import ConfigError, TokenizerError
from gpt2gl.hub import library
from gpt2gl.resources import embedded_models
from gpt2gl.small_files import read_object, shown_path

FILE_NAME = "dialogue.json"
USER, ASSISTANT = "user", "assistant"


@dataclass(frozen=True)
class Turn:
    """What one side said; `role` is `USER` or `ASSISTANT`."""

    role: str
    text: str


class _Encoder(Protocol):
    @property
    def eos_id(self) -> int | None: ...

    def encode(self, text: str) -> list[int]: ...


class Template(ABC):
    """Turns a dialogue into the prompt for the assistant's next turn.

    Attributes:
        trimmed: whether white space around an answer is the template's, not the text's.
        options: fields of dialogue.json beside `template`.
    """

    trimmed: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def prompt(self, turns: Sequence[Turn], tokenizer: _Encoder) -> list[int]:
        """Token ids of the dialogue, up to where the assistant speaks.

        What people wrote stays plain text, even where it spells a special token.

        Raises:
            TokenizerError: the template needs an end-of-text token and there is none.
        """

    def opened(self, turns: Sequence[Turn], tokenizer: _Encoder) -> list[int]:
        """Token ids of a dialogue whose last turn is an answer that is to go on.

        Raises:
            TokenizerError: as `prompt`.
        """
        lead = " " if self.trimmed and turns[-1].text else ""
        return [*self.prompt(turns[:-1], tokenizer), *tokenizer.encode(lead + turns[-1].text)]

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end an answer, beside the end-of-text token."""
        return ()


@dataclass(frozen=True)
class EosSeparated(Template):
    """Every turn is followed by the end-of-text token: `turn<|endoftext|>turn<|endoftext|>`.

    The format of DialoGPT (Zhang et al. 2020, section 3.1; the model's chat template).
    """

    def prompt(self, turns: Sequence[Turn], tokenizer: _Encoder) -> list[int]:
        eos = tokenizer.eos_id
        if eos is None:
            raise TokenizerError(
                f"the tokenizer has no end-of-text token, which an eos-separated dialogue needs:"
                f' set "template": "transcript" in {FILE_NAME}'
            )
        return [token for turn in turns for token in (*tokenizer.encode(turn.text), eos)]


@dataclass(frozen=True)
class Transcript(Template):
    """A play's script, `Name: text` line by line, for models that only continue text."""

    user: str = "User"
    assistant: str = "Assistant"

    trimmed: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("user", "assistant")

    def __post_init__(self) -> None:
        for name in (self.user, self.assistant):
            if not isinstance(name, str) or not name.strip() or not name.isprintable():
                raise ConfigError(f"speaker {shown(name)}: give a name of one line")
        if self.user == self.assistant:
            raise ConfigError(f"both speakers are {shown(self.user)}: give two names")

    def prompt(self, turns: Sequence[Turn], tokenizer: _Encoder) -> list[int]:
        names = {USER: self.user, ASSISTANT: self.assistant}
        lines = [f"{names[turn.role]}: {turn.text.strip()}\n" for turn in turns]
        # No space at the end: GPT-2's tokens begin with theirs.
        return tokenizer.encode(f"{''.join(lines)}{self.assistant}:")

    @property
    def stops(self) -> tuple[str, ...]:
        return f"\n{self.user}:", f"\n{self.assistant}:"


@dataclass(frozen=True)
class Completion(Template):
    """No dialogue: the assistant continues the text, and the user's next piece is a new line."""

    def prompt(self, turns: Sequence[Turn], tokenizer: _Encoder) -> list[int]:
        return tokenizer.encode("".join(_pieces(turns)))

    def opened(self, turns: Sequence[Turn], tokenizer: _Encoder) -> list[int]:
        return self.prompt(turns, tokenizer)


def _pieces(turns: Sequence[Turn]) -> Iterator[str]:
    for i, turn in enumerate(turns):
        yield f"\n{turn.text}" if turn.role == USER and i else turn.text


# `template` in dialogue.json -> the class that takes the file's other fields.
TEMPLATES: Mapping[str, type[Template]] = {
    "eos-separated": EosSeparated,
    "transcript": Transcript,
    "none": Completion,
}
DEFAULT = Transcript()

# Part of a model's name, in lower case -> how it was trained to talk.
KNOWN_MODELS: Mapping[str, Template] = {"dialogpt": EosSeparated()}


def template_for(name_or_path: str) -> Template:
    """The template of a model as `gpt2gl.load` names it: embedded, on the disk or in the cache.

    Raises:
        ConfigError: its dialogue.json or config.json is damaged; names the file and the field.
    """
    path = embedded_models().get(name_or_path) or Path(name_or_path)
    if os.path.exists(path):
        return _template_at(path)
    cached = library.find(name_or_path)
    # A bare name has the current folder as its parent, whose files say nothing about it.
    return _template_at(cached.path) if cached is not None else _known(_names(path)) or DEFAULT


def _template_at(path: Path) -> Template:
    folder = path if path.is_dir() else path.parent
    return template_of(folder, _config(folder / "config.json"), path)


def template_of(
    model_dir: Path, config: Mapping[str, Any], model_file: Path | None = None
) -> Template:
    """The template of the model in a folder.

    Args:
        config: the content of its config.json; `_name_or_path` may name what it was tuned from.
        model_file: the weights, where the folder may hold several models.

    Raises:
        ConfigError: dialogue.json is damaged; names the file and the field.
    """
    path = model_dir / FILE_NAME
    try:
        return _from_object(read_object(path, ConfigError), shown_path(path))
    except FileNotFoundError:
        origin = str(config.get("_name_or_path", ""))
        return _known((*_names(model_file or model_dir), origin)) or DEFAULT


def _from_object(raw: Mapping[str, Any], where: str) -> Template:
    kind = raw.get("template")
    if not isinstance(kind, str) or kind not in TEMPLATES:
        raise ConfigError(f"{where}: template is {shown(kind)}; allowed: {' | '.join(TEMPLATES)}")
    make = TEMPLATES[kind]
    names = {name: value for name, value in raw.items() if name != "template"}
    if unknown := sorted(names.keys() - set(make.options)):
        raise ConfigError(f"{where}: unknown field {shown(unknown[0])} for {kind}: remove it")
    try:
        return make(**names)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _config(path: Path) -> dict[str, Any]:
    try:
        return read_object(path, ConfigError)
    except FileNotFoundError:
        return {}


def _names(path: Path) -> tuple[str, ...]:
    """A model's own name, and the name under which a Hugging Face cache holds it."""
    resolved = path.absolute()
    return path.name, *(part for part in resolved.parts if part.startswith("models--"))


def _known(names: Sequence[str]) -> Template | None:
    lowered = [name.lower() for name in names]
    return next(
        (t for part, t in KNOWN_MODELS.items() if any(part in name for name in lowered)), None
    )
