"""Models that are known by name, and what names on the hub and in the cache look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownModel:
    """One row of the table; `download_bytes` is rounded, the hub has the last word on it."""

    name: str
    id: str
    parameters: int
    download_bytes: int
    licence: str
    description: str


KNOWN: Mapping[str, KnownModel] = {
    model.name: model
    for model in (
        KnownModel(
            *("gpt2", "openai-community/gpt2", 124_439_808, 551_000_000, "mit"),
            "The smallest GPT-2, trained on web pages; the usual first choice.",
        ),
        KnownModel(
            *("gpt2-medium", "openai-community/gpt2-medium", 354_823_168, 1_523_000_000, "mit"),
            "GPT-2 of 24 layers, trained on the same web pages.",
        ),
        KnownModel(
            *("gpt2-large", "openai-community/gpt2-large", 774_030_080, 3_250_000_000, "mit"),
            "GPT-2 of 36 layers, trained on the same web pages.",
        ),
        KnownModel(
            *("gpt2-xl", "openai-community/gpt2-xl", 1_557_611_200, 6_435_000_000, "mit"),
            "The full GPT-2 of 48 layers, trained on the same web pages.",
        ),
        KnownModel(
            *("distilgpt2", "distilbert/distilgpt2", 81_912_576, 356_000_000, "apache-2.0"),
            "Six layers that were taught by gpt2: faster, and a little worse.",
        ),
        KnownModel(
            *("microsoft/DialoGPT-small", "microsoft/DialoGPT-small", 124_439_808, 353_000_000),
            *("mit", "gpt2 tuned on dialogues of web forums; answers in short turns."),
        ),
        KnownModel(
            *("microsoft/DialoGPT-medium", "microsoft/DialoGPT-medium", 354_823_168, 865_000_000),
            *("mit", "gpt2-medium tuned on dialogues of web forums."),
        ),
        KnownModel(
            *("microsoft/DialoGPT-large", "microsoft/DialoGPT-large", 774_030_080, 1_754_000_000),
            *("mit", "gpt2-large tuned on dialogues of web forums."),
        ),
    )
}

MAX_ID = 96
# The hub's own rule for `owner/name`.
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(?<![.-])/[A-Za-z0-9_][\w.-]*(?<![.-])", re.ASCII)
_FILE_SUFFIXES = (".safetensors", ".gguf", ".json", ".bin", ".git")


def hub_id(name: str) -> str | None:
    """The `owner/name` on the hub that a name stands for; None where it can be none.

    Known names stand for theirs. What ends like a weight file is a path.
    """
    if name in KNOWN:
        return KNOWN[name].id
    if len(name) > MAX_ID or not _ID.fullmatch(name) or "--" in name or ".." in name:
        return None
    return None if name.lower().endswith(_FILE_SUFFIXES) else name


_LOCAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}(?<![.-])", re.ASCII)


def is_local_name(name: str) -> bool:
    """Whether an imported model may have that name: one that no model of the hub has.

    `--` would make it the folder of another model.
    """
    ends_like_a_file = name.lower().endswith(_FILE_SUFFIXES)
    return bool(_LOCAL.fullmatch(name)) and "--" not in name and not ends_like_a_file
