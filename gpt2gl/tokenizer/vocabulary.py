"""A byte-level BPE vocabulary as its files give it, and the checks that make it usable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gpt2gl.tokenizer.added import AddedToken
from gpt2gl.tokenizer.bpe import MergeTable
from gpt2gl.tokenizer.byte_level import BYTE_CHARS, spelled_bytes
from gpt2gl.tokenizer.files import refuse, shown

MAX_ID: Final = 2**24 - 1
"""Largest token id taken for real; vocabularies of today end far below a million."""

# Entries that no merge makes are normal for marks like <pad> or [unused0], and only for those.
_MARK: Final = re.compile(r"<.*>|\[.*\]", re.DOTALL)


@dataclass(frozen=True)
class Vocabulary:
    """What the files say, unchecked.

    Attributes:
        where: the file with the entries, for messages.
        merges_where: the file with the merges, for messages.
        ids: token in byte-level spelling -> id.
        merges: pairs of tokens in byte-level spelling, first rank first.
        added: added tokens; one that is also in `ids` has the same id there.
        eos_id: the token that ends a text, if there is one.
        bos_id: the token that starts a text, if there is one.
    """

    where: str
    merges_where: str
    ids: Mapping[str, int]
    merges: Sequence[tuple[str, str]]
    added: Sequence[AddedToken] = ()
    eos_id: int | None = None
    bos_id: int | None = None

    def merge_table(self) -> MergeTable:
        """The merges as ids.

        Raises:
            TokenizerError: an id is out of range or given twice; a byte has no entry; a merge is
                listed twice or names no entry; an entry is not byte-level or made by no merge.
        """
        _check_ids(self.where, self.ids, self.added)
        byte_ids = _byte_ids(self.where, self.ids)
        left, right, merged = self._merge_ids()
        made = {*byte_ids, *merged}
        self._check_unmade(made.union(token.id for token in self.added))
        return MergeTable(byte_ids, left, right, merged, self._spelled(made))

    def entry_bytes(self, merged: Mapping[int, bytes]) -> dict[int, bytes]:
        """id -> bytes of every entry; tokens that no merge makes stand for their text in UTF-8.

        Args:
            merged: the bytes of the tokens in the merge table.
        """
        others = {at: _mark_bytes(text) for text, at in self.ids.items() if at not in merged}
        added = {token.id: token.content.encode("utf-8") for token in self.added}
        return {**others, **added, **merged}

    def _merge_ids(self) -> tuple[list[int], list[int], list[int]]:
        """[n_merges] ids of the left, the right and the merged tokens."""
        if len(set(self.merges)) != len(self.merges):
            refuse(self.merges_where, "a merge is listed twice; the file is damaged")
        ids = self.ids
        try:
            left = [ids[first] for first, _ in self.merges]
            right = [ids[second] for _, second in self.merges]
            merged = [ids[first + second] for first, second in self.merges]
        except KeyError as error:
            unknown = shown(error.args[0])
            refuse(self.merges_where, f"a merge needs {unknown}, which is not in the vocabulary")
        return left, right, merged

    def _check_unmade(self, known: set[int]) -> None:
        unmade = [
            text for text, at in self.ids.items() if at not in known and not _MARK.fullmatch(text)
        ]
        if unmade:
            some = f"make {len(unmade)} of the vocabulary's entries, such as {shown(unmade[-1])}"
            refuse(self.merges_where, f"no merges {some}; the merges are cut short or not its own")

    def _spelled(self, made: set[int]) -> dict[int, bytes]:
        spelled = {}
        for text, at in self.ids.items():
            if at in made:
                data = spelled_bytes(text)
                if data is None:
                    refuse(self.where, f"the entry {shown(text)} is not in byte-level spelling")
                spelled[at] = data
        return spelled


def id_table(where: str, table: object) -> dict[str, int]:
    """A JSON object of whole numbers; `where` names its file.

    Raises:
        TokenizerError: it is something else.
    """
    if not isinstance(table, dict):
        refuse(where, f"the vocabulary is {shown(table)}, not a JSON object of ids")
    if not set(map(type, table.values())) <= {int}:
        text, at = next((text, at) for text, at in table.items() if type(at) is not int)
        refuse(where, f"the id of {shown(text)} is {shown(at)}, not a whole number")
    return table


def _mark_bytes(text: str) -> bytes:
    data = spelled_bytes(text)
    return text.encode("utf-8", "replace") if data is None else data


def _check_ids(where: str, ids: Mapping[str, int], added: Iterable[AddedToken]) -> None:
    text_of = dict(zip(ids.values(), ids, strict=True))
    if len(text_of) != len(ids):
        one, other = next((text_of[at], text) for text, at in ids.items() if text_of[at] != text)
        refuse(where, f"{shown(other)} and {shown(one)} have the same id {ids[one]}")
    for token in added:
        other = text_of.setdefault(token.id, token.content)
        if other != token.content:
            refuse(where, f"{shown(other)} and {shown(token.content)} have the same id {token.id}")
        if ids.get(token.content, token.id) != token.id:
            two = f"{ids[token.content]} and {token.id}"
            refuse(where, f"{shown(token.content)} has two ids, {two}")
    for at in (min(text_of, default=0), max(text_of, default=0)):
        if not 0 <= at <= MAX_ID:
            refuse(where, f"the id {at} of {shown(text_of[at])} is not from 0 to {MAX_ID}")


def _byte_ids(where: str, ids: Mapping[str, int]) -> list[int]:
    missing = [byte for byte, char in enumerate(BYTE_CHARS) if char not in ids]
    if missing:
        lacks = f"has no entry for {len(missing)} of the 256 bytes, such as 0x{missing[0]:02x}"
        refuse(where, f"the vocabulary {lacks}; only complete byte-level BPE is supported")
    return [ids[char] for char in BYTE_CHARS]
