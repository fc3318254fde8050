"""The inspector's tables by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpt2gl_ui.inspector import tab_attention, tab_intervene, tab_lens
from gpt2gl_ui.inspector.changes import HEAD, LAYER, Part
from gpt2gl_ui.inspector.cursor import Cursor
from gpt2gl_ui.inspector.inspector import ATTENTION, INTERVENE, LENS
from tests.ui.fakes import Stage
from tests.ui.inspecting import inspected, open_panel, rest, session_of, show


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with inspected(tmp_path_factory.mktemp("keys")) as made:
        yield made


@pytest.fixture
def opened(stage: Stage) -> Stage:
    open_panel(stage)
    return stage


def tab_to(stage: Stage, cursor: Cursor) -> None:
    """Tab from the names of the tabs until the keyboard is at a table."""
    for _ in range(40):
        if cursor.is_shown:
            return
        stage.driver.key("tab")
    raise AssertionError("the table is not reached")


def keys(stage: Stage, *names: str) -> None:
    for name in names:
        stage.driver.key(name)
    rest(stage)


def test_a_head_is_opened_by_arrows_and_enter(opened: Stage) -> None:
    show(opened, ATTENTION)
    chosen = opened.app.state.kept("inspector.attention", tab_attention.Chosen)
    chosen.heads.column = chosen.heads.row = 0
    tab_to(opened, chosen.heads)
    keys(opened, "left", "right", "down", "down")
    assert chosen.heads.cell == (1, 2)
    plain = opened.driver.image()
    keys(opened, "right")
    assert opened.driver.image() != plain  # the ring
    keys(opened, "enter")
    assert chosen.opened == (2, 2)
    assert chosen.cells.is_shown
    keys(opened, "down", "down", "right", "space")
    assert opened.app.inspector.selected == 2


def test_the_last_layers_thumbnails_scroll_into_sight(opened: Stage) -> None:
    show(opened, ATTENTION)
    chosen = opened.app.state.kept("inspector.attention", tab_attention.Chosen)
    tab_to(opened, chosen.heads)
    last = session_of(opened).model.config.n_layer - 1
    chosen.heads.row = last - 1
    keys(opened, "down", "down")
    assert chosen.heads.row == last
    _, y, _, height = opened.driver.hook.marks[f"attention.head.{last}.0"]
    assert y + height <= 640


def test_a_cell_of_the_lens_is_chosen(opened: Stage) -> None:
    show(opened, LENS)
    chosen = opened.app.state.kept("inspector.lens", tab_lens.Chosen)
    tab_to(opened, chosen.cursor)
    assert chosen.seen is not None
    column, rows = len(chosen.seen.positions) - 1, len(chosen.seen.names)
    keys(opened, "left", "down", "enter")
    assert chosen.cell == (rows - 2, column - 1)
    chosen.cursor.column = 1
    keys(opened, "left", "left")
    assert chosen.cursor.column == 0
    x, _, width, _ = opened.driver.hook.marks["lens.table.1.0"]
    assert x > opened.driver.hook.marks["inspector.Attention"][0]  # scrolled to, not below labels
    assert width > 0


def test_parts_are_switched_by_space_and_enter(opened: Stage) -> None:
    show(opened, INTERVENE)
    brush = opened.app.state.kept("inspector.intervene", tab_intervene.Brush)
    tab_to(opened, brush.cursor)
    n_head = session_of(opened).model.config.n_head
    keys(opened, "down", "space")
    brush.cursor.column = n_head
    keys(opened, "right", "enter")
    changes = opened.app.inspector.changes
    assert changes.factors == {Part(HEAD, 1, 0): 0.0, Part(LAYER, 1): 0.0}
    keys(opened, "enter")
    assert changes.factors == {Part(HEAD, 1, 0): 0.0}


def test_the_pointer_takes_over_and_the_keyboard_goes_on_from_there(opened: Stage) -> None:
    show(opened, INTERVENE)
    brush = opened.app.state.kept("inspector.intervene", tab_intervene.Brush)
    changes = opened.app.inspector.changes
    tab_to(opened, brush.cursor)
    opened.driver.click("intervene.parts.2.3")
    rest(opened)
    assert changes.factors == {Part(HEAD, 2, 3): 0.0}
    assert brush.cursor.cell == (3, 2)
    keys(opened, "up")
    assert brush.cursor.cell == (3, 1)
    keys(opened, "space")
    assert changes.factors == {Part(HEAD, 2, 3): 0.0, Part(HEAD, 1, 3): 0.0}
