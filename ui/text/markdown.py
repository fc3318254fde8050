"""Markdown as blocks, parsed again only from the last block that may still change.

The grammar is CommonMark by markdown-it, less what would change a text's meaning from behind
while it is being written: headings by underlining, and references to links defined later. HTML
is text, and a line break is a line break.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpt2gl_ui.text.document import Block, Kind, Run
from gpt2gl_ui.text.inline import Origins, inline_runs, link_with_end

# A single block longer than this is cut at a line end as it grows, so that an append stays cheap.
LONGEST_TAIL = 4_000
LEFT_OUT = ("lheading", "reference", "html_block", "html_inline", "image")
# These move or merge text, and with that lose positions.
LOSES_POSITIONS = ("normalize", "text_join", "fragments_join")

WORD_START = re.compile(r"\s(?=[^\W\d])")
NORMAL = str.maketrans({"\0": "�", "\r": "\n"})


def make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False})
    parser.disable([*LEFT_OUT, *LOSES_POSITIONS])
    parser.inline.ruler.at("link", link_with_end)
    # The paragraphs' insides are parsed by the walk over the blocks.
    parser.core.ruler.enableOnly(["block"])
    return parser


def normalised(source: str) -> str:
    """Line ends as `\\n`, of the same length, so that positions stay."""
    return source.replace("\r\n", " \n").translate(NORMAL)


@dataclass
class Unit:
    """A top-level block or list item: from its first line the parser can start afresh."""

    start: int
    first_block: int
    type: str
    fence: str = ""
    end: int = 0


@dataclass
class BlockWalk:
    """Collects the blocks of `text`, which begins at `base` in the source."""

    parser: MarkdownIt
    text: str
    base: int
    first: int
    unfinished: bool
    lines: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    quotes: int = 0
    lists: int = 0
    marker: str = ""
    item_start: int = 0
    kind: Kind = "paragraph"
    level: int = 0
    fenced: bool = False

    def walk(self) -> None:
        self.lines = [0, *(at.end() for at in re.finditer("\n", self.text)), len(self.text) + 1]
        tokens = self.parser.parse(self.text)
        last = max((i for i, token in enumerate(tokens) if token.type == "inline"), default=-1)
        for number, token in enumerate(tokens):
            self.note_unit(token)
            if token.type == "inline":
                self.add_text(token, self.unfinished and number == last)
            else:
                HANDLERS.get(token.type, BlockWalk.ignore)(self, token)

    def line_at(self, line: int) -> int:
        """Where a line starts, in the source."""
        return self.base + min(self.lines[min(line, len(self.lines) - 1)], len(self.text))

    def note_unit(self, token: Token) -> None:
        own = token.level == 0 and token.nesting >= 0 and not token.type.endswith("list_open")
        if token.map and (own or (token.type == "list_item_open" and token.level == 1)):
            start, end = (self.line_at(line) for line in token.map)
            first = self.first + len(self.blocks)
            self.units.append(Unit(start, first, token.type, token.markup, end))

    def ignore(self, token: Token) -> None:
        """Tokens that say nothing which others do not."""

    def quote(self, token: Token) -> None:
        self.quotes += token.nesting

    def list_(self, token: Token) -> None:
        self.lists += token.nesting

    def open_item(self, token: Token) -> None:
        self.marker = f"{token.info}{token.markup}" if token.info else "•"
        self.item_start = self.line_at(token.map[0]) if token.map else self.base

    def close_item(self, token: Token) -> None:
        """An item with nothing in it still has its bullet."""
        if self.marker:
            self.add("paragraph", (), self.item_start, self.item_start)

    def open_heading(self, token: Token) -> None:
        self.kind, self.level = "heading", int(token.tag[1:])

    def open_paragraph(self, token: Token) -> None:
        self.kind, self.level = "paragraph", 0

    def add(self, kind: Kind, runs: tuple[Run, ...], start: int, end: int) -> None:
        level = self.level if kind == "heading" else 0
        marker, self.marker, self.fenced = self.marker, "", False
        self.blocks.append(Block(kind, runs, start, end, level, self.lists, self.quotes, marker))

    def rule(self, token: Token) -> None:
        first, after = token.map or [0, 0]
        self.add("rule", (), self.line_at(first), self.line_at(after))

    def add_text(self, token: Token, unfinished: bool) -> None:
        first, after = token.map or [0, 0]
        origins = self.origins(token.content, self.content_line(token.content, first, after))
        # What nothing can be added to is not completed: it is as it is.
        unfinished &= self.line_at(after) >= self.base + len(self.text)
        unfinished &= self.kind != "heading" or not self.text.endswith("\n")
        runs = inline_runs(self.parser, token.content, origins, unfinished)
        self.add(self.kind, runs, self.line_at(first), self.line_at(after))

    def content_line(self, content: str, first: int, after: int) -> int:
        """The line that a block's content begins on: lines of exotic spaces were stripped."""
        start = content.partition("\n")[0]
        for line in range(first, after):
            begin, end = self.line_at(line) - self.base, self.line_at(line + 1) - self.base
            if self.text.find(start, begin, end) >= 0:
                return line
        return first

    def origins(self, content: str, first: int) -> Origins:
        """Finds each line of a block's content again, behind its indentation and markers."""
        at, sources, position = [], [], 0
        for number, line in enumerate(content.split("\n"), start=first):
            begin, end = self.line_at(number) - self.base, self.line_at(number + 1) - self.base
            inside = self.text.rfind(line, begin, end) if line else -1
            at.append(position)
            sources.append(self.base + (inside if inside >= 0 else begin))
            position += len(line) + 1
        return Origins(at, sources)

    def code(self, token: Token) -> None:
        first, after = token.map or [0, 0]
        content = token.content[:-1] if token.content.endswith("\n") else token.content
        inside = first + (token.type == "fence")
        start = self.line_at(inside)
        here = start - self.base
        whole = self.text[here : here + len(content)] == content
        one = Run(content, start, start + len(content), code=True)
        runs = (one,) if whole else self.code_lines(content, inside)
        self.add("code", runs, self.line_at(first), self.line_at(after))
        self.fenced = token.type == "fence"

    def code_lines(self, content: str, first: int) -> tuple[Run, ...]:
        """Code inside lists and quotes: each line without what stands before it."""
        origins, runs, limit = self.origins(content, first), [], self.base + len(self.text)
        for at, line in zip(origins.at, content.split("\n"), strict=True):
            start = min(origins.source(at), limit)
            text = line if at + len(line) == len(content) else line + "\n"
            runs.append(Run(text, start, min(start + len(text), limit), code=True))
        return tuple(runs)


