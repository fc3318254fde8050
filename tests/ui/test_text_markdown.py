"""Markdown: its blocks and runs, their places in the source, and growing by a token at a time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt2gl_ui.text import markdown
from gpt2gl_ui.text.document import Block
from gpt2gl_ui.text.markdown import MarkdownDocument
from tests.ui.text_samples import few, markdown_texts

ARTICLE = """# Title with *stress*

Hello **bold _both_** and `code` [link](http://a.b "title") &amp; \\* https://x.yz/a_b.
second line

- one
- two **b**
  1. nested
     more

> quote
> more

```py
a = 1

b = 2
```
last **words**
"""


def blocks_of(source: str, streaming: bool = False) -> list[Block]:
    document = MarkdownDocument()
    document.update(source, streaming)
    return document.blocks


def styles(source: str, streaming: bool = False) -> list[tuple[str, str]]:
    """Each run's text with letters for its style: bold, italic, code, link."""
    return [
        (run.text, "b" * run.bold + "i" * run.italic + "c" * run.code + "l" * bool(run.href))
        for block in blocks_of(source, streaming)
        for run in block.runs
    ]


def test_blocks_of_an_article() -> None:
    found = [(block.kind, block.text, block.indent, block.marker) for block in blocks_of(ARTICLE)]
    assert found == [
        ("heading", "Title with stress", 0, ""),
        ("paragraph", "Hello bold both and code link & * https://x.yz/a_b.\nsecond line", 0, ""),
        ("paragraph", "one", 1, "•"),
        ("paragraph", "two b", 1, "•"),
        ("paragraph", "nested\nmore", 2, "1."),
        ("paragraph", "quote\nmore", 0, ""),
        ("code", "a = 1\n\nb = 2", 0, ""),
        ("paragraph", "last words", 0, ""),
    ]
    assert [block.quotes for block in blocks_of(ARTICLE)] == [0, 0, 0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a **b** c", [("a ", ""), ("b", "b"), (" c", "")]),
        ("*a* _b_", [("a", "i"), (" ", ""), ("b", "i")]),
        ("***both***", [("both", "bi")]),
        ("`a*b*c`", [("a*b*c", "c")]),
        ("2*3*4", [("2", ""), ("3", "i"), ("4", "")]),
        ("snake_case_name", [("snake_case_name", "")]),
        ("[a **b**](http://c.d) e", [("a ", "l"), ("b", "bl"), (" e", "")]),
        ("see https://a.b/c_d_e.", [("see ", ""), ("https://a.b/c_d_e", "l"), (".", "")]),
        ("<b>x</b>", [("<b>x</b>", "")]),
        ("[x](javascript:alert)", [("[x](javascript:alert)", "")]),
        ("a **b", [("a **b", "")]),
        ("text\n===", [("text\n===", "")]),
    ],
)
def test_runs(source: str, expected: list[tuple[str, str]]) -> None:
    assert styles(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a **b", [("a ", ""), ("b", "b")]),
        ("a **b ", [("a ", ""), ("b", "b")]),
        ("a **b*", [("a ", ""), ("b", "b")]),
        ("a **", [("a", "")]),
        ("a **b *c", [("a ", ""), ("b ", "b"), ("c", "bi")]),
        ("use `x = 1", [("use ", ""), ("x = 1", "c")]),
        ("[link](http://a", [("link", "l")]),
        ("2 * 3", [("2 * 3", "")]),
        ("```py\nx = 1", [("x = 1", "c")]),
    ],
)
def test_unfinished_markup_looks_as_if_finished(
    source: str, expected: list[tuple[str, str]]
) -> None:
    assert styles(source, streaming=True) == expected


def test_finished_text_is_as_written() -> None:
    document = MarkdownDocument()
    document.update("a **b", streaming=True)
    document.update("a **b", streaming=False)
    assert document.blocks[0].text == "a **b"


@few
@given(source=markdown_texts, streaming=st.booleans())
def test_runs_know_their_place(source: str, streaming: bool) -> None:
    """In order, inside the source, and equal to it where they are exact."""
    last = 0
    for block in blocks_of(source, streaming):
        assert 0 <= block.start <= block.end <= len(source)
        for run in block.runs:
            assert last <= run.start <= run.end <= len(source)
            last = run.end
            # markdown-it turns these into something else.
            if run.exact and not {"\r", "\0", "\t"} & set(source):
                written = source[run.start : run.end]
                assert run.text in (written, written.replace("\n", " "))


@given(source=st.text(alphabet="*_`[]()<>!\\&#-+.>~=\n\t\r\0 a1", max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_can_be_parsed(source: str) -> None:
    blocks_of(source, streaming=True)
    blocks_of(source)


@given(pieces=st.lists(markdown_texts, max_size=6))
@settings(max_examples=40, deadline=None)
def test_growing_equals_starting_anew(pieces: list[str]) -> None:
    grown, source = MarkdownDocument(), ""
    for piece in pieces:
        before = list(grown.blocks)
        source += piece
        changed = grown.update(source, streaming=True)
        assert grown.blocks[:changed] == before[:changed]
        assert grown.blocks == blocks_of(source, streaming=True)
    grown.update(source)
    assert grown.blocks == blocks_of(source)


@given(source=markdown_texts)
@settings(max_examples=25, deadline=None)
def test_growing_by_characters_equals_starting_anew(source: str) -> None:
    grown = MarkdownDocument()
    for end in range(0, len(source) + 1):
        grown.update(source[:end], streaming=True)
    assert grown.blocks == blocks_of(source, streaming=True)


def grow(document: MarkdownDocument, piece: str, count: int) -> int:
    """Characters parsed while `piece` is appended `count` times."""
    before, source = document.parsed_characters, document.source
    for _ in range(count):
        source += piece
        document.update(source, streaming=True)
    return document.parsed_characters - before


@pytest.mark.parametrize(
    "beginning",
    [
        ARTICLE * 160,
        "```\n" + "code line\n" * 4000,
        "```\n" + "code line\n" * 4000 + "```\nand after it",
        "- an item\n" * 4000,
        "> a quote\n" * 4000,
        "one line after another\n" * 2000,
        "words without an end " * 2000,
        "    indented\n" * 4000,
    ],
)
def test_an_append_costs_the_same_in_a_long_text(beginning: str) -> None:
    document = MarkdownDocument()
    document.update(beginning, streaming=True)
    grow(document, " more", 2)
    assert len(beginning) > 2 * markdown.LONGEST_TAIL
    assert grow(document, " more", 5) <= 5 * 1.5 * markdown.LONGEST_TAIL


def test_a_long_code_block_in_a_list_is_not_cut() -> None:
    source, document = "- item\n  ```\n" + "  code line\n" * 1000, MarkdownDocument()
    for piece in ("", "  more\n", "  ```\n\n", "after"):
        source += piece
        document.update(source, streaming=True)
    assert [block.kind for block in document.blocks] == ["paragraph", "code", "paragraph"]


def test_blocks_before_the_last_are_kept() -> None:
    document = MarkdownDocument()
    document.update(ARTICLE * 100, streaming=True)
    kept = document.blocks[:-2]
    changed = document.update(document.source + "more", streaming=True)
    assert changed >= len(kept)
    assert all(a is b for a, b in zip(kept, document.blocks, strict=False))


def test_a_text_that_did_not_grow_is_parsed_anew() -> None:
    document = MarkdownDocument()
    for source in (ARTICLE, "other", "", ARTICLE[:40], random.Random(0).choice([ARTICLE])):
        document.update(source)
        assert document.blocks == blocks_of(source)
