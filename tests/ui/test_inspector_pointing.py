"""Pointing at a word of the conversation shows in the conversation what it attended to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gpt2gl_ui import theme
from gpt2gl_ui.inspector.inspector import LENS
from gpt2gl_ui.inspector.spans import last_place
from gpt2gl_ui.text.painting import Tokens
from gpt2gl_ui.views.conversation import Transcript
from gpt2gl_ui.views.tint import weight_tint
from tests.ui.fakes import Stage
from tests.ui.inspecting import inspected, open_panel, reads_counted, rest, session_of, show


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with inspected(tmp_path_factory.mktemp("pointing"), (1000, 640)) as made:
        yield made


@pytest.fixture
def opened(stage: Stage) -> Stage:
    open_panel(stage)
    leave(stage)
    return stage


def leave(stage: Stage) -> None:
    stage.driver.move(5, 5)
    stage.driver.frame(2)


def point_at(stage: Stage, index: int) -> None:
    """The pointer on a token of the answer."""
    answer = stage.app.talk.chat.path()[1]
    bubble = stage.app.state.kept("transcript", Transcript).bubbles[answer.id]
    x, y, _, _ = stage.driver.hook.marks["message.1"]
    layout, places = bubble.text._layout, bubble.token_places(stage.app)
    assert layout is not None
    assert places is not None
    left, top, height = layout.position_of(places.starts[index] + 1)
    inset = theme.px(16), theme.px(11)
    for nudge in (2, 3):  # imgui follows the pointer once it has moved
        stage.driver.move(x + inset[0] + left + nudge, y + inset[1] + top + height / 2)
    rest(stage)
    assert stage.app.state.hovered_token == (answer.id, index)


def tints(stage: Stage) -> list[Tokens | None]:
    return [stage.app.inspector.attention_in(each) for each in stage.app.talk.chat.path()]


def test_words_of_both_sides_are_tinted_by_weight(opened: Stage) -> None:
    app, session = opened.app, session_of(opened)
    plain = opened.driver.image()
    assert tints(opened) == [None, None]
    point_at(opened, 2)
    asked, answered = tints(opened)
    assert asked is not None
    assert answered is not None
    question, answer = app.talk.chat.path()
    tokens, last = app.inspector.text.tokens, session.model.config.n_layer - 1
    query = app.inspector.text.position_of(answer.id, 2)
    assert query is not None
    with app.engine.held():
        probs = session.trace(tokens, [f"h.{last}.attn.probs"])[f"h.{last}.attn.probs"]
    assert app.inspector.attended is not None
    np.testing.assert_allclose(app.inspector.attended, probs[:, query].mean(0)[: query + 1],
                               atol=2e-5)
    words = [question.text[a:b] for a, b in zip(asked.starts, asked.ends, strict=True)]
    assert "".join(words) == question.text
    assert words[:3] == ["Once", " upon", " a"]
    first = app.inspector._spans.of(question)
    assert first is not None
    strongest = float(app.inspector.attended[first.first + 1])
    assert asked.colour(1) == theme.ink(weight_tint(strongest))
    assert answered.selected == 2
    assert len(answered.colours) == 3  # what comes later is not attended to
    rest(opened)
    assert opened.driver.image() != plain


def test_leaving_clears_the_tint_at_once(opened: Stage) -> None:
    plain = opened.driver.image().crop((0, 60, 500, 400))
    point_at(opened, 1)
    assert all(tints(opened))
    opened.driver.move(5, 5)
    assert tints(opened) == [None, None]
    assert opened.driver.image().crop((0, 60, 500, 400)) == plain


def test_the_chosen_head_and_no_other_tab(opened: Stage) -> None:
    opened.driver.click("attention.head.1.2")
    point_at(opened, 1)
    app, session = opened.app, session_of(opened)
    query = app.inspector.text.position_of(app.talk.chat.path()[1].id, 1)
    assert query is not None
    with app.engine.held():
        probs = session.trace(app.inspector.text.tokens, ["h.1.attn.probs"])["h.1.attn.probs"]
    assert app.inspector.attended is not None
    np.testing.assert_allclose(app.inspector.attended, probs[2, query, : query + 1], atol=2e-5)
    leave(opened)
    show(opened, LENS)
    point_at(opened, 1)
    assert tints(opened) == [None, None]
    opened.app.set("inspector_open", False)
    opened.driver.frame()
    assert tints(opened) == [None, None]


def test_a_word_is_read_once_also_while_the_text_grows(
    opened: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Callable[[], int] = reads_counted(monkeypatch)
    rest(opened)
    before = counted()
    rest(opened)
    assert counted() == before
    point_at(opened, 2)
    one = counted() - before
    assert one > 0
    rest(opened)
    point_at(opened, 1)
    known = counted()
    point_at(opened, 2)
    assert counted() == known
    leave(opened)
    plain = _cost_of_an_answer(opened, counted)
    point_at(opened, 2)
    assert _cost_of_an_answer(opened, counted) == plain


def _cost_of_an_answer(stage: Stage, counted: Callable[[], int]) -> int:
    """Reads while the answer goes on, as from its second token on."""
    app = stage.app
    answer = app.talk.chat.path()[1]
    before = counted()
    app.talk.go_on(answer.id)
    start = time.monotonic()
    while app.engine.is_busy:
        assert time.monotonic() - start < 60
        app.work(time.monotonic() + 0.001)
        stage.driver.frame()
    reads = counted() - before
    rest(stage)
    return reads


def test_a_text_is_found_where_it_ends_its_line() -> None:
    whole = "User: Us\nUser: é\nA: A\nA:".encode()
    assert last_place(whole, b"A", len(whole)) == whole.index(b" A\n") + 1
    assert last_place(whole, "é".encode(), len(whole)) == whole.index("é".encode())
    assert last_place(whole, b"Us", len(whole)) == 6
    assert last_place(whole, b"other", len(whole)) == -1
    assert last_place(whole, b"", len(whole)) == -1