HANDLERS: dict[str, Callable[[BlockWalk, Token], None]] = {
    "blockquote_open": BlockWalk.quote,
    "blockquote_close": BlockWalk.quote,
    "bullet_list_open": BlockWalk.list_,
    "bullet_list_close": BlockWalk.list_,
    "ordered_list_open": BlockWalk.list_,
    "ordered_list_close": BlockWalk.list_,
    "list_item_open": BlockWalk.open_item,
    "list_item_close": BlockWalk.close_item,
    "heading_open": BlockWalk.open_heading,
    "paragraph_open": BlockWalk.open_paragraph,
    "hr": BlockWalk.rule,
    "fence": BlockWalk.code,
    "code_block": BlockWalk.code,
}


class MarkdownDocument:
    """A Markdown text that grows. Blocks that no further text can change are kept."""

    def __init__(self) -> None:
        self.source = ""
        self.blocks: list[Block] = []
        self.parsed_characters = 0
        self._parser = make_parser()
        self._units: list[Unit] = []
        self._streaming = False
        self._cut_at = 0

    def update(self, source: str, streaming: bool = False) -> int:
        """Take a new source text; returns the index of the first block that changed.

        While `streaming`, markers at the end that are not closed yet are shown as if they were.
        Never raises, whatever the text.
        """
        if (source, streaming) == (self.source, self._streaming):
            return len(self.blocks)
        grown = source.startswith(self.source)
        old, self.source = self.source, source
        self._streaming = streaming
        if grown and self._extend_fence(old):
            return len(self.blocks) - 1
        if not grown:
            self._units, self._cut_at = [], 0
        start, block = self._restart(old) if grown else (0, 0)
        self._parse(start, block)
        return block

    def _parse(self, start: int, block: int) -> None:
        text = normalised(self.source[start:])
        self.parsed_characters += len(text)
        walk = BlockWalk(self._parser, text, start, block, self._streaming)
        walk.walk()
        self.blocks[block:] = walk.blocks
        self._units = [unit for unit in self._units if unit.start < start] + walk.units

    def _restart(self, old: str) -> tuple[int, int]:
        """Where to parse from after an append to `old`, and the first block from there on."""
        complete = old.rfind("\n") + 1
        while self._units and self._units[-1].start >= max(complete, self._cut_at + 1):
            self._units.pop()
        if self._units and self._is_closed(self._units[-1], old, complete):
            return self._behind(self._units[-1])
        last = self._units[-1] if self._units else Unit(0, 0, "")
        if len(old) - last.start > LONGEST_TAIL:
            return self._cut(last, complete, len(old))
        return last.start, last.first_block

    def _is_closed(self, unit: Unit, old: str, complete: int) -> bool:
        """Whether nothing that follows the complete lines of `old` can belong to the unit."""
        if unit.type == "paragraph_open":
            return unit.end < complete
        if unit.type == "fence" and not ends_fence(old[unit.start : unit.end], unit.fence):
            return False
        return unit.end <= complete and unit.type in ("fence", "heading_open", "hr")

    def _behind(self, unit: Unit) -> tuple[int, int]:
        blocks = [block for block in self.blocks[unit.first_block :] if block.start < unit.end]
        return unit.end, unit.first_block + len(blocks)

    def _cut(self, unit: Unit, complete: int, length: int) -> tuple[int, int]:
        """Keep a very long block as it is up to its last line, or else up to a late word.

        `complete` is where the last line begins, `length` what was there before the append.
        """
        cut = complete
        if cut - unit.start < LONGEST_TAIL // 2:
            late = length - LONGEST_TAIL // 4
            word = WORD_START.search(self.source, late, length)
            cut = word.end() if word else late
        text = normalised(self.source[unit.start : cut])
        walk = BlockWalk(self._parser, text, unit.start, unit.first_block, False)
        walk.walk()
        # What follows would no longer be code.
        if walk.fenced:
            return unit.start, unit.first_block
        self.blocks[unit.first_block :] = walk.blocks
        self._units = [each for each in self._units if each.start < unit.start] + walk.units
        self._cut_at = cut
        return cut, len(self.blocks)

    def _extend_fence(self, old: str) -> bool:
        """Append to a code block that is still open, without parsing it again."""
        if not self._units or self._units[-1].type != "fence" or not self.blocks:
            return False
        unit, block = self._units[-1], self.blocks[-1]
        line = old.rfind("\n") + 1
        indented = old[unit.start : unit.start + 1] not in ("`", "~")
        if indented or len(block.runs) != 1 or line <= unit.start:
            return False
        if ends_fence(old[unit.start : unit.end], unit.fence):
            return False
        added = self.source[line:]
        if "\r" in added or "\0" in added or closes(added, unit.fence):
            return False
        run = block.runs[0]
        kept = run.text[: line - run.start]
        # A newline at the end was not shown until something followed it.
        kept += "\n" * (line - run.start - len(kept))
        content = kept + added
        # To markdown-it, spaces behind the last newline are no line.
        last = content[content.rfind("\n") + 1 :]
        content = content if last.strip(" \t") else content[: len(content) - len(last)]
        unit.end = run.start + len(content)
        content = content.removesuffix("\n")
        runs = (Run(content, run.start, run.start + len(content), code=True),)
        self.blocks[-1] = Block("code", runs, block.start, unit.end)
        return True


def closes(text: str, fence: str) -> bool:
    """Whether a line of `text` ends a code block that `fence` opened."""
    pattern = rf"^ {{0,3}}{re.escape(fence[:1])}{{{len(fence)},}}[ \t]*$"
    return re.search(pattern, text, re.MULTILINE) is not None


def ends_fence(text: str, fence: str) -> bool:
    """Whether the last line of a code block, its opening line included, closes it."""
    text = normalised(text) if "\r" in text else text
    first, _, rest = text.removesuffix("\n").partition("\n")
    return bool(first) and closes(rest.rpartition("\n")[2], fence)
