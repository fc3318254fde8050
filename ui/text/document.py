"""A message as blocks of styled runs, each run tied to its place in the source text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["paragraph", "heading", "code", "rule", "plain"]


@dataclass(frozen=True)
class Run:
    """Text in one style. `text` is `source[start:end]`, or stands for all of it (`&amp;`)."""

    text: str
    start: int
    end: int
    bold: bool = False
    italic: bool = False
    code: bool = False
    href: str = ""

    @property
    def exact(self) -> bool:
        """Whether each character shown is one character of the source."""
        return len(self.text) == self.end - self.start

    @property
    def style(self) -> tuple[bool, bool, bool, str]:
        return self.bold, self.italic, self.code, self.href


@dataclass(frozen=True)
class Block:
    """What is wrapped as one piece.

    `start` and `end` are its range in the source, markers included. `level` is a heading's,
    `indent` the number of lists around it, `quotes` of quotes, `marker` the bullet or number that
    stands before it.
    """

    kind: Kind
    runs: tuple[Run, ...]
    start: int
    end: int
    level: int = 0
    indent: int = 0
    quotes: int = 0
    marker: str = ""

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    def frame(self) -> tuple[Kind, int, int, int, str]:
        """All that matters to the layout besides the runs."""
        return self.kind, self.level, self.indent, self.quotes, self.marker


class Document(Protocol):
    """A source text that grows, as blocks."""

    source: str
    blocks: list[Block]

    def update(self, source: str, streaming: bool = False) -> int:
        """Take a new source text; returns the index of the first block that changed."""
        ...


class PlainDocument:
    """Text exactly as written, in a single block: nothing is markup."""

    def __init__(self) -> None:
        self.source = ""
        self.blocks = [plain_block("")]

    def update(self, source: str, streaming: bool = False) -> int:
        if source == self.source:
            return 1
        self.source = source
        self.blocks = [plain_block(source)]
        return 0


def plain_block(source: str) -> Block:
    return Block("plain", (Run(source, 0, len(source)),), 0, len(source))
