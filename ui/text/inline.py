"""Markdown inside a paragraph: markdown-it's inline tokens as runs with source positions.

The library gives no positions inside a paragraph, but its tokens cover the text in order, each
with the characters that it stands for, so one walk over the text finds them all again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.rules_inline import link
from markdown_it.rules_inline.state_inline import StateInline
from markdown_it.token import Token

from gpt2gl_ui.text.document import Run

BARE_LINK = re.compile(r"https?://[^\s<>\"`]*[^\s<>\"`.,;:!?'()\[\]*_]")
UNFINISHED_LINK = re.compile(r"\[[^\]\n]+\]\([^()\s]*$")
# A marker at the very end may yet open or close something; it is not shown until it is known.
DANGLING = re.compile(r"[*_`]+$")
OPENER = re.compile(r"(?<![\w*])(\*{1,3}(?=[^\s*])|_{1,3}(?=[^\s_]))")


def link_with_end(state: StateInline, silent: bool) -> bool:
    """markdown-it's own rule for links; notes where the link ends in the text."""
    found = link(state, silent)
    if found and not silent:
        state.tokens[-1].meta = {"end": state.pos}
    return found


@dataclass(frozen=True)
class Origins:
    """Where the lines of a paragraph's text stand in the source."""

    at: list[int]
    sources: list[int]

    def source(self, position: int) -> int:
        line = max(bisect_right(self.at, position) - 1, 0)
        return self.sources[line] + position - self.at[line]


@dataclass
class InlineWalk:
    """Follows the tokens of `text` through it and collects runs."""

    text: str
    origins: Origins
    limit: int
    cursor: int = 0
    runs: list[Run] = field(default_factory=list)
    bold: int = 0
    italic: int = 0
    href: str = ""

    def emit(self, shown: str, start: int, end: int, code: bool = False) -> None:
        """Add `shown` for text[start:end]; line by line where it spans lines."""
        source, after = self.origins.source(start), self.origins.source(end)
        if after - source != end - start and len(shown) == end - start:
            cut = self.text.find("\n", start, end)
            if start <= cut < end - 1:
                self.emit(shown[: cut + 1 - start], start, cut + 1, code)
                self.emit(shown[cut + 1 - start :], cut + 1, end, code)
                return
            after = source + end - start
        style = (self.bold > 0, self.italic > 0, code, self.href)
        if shown and source < self.limit:
            self.runs.append(Run(shown, source, min(after, self.limit), *style))

    def find(self, text: str) -> int:
        """Where `text` comes next; the cursor moves behind it. Not there: the cursor stays."""
        found = self.text.find(text, self.cursor)
        if found < 0:
            return self.cursor
        self.cursor = found + len(text)
        return found

    def take(self, token: Token) -> None:
        TAKERS.get(token.type, InlineWalk.take_text)(self, token)

    def take_text(self, token: Token) -> None:
        start = self.find(token.content)
        self.emit(token.content, start, self.cursor)

    def take_special(self, token: Token) -> None:
        start = self.find(token.markup)
        self.emit(token.content, start + (token.info == "escape"), self.cursor)

    def take_break(self, token: Token) -> None:
        start = self.find("\n")
        self.emit("\n", start, self.cursor)

    def take_code(self, token: Token) -> None:
        fence = rf"(?<!`){token.markup}(?!`)"
        start = self.find(token.markup) + len(token.markup)
        closing = re.compile(fence).search(self.text, start)
        end = closing.start() if closing else len(self.text)
        padding = (end - start - len(token.content)) // 2
        self.emit(token.content, start + padding, end - padding, code=True)
        self.cursor = end + len(token.markup)

    def take_strong(self, token: Token) -> None:
        self.bold += token.nesting
        self.find(token.markup)

    def take_emphasis(self, token: Token) -> None:
        self.italic += token.nesting
        self.find(token.markup)

    def open_link(self, token: Token) -> None:
        self.href = str(token.attrGet("href") or "")
        self.find("<" if token.markup == "autolink" else "[")

    def close_link(self, token: Token) -> None:
        self.href = ""
        self.cursor = token.meta.get("end") or self.text.find(">", self.cursor) + 1


TAKERS: dict[str, Callable[[InlineWalk, Token], None]] = {
    "text_special": InlineWalk.take_special,
    "softbreak": InlineWalk.take_break,
    "hardbreak": InlineWalk.take_break,
    "code_inline": InlineWalk.take_code,
    "strong_open": InlineWalk.take_strong,
    "strong_close": InlineWalk.take_strong,
    "em_open": InlineWalk.take_emphasis,
    "em_close": InlineWalk.take_emphasis,
    "link_open": InlineWalk.open_link,
    "link_close": InlineWalk.close_link,
}


def inline_runs(
    parser: MarkdownIt, text: str, origins: Origins, unfinished: bool
) -> tuple[Run, ...]:
    """The runs of a paragraph; `unfinished` text is shown as if its open markers were closed."""
    if unfinished:
        text = DANGLING.sub("", text.rstrip()).rstrip()
    # Whatever is added to it is never shown.
    limit = origins.source(len(text))
    if unfinished:
        text = completed(parser, text)
    walk = InlineWalk(text, origins, limit)
    for token in tokens_of(parser, text):
        walk.take(token)
    return tuple(with_links(joined(walk.runs)))


def tokens_of(parser: MarkdownIt, text: str) -> list[Token]:
    tokens: list[Token] = []
    return parser.inline.parse(text, parser, {}, tokens) or tokens


def completed(parser: MarkdownIt, text: str) -> str:
    """`text` with what was opened and not closed yet closed."""
    if UNFINISHED_LINK.search(text):
        return text + ")"
    ticks = open_code(text)
    leftover = unpaired_openers(parser, text + ticks)
    return text + ticks + "".join(reversed(leftover))


def open_code(text: str) -> str:
    """The backticks that close a code span left open, or nothing."""
    opened = ""
    for ticks in re.findall(r"`+", text):
        opened = ticks if not opened else "" if ticks == opened else opened
    return opened


def unpaired_openers(parser: MarkdownIt, text: str) -> list[str]:
    """Emphasis markers that the parser left as text though they could open something."""
    if not OPENER.search(text):
        return []
    walk = InlineWalk(text, Origins([0], [0]), len(text))
    for token in tokens_of(parser, text):
        walk.take(token)
    loose = {
        run.start for run in walk.runs if run.text in ("*", "_") and not (run.code or run.href)
    }
    return [found[1] for found in OPENER.finditer(text) if found.start() in loose]


def joined(runs: list[Run]) -> Iterator[Run]:
    """Neighbours of one style as one run."""
    last: Run | None = None
    for run in runs:
        if last and last.end == run.start and last.style == run.style and last.exact and run.exact:
            last = replace(last, text=last.text + run.text, end=run.end)
            continue
        if last:
            yield last
        last = run
    if last:
        yield last


def with_links(runs: Iterator[Run]) -> Iterator[Run]:
    """Addresses in plain text become links."""
    for run in runs:
        plain = run.exact and not run.href and not run.code
        yield from split_at_links(run) if plain and "://" in run.text else (run,)


def split_at_links(run: Run) -> Iterator[Run]:
    done = 0
    for found in BARE_LINK.finditer(run.text):
        if found.start() > done:
            yield part(run, done, found.start())
        yield replace(part(run, found.start(), found.end()), href=found[0])
        done = found.end()
    if done < len(run.text):
        yield part(run, done, len(run.text))


def part(run: Run, start: int, end: int) -> Run:
    """Characters `start` to `end` of an exact run."""
    return replace(run, text=run.text[start:end], start=run.start + start, end=run.start + end)
