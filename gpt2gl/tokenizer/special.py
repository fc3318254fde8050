"""Which tokens are special, from tokenizer_config.json and special_tokens_map.json."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gpt2gl.tokenizer.added import AddedToken
from gpt2gl.tokenizer.files import present, read_json, refuse, shown, shown_path

CONFIG: Final = "tokenizer_config.json"
SPECIAL_MAP: Final = "special_tokens_map.json"
END_OF_TEXT: Final = "<|endoftext|>"
"""GPT-2's only special token: it ends a text and, for want of another, starts one."""

_ROLES: Final = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
_ROLE_GROUPS: Final = ("additional_special_tokens", "extra_special_tokens")
_ID_IS_ELSEWHERE: Final = -1


@dataclass(frozen=True)
class SpecialTokens:
    """What the two files say about tokens.

    Attributes:
        where: the file to name in messages.
        config: the content of tokenizer_config.json, empty if there is none.
        roles: role such as "eos_token" -> its token; the id is not known here.
        added: the tokens of `added_tokens_decoder`, with their ids.
    """

    where: str
    config: Mapping[str, object]
    roles: Mapping[str, AddedToken]
    added: Collection[AddedToken]

    def role_id(self, role: str, ids: Mapping[str, int]) -> int | None:
        """Id of the token with a role; of GPT-2's `<|endoftext|>` where none is named.

        Raises:
            TokenizerError: the token that is named is not in the vocabulary.
        """
        token = self.roles.get(role)
        if token is None:
            return ids.get(END_OF_TEXT)
        if token.content not in ids:
            refuse(self.where, f"the {role} {shown(token.content)} is not in the vocabulary")
        return ids[token.content]

    def apply(self, ids: Mapping[str, int], added: Iterable[AddedToken]) -> list[AddedToken]:
        """The added tokens, with these settings on top.

        Tokens with a role that have no id anywhere are left out: no text can hold them.
        """
        tokens = {token.content: token for token in (*added, *self.added)}
        for mark in (*self.roles.values(), AddedToken(END_OF_TEXT, _ID_IS_ELSEWHERE, special=True)):
            known = tokens.get(mark.content)
            if known is None and mark.content in ids:
                tokens[mark.content] = replace(mark, id=ids[mark.content])
            elif known is not None and not known.special:
                tokens[mark.content] = replace(known, special=True, normalized=False)
        return list(tokens.values())


def read_special_tokens(folder: Path) -> SpecialTokens:
    """Read both files; either may be missing.

    As in `transformers`, special_tokens_map.json comes first, and is not looked at where
    tokenizer_config.json has an `added_tokens_decoder`.

    Raises:
        TokenizerError: a file is damaged or an entry has the wrong type.
    """
    config, special_map = (_optional(folder, name) for name in (CONFIG, SPECIAL_MAP))
    where = shown_path(folder / CONFIG)
    sources = [(where, config)]
    if "added_tokens_decoder" not in config:
        sources.append((shown_path(folder / SPECIAL_MAP), special_map))
    roles = {
        role: parse_added(entry, _ID_IS_ELSEWHERE, source, special=True)
        for source, settings in sources
        for role, entry in _entries(settings)
    }
    return SpecialTokens(where, config, roles, _decoder(config, where))


def parse_added(
    entry: object, token_id: object, where: str, *, special: bool = False
) -> AddedToken:
    """An added token from JSON: its content, or an object with content and flags.

    Raises:
        TokenizerError: wrong types, empty or unencodable content, or `single_word`.
    """
    fields = entry if isinstance(entry, dict) else {"content": entry}
    content = fields.get("content")
    if not isinstance(content, str) or not _encodable(content):
        refuse(where, f"the added token {shown(entry)} has no usable content")
    if type(token_id) is not int:
        refuse(where, f"the added token {shown(content)} has no whole number as its id")
    if fields.get("single_word"):
        refuse(where, f"the added token {shown(content)} has single_word, which is not supported")
    special = special or bool(fields.get("special"))
    return AddedToken(
        content,
        token_id,
        special=special,
        lstrip=bool(fields.get("lstrip")),
        rstrip=bool(fields.get("rstrip")),
        normalized=bool(fields.get("normalized", not special)),
    )


def _encodable(content: str) -> bool:
    return content != "" and not any("\ud800" <= char <= "\udfff" for char in content)


def _entries(settings: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    yield from ((role, settings[role]) for role in _ROLES if settings.get(role))
    for name in _ROLE_GROUPS:
        group = settings.get(name)
        members = list(group.values()) if isinstance(group, dict) else group
        if isinstance(members, list):
            yield from ((f"{name} {at}", member) for at, member in enumerate(members))


def _decoder(config: Mapping[str, object], where: str) -> list[AddedToken]:
    entries = config.get("added_tokens_decoder") or {}
    if not isinstance(entries, dict):
        refuse(where, "added_tokens_decoder is not a JSON object")
    return [parse_added(entry, _whole(key), where) for key, entry in entries.items()]


def _whole(key: str) -> int | None:
    """The id that a JSON key spells; None if it spells none. No id has more than 12 digits."""
    return int(key) if key.isascii() and key.isdigit() and len(key) <= 12 else None


def _optional(folder: Path, name: str) -> dict[str, object]:
    return read_json(folder, name) if present(folder, name) else {}
