"""The notebook: spans cover the text whatever is typed and generated."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl_ui.chats.notebook import Notebook, Span

# Few letters, so that edits are ambiguous.
letters = st.text("ab", max_size=8)
steps = st.lists(
    st.tuples(st.just("generate"), st.integers(-2, 30), letters)
    | st.tuples(st.just("edit"), st.none() | st.integers(-2, 30), letters),
    max_size=12,
)


def sound(notebook: Notebook) -> None:
    assert "".join(span.text for span in notebook.spans) == notebook.text
    assert all(span.text for span in notebook.spans)
    kinds = [span.generated for span in notebook.spans]
    assert all(a != b for a, b in itertools.pairwise(kinds))


@given(steps)
def test_spans_cover_the_text(changes: list[tuple[str, int | None, str]]) -> None:
    notebook = Notebook()
    for kind, at, text in changes:
        if kind == "generate":
            before, place = notebook.text, max(0, min(at or 0, len(notebook.text)))
            cursor = notebook.insert_generated(at or 0, text)
            assert notebook.text == before[:place] + text + before[place:]
            assert cursor == place + len(text)
        else:
            notebook.apply_edit(text, at)
            assert notebook.text == text
        sound(notebook)


@given(st.lists(st.tuples(letters, st.booleans()), max_size=5), letters, st.data())
def test_typing_changes_no_other_tint(
    pieces: list[tuple[str, bool]], typed: str, data: st.DataObject
) -> None:
    notebook = Notebook(Span(text, made) for text, made in pieces)
    tint = [span.generated for span in notebook.spans for _ in span.text]
    at = data.draw(st.integers(0, len(tint)))
    until = data.draw(st.integers(at, len(tint)))
    text = notebook.text
    notebook.apply_edit(f"{text[:at]}{typed}{text[until:]}", at + len(typed))
    after = [span.generated for span in notebook.spans for _ in span.text]
    # Letters that stay the same at the edge of the change may keep their tint.
    assert after[:at] == tint[:at]
    assert after[at + len(typed) :] == tint[until:]
    if at == until:
        assert after[at : at + len(typed)] == [False] * len(typed)


def test_generated_text_is_tinted_until_edited() -> None:
    notebook = Notebook()
    notebook.apply_edit("Once")
    cursor = notebook.insert_generated(4, " upon a")
    notebook.insert_generated(cursor, " time")
    assert notebook.spans == (Span("Once", False), Span(" upon a time", True))
    notebook.apply_edit("Once upon the time")
    assert notebook.spans == (
        *(Span("Once", False), Span(" upon ", True)),
        *(Span("the", False), Span(" time", True)),
    )
    notebook.apply_edit("Once time")
    assert notebook.spans == (Span("Once", False), Span(" time", True))


@pytest.mark.parametrize(("cursor", "spans"), [(1, "TTa"), (2, "aTa"), (3, "aaT")])
def test_the_cursor_tells_equal_letters_apart(cursor: int, spans: str) -> None:
    notebook = Notebook([Span("aa", True)])
    notebook.apply_edit("aaa", cursor)
    tint = "".join("a" if s.generated else "T" for s in notebook.spans for _ in s.text)
    assert tint == spans.replace("TTa", "Taa")


def test_long_text_is_quick() -> None:
    text = "x" * 1_000_000
    notebook = Notebook([Span(text, True)])
    for i in range(50):
        notebook.apply_edit(f"{notebook.text[: i * 1000]}y{notebook.text[i * 1000 :]}")
    sound(notebook)
