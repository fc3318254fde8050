"""Added tokens: whole strings that are found in text before byte pair encoding sees it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from gpt2gl.tokenizer.split import WHITE_SPACE

_SPACES: Final = re.compile(f"[{WHITE_SPACE}]*")


@dataclass(frozen=True)
class AddedToken:
    """One added token, with the flags of Hugging Face `tokenizers`.

    `special` tokens are control marks such as `<|endoftext|>`. `lstrip` and `rstrip` swallow the
    white space before and after. `normalized` tokens are looked for after all the others.
    """

    content: str
    id: int
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False


class AddedTokenSplitter:
    """Cuts text into plain stretches (`str`) and the ids of added tokens (`int`)."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        ordered = list(tokens)
        rounds = ([t for t in ordered if t.normalized is flag] for flag in (False, True))
        self._rounds = [_Finder(group) for group in rounds if group]

    def split(self, text: str, *, special: bool) -> list[str | int]:
        """The parts of `text` in order; no plain stretch is empty.

        Where `special` is false, the special tokens are left in the plain stretches.
        """
        parts: list[str | int] = [text] if text else []
        for finder in self._rounds:
            parts = [cut for part in parts for cut in finder.cut(part, special)]
        return parts


class _Finder:
    """Leftmost, then longest match of a set of strings, as `tokenizers` does it."""

    def __init__(self, tokens: list[AddedToken]) -> None:
        self._tokens = {token.content: token for token in tokens}
        longest_first = sorted(self._tokens, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def cut(self, part: str | int, special: bool) -> Iterator[str | int]:
        if isinstance(part, int):
            yield part
            return
        done = 0
        for token, start, end in self._matches(part, special):
            # A token of white space may lie in what the token before it swallowed.
            if token.lstrip and end <= done:
                continue
            before = part[done:start]
            if plain := before.rstrip(WHITE_SPACE) if token.lstrip else before:
                yield plain
            yield token.id
            done = end
        if done < len(part):
            yield part[done:]

    def _matches(self, text: str, special: bool) -> Iterator[tuple[AddedToken, int, int]]:
        for match in self._pattern.finditer(text):
            token = self._tokens[match.group()]
            if special or not token.special:
                spaces = _SPACES.match(text, match.end()) if token.rstrip else None
                yield token, match.start(), spaces.end() if spaces else match.end()
