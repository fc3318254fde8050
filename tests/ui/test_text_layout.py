"""Wrapping loses nothing, appending equals starting anew, and points find their characters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl_ui.text.document import PlainDocument
from gpt2gl_ui.text.layout import Layout
from gpt2gl_ui.text.markdown import MarkdownDocument
from gpt2gl_ui.text.style import TextStyle
from tests.ui.text_samples import all_lines, few, laid_out, measuring, plain, texts, widths


@pytest.fixture(scope="module")
def look() -> Iterator[TextStyle]:
    with measuring() as style:
        yield style


def shown(made: Layout) -> list[str]:
    return ["".join(piece.text for piece in line.segments) for line in all_lines(made)]


@few
@given(source=texts, width=widths)
def test_plain_text_is_shown_whole(look: TextStyle, source: str, width: float) -> None:
    made = laid_out(plain(source), width, look)
    assert "".join(shown(made)) == source.replace("\n", "")
    last = 0
    for line in all_lines(made):
        for piece in line.segments:
            assert last <= piece.start <= piece.end
            assert source[piece.start : piece.end] == piece.text
            last = piece.end


@few
@given(source=texts)
def test_a_wide_line_is_a_line_of_the_source(look: TextStyle, source: str) -> None:
    assert shown(laid_out(plain(source), 1e9, look)) == source.split("\n")


@few
@given(source=texts, width=widths)
def test_lines_are_as_wide_as_allowed(look: TextStyle, source: str, width: float) -> None:
    """Spaces may hang over the end, and a single character has to stand somewhere."""
    made = laid_out(plain(source), width, look)
    flow = made.boxes[0].flow
    for line, text in enumerate(shown(made)):
        start, _ = flow.line_range(line)
        dark = len(text.rstrip(" \t\u2028\u3000\u200b"))
        assert flow.x_of(line, start + dark) <= width or (dark <= 8 and width < 41)


@few
@given(pieces=st.lists(texts, max_size=5), width=widths)
def test_appending_equals_starting_anew(look: TextStyle, pieces: list[str], width: float) -> None:
    grown, source = Layout(look), ""
    document = PlainDocument()
    for piece in pieces:
        source += piece
        grown.lay_out(document, document.update(source), width, look)
    anew = laid_out(plain(source), width, look)
    grown.lay_out(document, document.update(source), width, look)
    assert all_lines(grown) == all_lines(anew)
    assert grown.height == anew.height


@few
@given(source=texts, widths=st.tuples(widths, widths))
def test_another_width_equals_starting_anew(
    look: TextStyle, source: str, widths: tuple[float, float]
) -> None:
    made = laid_out(plain(source), widths[0], look)
    made.lay_out(plain(source), 1, widths[1], look)
    assert all_lines(made) == all_lines(laid_out(plain(source), widths[1], look))


@few
@given(source=texts, width=widths)
def test_a_point_finds_the_position_that_it_is_at(
    look: TextStyle, source: str, width: float
) -> None:
    """But for positions inside a character with its marks, which take the whole."""
    made = laid_out(plain(source), width, look)
    flow = made.boxes[0].flow
    for index in range(len(source) + 1):
        x, y, height = made.position_of(index)
        found = made.index_at(x, y + height / 2)
        assert made.position_of(found)[:2] == (x, y)
        line = flow.line_of(index)
        between = source[min(index, found) : max(index, found)]
        assert flow.x_of(line, index) == flow.x_of(line, found), between


@few
@given(source=texts, width=widths)
def test_a_character_is_under_its_middle(look: TextStyle, source: str, width: float) -> None:
    made = laid_out(plain(source), width, look)
    flow = made.boxes[0].flow
    for line in range(flow.line_count):
        start, end = flow.line_range(line)
        for index in range(start, end):
            left, right = flow.x_of(line, index), flow.x_of(line, index + 1)
            if left < right:
                y = made.boxes[0].line_y(line) + 1
                found = made.character_at((left + right) / 2, y)
                assert found is not None
                assert found[2] == index


def test_only_the_last_line_is_broken_again(look: TextStyle) -> None:
    document, made, source = PlainDocument(), Layout(look), "some words " * 9000
    made.lay_out(document, document.update(source), 400.0, look)
    lines = made.boxes[0].flow.line_count
    before = made.lines_wrapped
    assert lines > 1000
    for _ in range(50):
        source += " token"
        made.lay_out(document, document.update(source), 400.0, look)
    added = made.boxes[0].flow.line_count - lines
    assert made.lines_wrapped - before <= 50 + added


def test_a_strip_gives_only_its_lines(look: TextStyle) -> None:
    made = laid_out(plain("line\n" * 20_000), 400.0, look)
    middle = made.height / 2
    lines = list(made.lines(middle, middle + 200))
    height = lines[0].height
    assert len(lines) <= 200 / height + 2
    assert lines[0].y <= middle < lines[0].y + height
    assert lines[-1].y <= middle + 200


def test_words_stay_whole_where_they_fit(look: TextStyle) -> None:
    lines = shown(laid_out(plain("alpha beta gamma delta epsilon"), 100.0, look))
    assert [word for line in lines for word in line.split()] == [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
    ]
    assert len(lines) > 1


def test_ideographs_break_anywhere_but_before_a_full_stop(look: TextStyle) -> None:
    lines = shown(laid_out(plain("日本語の文章。" * 10), 60.0, look))
    assert len(lines) > 5
    assert not [line for line in lines if line.startswith("。")]


def test_indentation_stays(look: TextStyle) -> None:
    assert shown(laid_out(plain("    " + "long" * 20), 200.0, look))[0].startswith("    long")


def test_a_style_with_another_size_is_laid_out_again(look: TextStyle) -> None:
    from dataclasses import replace

    made = laid_out(plain("some text"), 400.0, look)
    height = made.height
    made.lay_out(plain("some text"), 1, 400.0, replace(look, size=32.0))
    assert made.height == pytest.approx(2 * height)


def test_blocks_have_room_and_come_in_order(look: TextStyle) -> None:
    document = MarkdownDocument()
    document.update("# Title\n\ntext\n\n- one\n- two\n\n```\ncode\n```\n\n---\n\n> quote")
    made = laid_out(document, 400.0, look)
    for above, below in zip(made.boxes, made.boxes[1:], strict=False):
        assert above.bottom < below.top
    by_kind = {box.block.kind: box for box in made.boxes}
    assert by_kind["heading"].flow.line_height > by_kind["paragraph"].flow.line_height
    assert by_kind["code"].height > by_kind["code"].flow.height
    assert made.height == made.boxes[-1].bottom
