"""Reading of tokenizer.json, the single-file form of Hugging Face `tokenizers`.

Only the byte-level BPE of GPT-2 is implemented. Every setting that would change the ids of a text
is checked, and refused by name where it is set to something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gpt2gl.tokenizer.added import AddedToken
from gpt2gl.tokenizer.files import read_json, refuse, shown, shown_path
from gpt2gl.tokenizer.special import parse_added
from gpt2gl.tokenizer.vocabulary import Vocabulary, id_table

_SUPPORTED: Final = "only byte-level BPE (GPT-2) is supported"

# Setting -> the values that plain GPT-2 tokenization has; the first one where it is missing.
_MODEL_SETTINGS: Final[Mapping[str, tuple[object, ...]]] = {
    "type": ("BPE",),
    "dropout": (None, 0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (False, None),
    "ignore_merges": (False, None),
}
_BYTE_LEVEL_SETTINGS: Final[Mapping[str, tuple[object, ...]]] = {
    "add_prefix_space": (False,),
    "use_regex": (True,),
}


def read_tokenizer_json(folder: Path, name: str) -> Vocabulary:
    """The vocabulary that the file holds.

    Raises:
        TokenizerError: the file is damaged, or describes another kind of tokenizer.
    """
    content, where = read_json(folder, name), shown_path(folder / name)
    model = content.get("model")
    if not isinstance(model, dict):
        refuse(where, "has no model; it is no tokenizer file")
    _check(where, "model", model, _MODEL_SETTINGS)
    _check_text_steps(where, content)
    return Vocabulary(
        where,
        where,
        id_table(where, model.get("vocab")),
        _merges(where, model.get("merges")),
        _added(where, content.get("added_tokens")),
    )


def _check_text_steps(where: str, content: Mapping[str, object]) -> None:
    if normalizer := _kind(content.get("normalizer")):
        refuse(where, f"the normalizer {shown(normalizer)} is not implemented; {_SUPPORTED}")
    split = _only_member(content.get("pre_tokenizer"))
    if _kind(split) != "ByteLevel":
        refuse(where, f"pre_tokenizer {shown(_kind(split))} is not implemented; {_SUPPORTED}")
    _check(where, "pre_tokenizer ByteLevel", split, _BYTE_LEVEL_SETTINGS)
    if _kind(content.get("decoder")) not in (None, "ByteLevel"):
        kind = shown(_kind(content.get("decoder")))
        refuse(where, f"the decoder {kind} is not implemented; {_SUPPORTED}")


def _check(
    where: str, part: str, settings: object, expected: Mapping[str, tuple[object, ...]]
) -> None:
    given = settings if isinstance(settings, dict) else {}
    for name, values in expected.items():
        if (value := given.get(name, values[0])) not in values:
            refuse(where, f"{part} {name} {shown(value)} is not implemented; {_SUPPORTED}")


def _kind(step: object) -> str | None:
    """The type of a step for messages; of a sequence, the types of its members."""
    if step is None:
        return None
    kinds = [
        str(each.get("type")) if isinstance(each, dict) else shown(each)
        for each in (step, *_members(step))
    ]
    return f"{kinds[0]}({', '.join(kinds[1:])})" if kinds[1:] else kinds[0]


def _members(step: object) -> list[object]:
    found: list[object] = []
    if isinstance(step, dict) and step.get("type") == "Sequence":
        lists = (step.get(key) for key in ("pretokenizers", "normalizers", "decoders"))
        found = next((members for members in lists if isinstance(members, list)), [])
    return found


def _only_member(step: object) -> object:
    members = _members(step)
    return members[0] if len(members) == 1 else step


def _merges(where: str, merges: object) -> list[tuple[str, str]]:
    if not isinstance(merges, list):
        refuse(where, "model has no list of merges")
    return [_pair(where, merge) for merge in merges]


def _pair(where: str, merge: object) -> tuple[str, str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list) and len(parts) == 2:
        left, right = parts
        if isinstance(left, str) and isinstance(right, str) and left and right:
            return left, right
    refuse(where, f"the merge {shown(merge)} is not two tokens")


def _added(where: str, entries: object) -> list[AddedToken]:
    members = entries if isinstance(entries, list) else []
    return [
        parse_added(entry, entry.get("id") if isinstance(entry, dict) else None, where)
        for entry in members
    ]
