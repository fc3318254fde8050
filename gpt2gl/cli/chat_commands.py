"""What can be typed instead of a message in `gpt2gl generate --interactive`: /help and the like."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from gpt2gl.cli.options import parse_biases
from gpt2gl.config import shown
from gpt2gl.dialogue import Dialogue
from gpt2gl.errors import OptionError
from gpt2gl.generation import (
    GENERATION_OPTIONS,
    Event,
    Generation,
    banned_sequences,
    token_bias,
)
from gpt2gl.sampling import SAMPLING_OPTIONS, Number, Sampling
from gpt2gl.small_files import shown_path, user_path
from gpt2gl.transcript import save_dialogue

SETTABLE = (*SAMPLING_OPTIONS, *GENERATION_OPTIONS)
NONE_WORDS = ("none", "off")


@dataclass
class Chat:
    """What commands act on: the dialogue, and where notices and answers go."""

    dialogue: Dialogue
    notice: Callable[[str], None]
    show: Callable[[Iterable[Event]], None]
    done: bool = False


@dataclass(frozen=True)
class Command:
    """`usage` as /help shows it after the name; `run` takes the text after the name."""

    usage: str
    help: str
    run: Callable[[Chat, str], None]


def run_command(chat: Chat, line: str) -> None:
    """Run a line that begins with a slash.

    Raises:
        OptionError: no such command, or what follows it is not allowed.
    """
    name, _, argument = line.removeprefix("/").partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        raise OptionError(f"no command /{shown(name)[1:-1]}: /help lists them")
    if argument.strip() and not command.usage:
        raise OptionError(f"/{name} takes nothing after it")
    command.run(chat, argument.strip())


def _help(chat: Chat, argument: str) -> None:
    for name, command in COMMANDS.items():
        chat.notice(f"{f'/{name} {command.usage}':18s} {command.help}")
    chat.notice("A message that begins with a slash is written with two.")


def _reset(chat: Chat, argument: str) -> None:
    chat.dialogue.reset()
    chat.notice("everything that was said is forgotten")


def _undo(chat: Chat, argument: str) -> None:
    chat.dialogue.undo()
    chat.notice(f"taken back, {len(chat.dialogue.turns)} turns are left")


def _retry(chat: Chat, argument: str) -> None:
    chat.show(chat.dialogue.retry())


def _quit(chat: Chat, argument: str) -> None:
    chat.done = True


def _save(chat: Chat, argument: str) -> None:
    if not argument:
        raise OptionError("/save needs a file name, such as dialogue.md")
    path = user_path(argument, "/save")
    dialogue = chat.dialogue
    about = {"model": dialogue.session.name, **changed_settings(dialogue.options)}
    save_dialogue(path, dialogue.turns, about)
    chat.notice(f"saved {len(dialogue.turns)} turns in {shown_path(path)}")


def _set(chat: Chat, argument: str) -> None:
    name, _, value = argument.partition(" ")
    if name:
        field = name.lstrip("-").replace("-", "_")
        chat.dialogue.options = _with_setting(chat.dialogue, field, value.strip())
        chat.notice(f"{field} is {getattr(_holder(chat.dialogue.options, field), field)}")
        return
    for field in SETTABLE:
        chat.notice(f"{field:18s} {getattr(_holder(chat.dialogue.options, field), field)}")


COMMANDS: Mapping[str, Command] = {
    "help": Command("", "Show this.", _help),
    "reset": Command("", "Forget everything that was said.", _reset),
    "retry": Command("", "Answer the last message again.", _retry),
    "undo": Command("", "Take back the last message and its answer.", _undo),
    "set": Command("NAME VALUE", "Change an option; alone it shows them all.", _set),
    "save": Command("FILE", "Save the dialogue: .md for reading, .json for programs.", _save),
    "quit": Command("", "End; Ctrl-D does too.", _quit),
}


# Settings ---------------------------------------------------------------------------------------


def changed_settings(options: Generation) -> dict[str, Any]:
    """The options that differ from their neutral defaults, by name, for a file of the dialogue."""
    pairs = ((options.sampling, Sampling()), (options, Generation()))
    return {
        field.name: getattr(now, field.name)
        for now, neutral in pairs
        for field in fields(neutral)
        if field.name != "sampling" and getattr(now, field.name) != getattr(neutral, field.name)
    }


def _holder(options: Generation, field: str) -> Sampling | Generation:
    return options.sampling if field in SAMPLING_OPTIONS else options


def _with_setting(dialogue: Dialogue, field: str, text: str) -> Generation:
    """The options with one changed; everything is checked by the dataclasses themselves."""
    if field not in SETTABLE:
        raise OptionError(f"no option {shown(field)}; there are {', '.join(SETTABLE)}")
    options = dialogue.options
    option = {**SAMPLING_OPTIONS, **GENERATION_OPTIONS}[field]
    value = _number(option, text) if isinstance(option, Number) else _tokens(dialogue, field, text)
    if field in GENERATION_OPTIONS:
        return replace(options, **{field: value})
    return replace(options, sampling=replace(options.sampling, **{field: value}))


def _number(option: Number, text: str) -> Any:
    if option.optional and text in NONE_WORDS:
        return None
    try:
        return option.kind(text)
    except ValueError:
        raise option.refuse(text) from None


def _tokens(dialogue: Dialogue, field: str, text: str) -> Any:
    """The value of an option that names tokens, from words as a shell would take them apart."""
    try:
        words = [] if text in NONE_WORDS else shlex.split(text)
    except ValueError as error:
        raise OptionError(f"{field}: {error}: close the quotation") from None
    value = TOKEN_OPTIONS[field](words, dialogue.tokenizer.encode)
    # A token may not exist in this model, which would only show with the next message.
    replace(dialogue.options.sampling, **{field: value}).check_vocabulary(
        dialogue.session.model.config.vocab_size
    )
    return value


def _biases(words: list[str], encode: Callable[[str], list[int]]) -> dict[int, float]:
    return token_bias(parse_biases(words), encode)


# Option that names tokens -> what reads its words.
TOKEN_OPTIONS: Mapping[str, Callable[[list[str], Callable[[str], list[int]]], Any]] = {
    "logit_bias": _biases,
    "banned": banned_sequences,
}
