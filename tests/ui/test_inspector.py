"""The inspector with a real model: what it shows, what it changes, what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gpt2gl.analysis import attention_of, attention_rollout, probabilities, ranks
from gpt2gl.lens import Lens
from gpt2gl_ui.inspector import tab_attention, tab_intervene, tab_lens
from gpt2gl_ui.inspector.changes import HEAD, LAYER, Part
from gpt2gl_ui.inspector.inspector import ACTIVATIONS, ATTENTION, INTERVENE, LENS, STEP, TOKENS
from gpt2gl_ui.inspector.panel import TABS
from gpt2gl_ui.inspector.texts import EXAMPLE
from gpt2gl_ui.inspector.timing import token_time_steps
from tests.ui.fakes import Stage
from tests.ui.inspecting import inspected, open_panel, reads_counted, rest, session_of, show

PLANS = ("decode", "prefill", "prefill_head", "trace", "row_logits")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with inspected(tmp_path_factory.mktemp("inspector")) as made:
        yield made


@pytest.fixture
def opened(stage: Stage) -> Stage:
    open_panel(stage)
    return stage


@pytest.fixture
def count_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    return reads_counted(monkeypatch)


# Opening and closing ----------------------------------------------------------------------------


def test_closing_leaves_the_same_plans_textures_and_bytes(stage: Stage) -> None:
    session = session_of(stage)
    stage.app.set("inspector_open", False)
    rest(stage)
    model, device = session.model, session.model.device
    plans = {name: model.plan(name) for name in PLANS}
    device.trim()
    counts, sizes = device.counts(), dict(device.pool.bytes_by_use)
    stage.app.set("inspector_open", True)
    rest(stage)
    for tab in TABS:
        show(stage, tab)
    assert device.pool.bytes_by_use["inspector"] > 0
    stage.app.set("inspector_open", False)
    rest(stage)
    assert model.capture is None
    assert all(model.plan(name) is plan for name, plan in plans.items())
    device.trim()
    after = device.counts()
    # Programs, and framebuffers to read what stays, are kept for the next time.
    assert (after["textures"], after["buffers"]) == (counts["textures"], counts["buffers"])
    assert {k: v for k, v in device.pool.bytes_by_use.items() if v} == {
        k: v for k, v in sizes.items() if v
    }


def test_opening_shows_every_head_of_the_conversation(opened: Stage) -> None:
    app, config = opened.app, session_of(opened).model.config
    assert app.inspector.n_rows == len(app.inspector.text.tokens) > 10
    seen = [name for name in opened.driver.hook.marks if name.startswith("attention.head.")]
    assert len(seen) >= config.n_head * 4  # the rest is below
    x, y, _, height = opened.driver.hook.marks["attention.head.0.0"]
    red, green, blue = opened.driver.pixel(x + 2, y + 2)  # the first word looks at itself
    assert red > 200
    assert green > 200
    assert blue < 100
    assert opened.driver.pixel(x + 3, y + height - 6) != opened.driver.pixel(x + height - 6, y + 3)


def test_the_panel_can_have_the_window_for_itself(opened: Stage) -> None:
    opened.driver.click("inspector.full")
    assert opened.app.state.inspector_full
    for tab in TABS:
        show(opened, tab)
    opened.driver.click("inspector.full")
    assert not opened.app.state.inspector_full
    assert opened.app.settings.inspector_open
    opened.driver.click("inspector.close")
    assert not opened.app.settings.inspector_open


def test_a_hint_is_shown_until_it_is_dismissed(opened: Stage) -> None:
    opened.app.set("hints_seen", ())
    opened.driver.frame(2)
    opened.driver.click("inspector.hint")
    assert opened.app.settings.hints_seen == (ATTENTION,)
    opened.driver.frame(2)
    assert "inspector.hint" not in opened.driver.hook.marks
    show(opened, TOKENS)
    assert "inspector.hint" in opened.driver.hook.marks


def test_an_open_panel_at_rest_draws_nothing(opened: Stage) -> None:
    loop, clock = opened.app.loop, opened.driver.clock
    for _ in range(30):  # until tooltips and carets have come to rest
        clock.advance(0.5)
        loop.step()
    before = loop.frame_number
    for _ in range(10):
        clock.advance(0.5)
        assert loop.step() != 0.0
    assert loop.frame_number == before


# Numbers ----------------------------------------------------------------------------------------


def test_the_weight_that_is_pointed_at_is_the_traced_one(opened: Stage) -> None:
    app, session = opened.app, session_of(opened)
    opened.driver.click("attention.head.2.1")
    rest(opened)
    x, y, width, _ = opened.driver.hook.marks["attention.large.cells"]
    side = (width - 74) / app.inspector.n_rows
    opened.driver.move(x + 74 + 4.5 * side, y + 64 + 9.5 * side)
    rest(opened)
    chosen = app.state.kept("inspector.attention", tab_attention.Chosen)
    assert chosen.head == (2, 1)
    tokens = app.inspector.text.tokens
    shown = tab_attention.weights_of(app, 2, 1, 9)
    assert shown is not None
    told = tab_attention._told(app, chosen, 4, 9)
    with app.engine.held():
        probs = session.trace(tokens, ["h.2.attn.probs"])["h.2.attn.probs"]
    np.testing.assert_allclose(shown, probs[1, 9, :10], atol=2e-5)
    assert f"weight {probs[1, 9, 4]:.3f}"[:-1] in told
    assert "“" + app.inspector.text.label(9) in told


def test_the_lens_is_the_head_applied_to_each_residual(opened: Stage) -> None:
    show(opened, LENS)
    app, session = opened.app, session_of(opened)
    tokens = app.inspector.text.tokens
    first = max(0, len(tokens) - tab_lens.POSITIONS)
    lens: Lens = app.inspector.result("lens", first, lambda session: pytest.fail("not there"))
    assert lens is not None
    with app.engine.held():
        logits = session.trace(tokens, ["logits"])["logits"]
    at = len(tokens) - 3
    chances = probabilities(logits[at])
    column = lens.positions.index(at)
    assert lens.tokens[-1, column, 0] == chances.argmax()
    np.testing.assert_allclose(lens.probabilities[-1, column, 0], chances.max(), atol=1e-4)
    assert lens.chosen[column] == tokens[at + 1]
    assert lens.chosen_ranks[-1, column] == ranks(logits[at], tokens[at + 1])


def test_rollout_adds_up_the_layers_before(opened: Stage) -> None:
    app, session = opened.app, session_of(opened)
    opened.driver.click("attention.head.2.1")
    opened.driver.click("attention.mode.Rollout")
    rest(opened)
    shown = app.inspector.result("rollout", None, lambda session: pytest.fail("not there"))
    with app.engine.held():
        trace = session.trace(app.inspector.text.tokens, ["h.*.attn.probs"])
    expected = attention_rollout(attention_of(trace, session.model.config.n_layer))
    np.testing.assert_allclose(shown[2], expected[2], atol=1e-4)


def test_another_text_than_the_conversation_can_be_looked_at(opened: Stage) -> None:
    inspector = opened.app.inspector
    inspector.text.show(EXAMPLE)
    rest(opened)
    tokens = tuple(session_of(opened).prompt_tokens(EXAMPLE))
    assert inspector.text.tokens == session_of(opened).encoded == tokens
    assert inspector.n_rows == len(tokens)
    opened.driver.click("inspector.back")
    rest(opened)
    assert inspector.text.own is None
    assert inspector.text.tokens != tokens


def test_activations_under_the_pointer_are_the_traced_ones(opened: Stage) -> None:
    show(opened, ACTIVATIONS)
    opened.driver.hover("activations.map")
    rest(opened)
    app, session = opened.app, session_of(opened)
    read = {key: value for key, (_, value) in app.inspector.live._numbers.items()}
    ((kind, point, position),) = [k for k in read if isinstance(k, tuple) and k[0] == "residual"]
    with app.engine.held():
        trace = session.trace(app.inspector.text.tokens, ["h.0.resid_post"])
    np.testing.assert_allclose(read[kind, point, position], trace["h.0.resid_post"][position],
                               rtol=1e-3, atol=1e-3)
    assert read["norms"].shape[1] == len(app.inspector.text.tokens)


def test_a_word_of_the_answer_is_found_among_the_tokens(opened: Stage) -> None:
    app = opened.app
    message = app.talk.chat.last
    assert message is not None
    assert message.answer is not None
    token = message.answer.tokens[2]
    position = app.inspector.text.position_of(message.id, 2)
    assert position is not None
    assert app.inspector.text.tokens[position] == token.id
    app.state.hovered_token = (message.id, 2)
    app.inspector.begin_frame()
    assert app.inspector.hovered == position


# While it runs ----------------------------------------------------------------------------------


def answer(stage: Stage) -> list[int]:
    """The tokens of another version of the last answer."""
    stage.app.talk.regenerate()
    rest(stage)
    message = stage.app.talk.chat.last
    assert message is not None
    assert message.answer is not None
    return [token.id for token in message.answer.tokens]


def test_thumbnails_follow_without_reading_anything(
    stage: Stage, count_reads: Callable[[], int]
) -> None:
    stage.app.set("inspector_open", False)
    rest(stage)
    before = count_reads()
    closed = answer(stage)
    cost = count_reads() - before
    stage.app.inspector.tab = ATTENTION
    stage.app.set("inspector_open", True)
    stage.driver.move(5, 5)
    rest(stage)
    before = count_reads()
    assert answer(stage) == closed
    assert count_reads() - before == cost
    assert stage.app.inspector.n_rows == len(stage.app.inspector.text.tokens)


def test_the_panel_can_be_opened_and_closed_while_an_answer_is_written(stage: Stage) -> None:
    app = stage.app
    expected = answer(stage)
    for wanted in (True, False):
        app.set("inspector_open", not wanted)
        rest(stage)
        app.talk.regenerate()
        while not app.talk.chat[str(app.talk.writing)].text:
            app.work(time.monotonic() + 0.001)
        app.set("inspector_open", wanted)
        rest(stage)
        message = app.talk.chat.last
        assert message is not None
        assert message.answer is not None
        assert [token.id for token in message.answer.tokens] == expected
        assert (session_of(stage).model.capture is not None) == wanted


def test_what_is_computed_aside_gives_way_to_an_answer(opened: Stage) -> None:
    app = opened.app
    app.inspector.changes.scale(Part(HEAD, 0, 0), 0.5)  # so that nothing is known
    rest(opened)
    opened.driver.click(f"inspector.{LENS}")
    while not app.inspector.jobs.is_running("lens"):
        app.work(time.monotonic())
        opened.driver.frame()
    assert app.talk.can_write
    assert not app.talk.is_writing
    app.talk.regenerate()
    assert app.inspector.jobs.running is None
    rest(opened)
    assert app.talk.chat.last is not None
    assert app.talk.chat.last.text
    tokens = app.inspector.text.tokens
    first = max(0, len(tokens) - tab_lens.POSITIONS)
    assert app.inspector.result("lens", first, lambda session: pytest.fail("not there"))


# Changing ---------------------------------------------------------------------------------------


def test_interventions_change_the_answer_and_reset_exactly(opened: Stage) -> None:
    app, session = opened.app, session_of(opened)
    tokens = app.inspector.text.prompt
    with app.engine.held():
        logits = session.logits(tokens)
    plain = answer(opened)
    show(opened, INTERVENE)
    n_head = session.model.config.n_head
    opened.driver.click(f"intervene.parts.1.{n_head + 1}")
    opened.driver.click("intervene.parts.2.0")
    rest(opened)
    assert app.inspector.changes.factors == {Part(LAYER, 1): 0.0, Part(HEAD, 2, 0): 0.0}
    assert len(session.interventions) == 3
    assert "header.changed" in opened.driver.hook.marks
    before = app.inspector.jobs.result("unchanged", tokens, lambda s: pytest.fail("not there"))
    after = app.inspector.result(
        "changed", app.inspector.changes.version, lambda s: pytest.fail("not there")
    )
    assert not np.array_equal(before.logits, after.logits)
    assert answer(opened) != plain
    opened.driver.click("intervene.reset")
    rest(opened)
    assert session.interventions == ()
    assert answer(opened) == plain
    with app.engine.held():
        assert np.array_equal(session.logits(tokens), logits)


def test_a_patch_brings_in_what_another_prompt_has_there(opened: Stage) -> None:
    app, session = opened.app, session_of(opened)
    show(opened, INTERVENE)
    brush = app.state.kept("inspector.intervene", tab_intervene.Brush)
    brush.other, brush.point = "A dog and a cat went to the very big sea together. " * 3, 2
    app.inspector.selected = 5
    tab_intervene._start_patch(app, brush, session, 5)
    rest(opened)
    other = session.prompt_tokens(brush.other)
    with app.engine.held():
        here = session.trace(app.inspector.text.tokens, ["h.1.resid_post"])["h.1.resid_post"][5]
        app.inspector.changes.patch(None)
        session.set_interventions(())
        there = session.trace(other, ["h.1.resid_post"])["h.1.resid_post"][5]
    np.testing.assert_allclose(here, there, rtol=1e-5)


def test_the_passes_of_a_text_one_at_a_time(opened: Stage) -> None:
    show(opened, STEP)
    opened.driver.click("step.start")
    rest(opened)
    opened.driver.click("step.next.10")
    rest(opened)
    stepper = opened.app.inspector.stepper
    assert stepper is not None
    assert [each.label for each in stepper.passes] == stepper.names[:11]
    assert stepper.names[0] == "embed"
    assert all(each.ms > 0 for each in stepper.passes)
    opened.driver.click(f"inspector.{LENS}")  # another text begins
    rest(opened)
    answer(opened)
    show(opened, STEP)
    assert "step.start" in opened.driver.hook.marks


def test_a_token_is_measured_in_short_steps_and_stays_what_it_is(opened: Stage) -> None:
    app, session = opened.app, session_of(opened)
    plan = session.model.plan("decode")
    show(opened, STEP)
    opened.driver.click("step.view.Time of a token")
    rest(opened)
    with app.engine.held():
        logits = session.logits(app.inspector.text.tokens)
    opened.driver.click("step.measure")
    slices = 0
    while "step.time.0" not in opened.driver.hook.marks:
        for _ in range(20):
            app.work(time.monotonic())  # one step, as there is no time left
        opened.driver.frame()
        slices += 20
        assert slices < 40 * len(plan)
    assert slices > len(plan)
    found = app.inspector.result("time", None, lambda session: pytest.fail("not there"))
    assert sum(each.calls for each in found.passes) == len(plan)
    assert found.context == len(app.inspector.text.tokens)
    assert all(each.ms > 0 for each in found.passes)
    with app.engine.held():
        assert np.array_equal(session.model.logits(), logits)


def test_measuring_does_not_change_how_much_a_step_does(opened: Stage) -> None:
    session = session_of(opened)
    device = session.model.device
    with opened.app.engine.held():
        steps = token_time_steps(session, opened.app.inspector.text.tokens)
        for _ in range(40):  # the text is encoded again, and passes are timed
            next(steps)
        before = device.fetches_per_draw
        device.fetches_per_draw = 2 * before  # as the engine does after many short steps
        steps.close()
        assert device.fetches_per_draw == before
