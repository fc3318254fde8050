"""Tokens in the conversation: tint, the card with alternatives; and what is said about answers."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpt2gl_ui import theme
from gpt2gl_ui.chats.messages import NO_TOKEN, TokenInfo
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.palette import DARK
from gpt2gl_ui.views import token_card
from gpt2gl_ui.views.conversation import Transcript
from gpt2gl_ui.views.meta import meta_line, moment
from gpt2gl_ui.views.tint import TokenMap
from gpt2gl_ui.views.welcome import suggestions_for
from tests.ui.fakes import FakeSession, Stage, staged
from tests.ui.imgui_frames import frames


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> Iterator[Stage]:
    with staged(tmp_path, monkeypatch, FakeSession(reason="length")) as made:
        yield made


def point_at_first_token(stage: Stage) -> None:
    x, y, _, height = stage.driver.hook.marks["message.1"]
    # imgui follows the pointer once it has moved.
    stage.driver.move(x + theme.px(20), y + height / 2)
    stage.driver.move(x + theme.px(22), y + height / 2)
    stage.driver.frame(2)


def open_card(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(token_card, "REST_SECONDS", 0.0)
    stage.say("Begin")
    point_at_first_token(stage)


def test_the_token_under_the_pointer_is_known(stage: Stage) -> None:
    stage.say("Begin")
    point_at_first_token(stage)
    answer = stage.app.talk.chat.path()[1]
    assert stage.app.state.hovered_token == (answer.id, 0)
    stage.driver.move(2, 2)
    stage.driver.frame(2)
    assert stage.app.state.hovered_token is None


def test_the_card_waits_for_a_resting_pointer(stage: Stage) -> None:
    stage.say("Begin")
    card = stage.app.state.kept("transcript", Transcript).card
    card._clock = lambda: stage.driver.clock.now
    point_at_first_token(stage)
    assert card.open is None
    stage.driver.frame(round(token_card.REST_SECONDS * 60) + 2)
    assert card.open is not None
    assert "token.card" in stage.driver.hook.marks


def test_an_alternative_that_is_clicked_branches(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_card(stage, monkeypatch)
    assert "token.alternative.9" in stage.driver.hook.marks
    stage.session.words = (" dark",)  # type: ignore[union-attr]
    stage.driver.click("token.alternative.2")
    stage.rest()
    assert stage.app.talk.chat.path()[1].text == "b dark"
    assert len(stage.app.talk.chat.versions(stage.app.talk.chat.path()[1].id)[1]) == 2
    assert "token.card" not in stage.driver.hook.marks


def test_the_card_closes_when_the_pointer_leaves(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_card(stage, monkeypatch)
    stage.driver.hover("token.card")
    assert "token.card" in stage.driver.hook.marks
    stage.driver.move(2, 2)
    stage.driver.frame(3)
    assert "token.card" not in stage.driver.hook.marks


def test_tint_is_seen_where_it_is_on(stage: Stage) -> None:
    stage.say("Begin")
    x, y, _, _ = stage.driver.hook.marks["message.1"]
    # Left of the line's middle there is text; its upper edge shows what is behind it.
    place = x + theme.px(40), y + theme.px(13)
    plain = stage.driver.pixel(*place)
    for tint in ("probability", "entropy"):
        stage.app.set("token_tint", tint)
        stage.driver.frame(3)
        assert stage.driver.pixel(*place) != plain, tint


def token(text: str, probability: float = 0.5, id: int = 3) -> TokenInfo:
    return TokenInfo(id, text, math.log(probability), probability, 2.0)


def test_token_places_grow_with_the_answer() -> None:
    with frames(DARK):
        places, tokens = TokenMap(), (token("On"), token(""), token("ce"))
        assert places.of(tokens, "off", None).starts == [0, 2, 2]
        grown = places.of((*tokens, token(" upon")), "off", 1)
        assert (grown.ends, grown.selected) == ([2, 2, 4, 9], 1)
        assert places.of((token("Other"),), "off", None).ends == [5]


def test_sure_tokens_are_not_tinted_and_unknown_ones_never() -> None:
    with frames(DARK):
        tokens = (token("sure", 1.0), token("rare", 0.001), token("typed", 0.001, NO_TOKEN))
        sure, rare, typed = TokenMap().of(tokens, "probability", None).colours
    assert typed == 0
    assert sure >> 24 == 0
    assert rare >> 24 > 90


def test_a_line_says_how_an_answer_was_made(stage: Stage) -> None:
    stage.say("Begin")
    line = meta_line(stage.app, stage.app.talk.chat.path()[1])
    assert line.split("  ·  ") == ["storyteller", "5 tokens", "4 tok/s", "length limit reached"]
    assert meta_line(stage.app, stage.app.talk.chat.path()[0]) == ""


def test_moments_of_other_days_have_a_date() -> None:
    noon = time.mktime((2024, 3, 5, 12, 30, 0, 0, 0, -1))
    assert moment(noon, noon + 60) == "12:30"
    assert moment(noon, noon + 3 * 86400) == time.strftime("%d %b, 12:30", time.localtime(noon))
    dated = time.strftime("%d %b %Y, 12:30", time.localtime(noon))
    assert moment(noon, noon + 400 * 86400) == dated


def test_every_model_has_three_suggestions() -> None:
    for model in ("storyteller", "microsoft/DialoGPT-small", "gpt2", ""):
        about, suggested = suggestions_for(model)
        assert len(suggested) == 3
        assert about


def test_a_suggestion_of_the_empty_chat_is_sent(stage: Stage) -> None:
    stage.driver.click("welcome.2")
    stage.rest()
    assert stage.app.talk.chat.path()[0].text == suggestions_for("storyteller")[1][2].text
    assert len(stage.app.talk.chat.path()) == 2


def test_a_beginning_is_continued_in_the_notebook(stage: Stage) -> None:
    stage.driver.click("welcome.0")
    stage.rest()
    chat, begun = stage.app.talk.chat, suggestions_for("storyteller")[1][0].text
    assert chat.mode == NOTEBOOK
    assert chat.notebook.text == f"{begun}Once upon a time."
