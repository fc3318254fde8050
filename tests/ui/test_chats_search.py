"""Search: words in any case and accent, where they stand, and an index that keeps up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt2gl_ui.chats.search import MESSAGE, NOTEBOOK, TITLE, Hit, Search, fold
from gpt2gl_ui.chats.store import Store
from gpt2gl_ui.chats.tree import Chat
from gpt2gl_ui.chats.writer import Writer
from tests.ui.chat_values import dialogue

LONG = 20.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    writer = Writer(lambda key, problem: None)
    made = Store(writer, tmp_path)
    made.start()
    yield made
    made.close(LONG)
    writer.close(LONG)


def saved(store: Store, *said: str, name: str | None = None) -> Chat:
    chat = dialogue(*said)
    if name:
        chat.rename(name)
    store.save(chat)
    assert store._writer.flush(LONG)
    return chat


def find(search: Search, query: str, limit: int = 200) -> list[Hit]:
    search.begin()
    assert search.update(math.inf)
    return search.find(query, limit)


def marked(hit: Hit) -> str:
    """The snippet with its matches in brackets."""
    text = hit.snippet
    for start, end in reversed(hit.matches):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Once upon a TIME", "time once", "[Once] upon a [TIME]"),
        ("Un café crème", "CAFE creme", "Un [café] [crème]"),
        ("Un cafe\u0301 noir", "café", "Un [cafe\u0301] noir"),
        ("Straße", "STRASSE", "[Straße]"),
        ("ΟΔΟΣ οδός", "οδος", "[ΟΔΟΣ] [οδός]"),
        ("İstanbul", "istanbul", "[İstanbul]"),
        ("ﬁne ﬁt", "fit", "ﬁne [ﬁt]"),
        ("東京タワー", "京", "東[京]タワー"),
        ("one\ntwo\tthree", "two", "one [two] three"),
        ("abcabc", "abca bcab", "[abcab]c"),
    ],
)
def test_words_and_where_they_stand(text: str, query: str, expected: str, store: Store) -> None:
    chat = saved(store, "?", text, name="title")
    (hit,) = find(Search(store), query)
    # A mark that is drawn over its letter may stand inside or behind the match.
    assert marked(hit).replace("]\u0301", "\u0301]") == expected
    assert (hit.chat_id, hit.place, hit.message_id) == (chat.id, MESSAGE, chat.path()[1].id)


def test_all_words_must_occur(store: Store) -> None:
    saved(store, "red apple", "green pear", name="Fruit")
    saved(store, "red rose", name="Flowers")
    search = Search(store)
    assert [hit.snippet for hit in find(search, "red")] == ["red rose", "red apple"]
    assert [hit.snippet for hit in find(search, "red fruit")] == ["red apple"]
    assert find(search, "red pear") == []
    assert find(search, "red blue") == []
    assert find(search, " ") == []
    (hit,) = find(search, "flow")
    assert (hit.place, hit.message_id, marked(hit)) == (TITLE, None, "[Flow]ers")


def test_versions_and_notebooks_are_found(store: Store) -> None:
    chat = saved(store, "first words")
    chat.edit(chat.path()[0].id, "other words")
    chat.notebook.apply_edit("a chapter")
    chat.touch()
    store.save(chat)
    assert store._writer.flush(LONG)
    (hit,) = find(Search(store), "first")
    assert hit.message_id is not None
    (hit,) = find(Search(store), "chapter")
    assert (hit.place, hit.message_id) == (NOTEBOOK, None)


def test_a_long_text_gives_a_short_snippet(store: Store) -> None:
    saved(store, f"{'x ' * 500}needle{' y' * 500}", name="hay")
    (hit,) = find(Search(store), "needle")
    assert len(hit.snippet) == 160
    assert marked(hit)[40:48] == "[needle]"


def test_the_index_keeps_up(store: Store) -> None:
    search = Search(store)
    chat = saved(store, "one", name="t")
    assert len(find(search, "one")) == 1
    chat.say("two")
    assert find(search, "two") == []
    search.note(chat)
    assert len(find(search, "two")) == 1
    search.forget(chat.id)
    store.save(chat)
    assert store._writer.flush(LONG)
    assert len(find(search, "two")) == 1
    store.delete(chat.id)
    assert find(search, "two") == []


def test_a_private_chat_is_found_while_it_is_there(store: Store) -> None:
    chat = dialogue("secret")
    chat.private = True
    search = Search(store)
    search.note(chat)
    assert {hit.place for hit in find(search, "secret")} == {TITLE, MESSAGE}
    search.forget(chat.id)
    assert find(search, "secret") == []


def test_bounded_steps_and_memory(store: Store) -> None:
    for i in range(5):
        saved(store, f"number {i}", name="t")
    search = Search(store, limit=20)
    search.begin()
    assert not search.update(-math.inf)
    assert search.find("number") == []
    # More than the memory may hold is read from the disk again.
    assert len(find(search, "number")) == 5
    assert len(find(search, "number")) == 5
    assert search._characters <= 20
    assert len(find(search, "number", limit=3)) == 3


@given(st.text(max_size=30), st.text(max_size=30))
def test_folding_goes_letter_by_letter(a: str, b: str) -> None:
    assert fold(a + b) == fold(a) + fold(b)
    assert fold(fold(a)) == fold(a)
