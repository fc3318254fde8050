"""Parts of the inspector that need no model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpt2gl.interventions import Scale
from gpt2gl_ui.inspector.changes import HEAD, LAYER, MLP, Changes, Part, largest_changes
from gpt2gl_ui.inspector.colours import DARK_INK, LIGHT_INK, ink_on, sequential
from gpt2gl_ui.inspector.inspector import ATTENTION, TOKENS
from gpt2gl_ui.inspector.panel import TABS
from gpt2gl_ui.inspector.tab_activations import BINS, histogram
from tests.ui.fakes import staged


def test_parts_become_one_scale_for_each_tensor() -> None:
    changes = Changes()
    changes.scale(Part(HEAD, 1, 2), 0.0)
    changes.scale(Part(HEAD, 1, 0), 0.5)
    changes.scale(Part(MLP, 3), 2.0)
    changes.scale(Part(LAYER, 0), 0.0)
    found = [each for each in changes.interventions() if isinstance(each, Scale)]
    assert [(each.at, each.factor, each.heads) for each in found] == [
        ("h.0.attn.out", 0.0, None),
        ("h.0.mlp.out", 0.0, None),
        ("h.3.mlp.out", 2.0, None),
        ("h.1.attn.z", (0.5, 0.0), (0, 2)),
    ]


def test_a_change_and_its_undoing_are_versions() -> None:
    changes = Changes()
    changes.scale(Part(MLP, 0), 1.0)
    assert changes.version == 0
    assert not changes.is_active
    changes.scale(Part(MLP, 0), 0.0)
    changes.reset()
    assert changes.version == 2
    assert changes.interventions() == []


def test_the_largest_changes_of_logits() -> None:
    before, after = np.zeros(5, np.float32), np.array([1, -2, 0, 3, 0.5], np.float32)
    gains, losses = largest_changes(before, after, 2)
    assert gains == [(3, 3.0), (0, 1.0)]
    assert losses == [(1, -2.0), (2, 0.0)]


def test_a_distribution_keeps_outliers_in_its_outer_bars() -> None:
    values = np.concatenate([np.linspace(-1, 1, 10_000), [3000.0]]).astype(np.float32)
    counts, edges, low, high = histogram(values)
    assert (len(counts), len(edges)) == (BINS, BINS + 1)
    assert counts.sum() == len(values)
    assert edges[-1] < 1.1
    assert (low, high) == (-1.0, 3000.0)
    flat = histogram(np.ones(4, np.float32))
    assert flat[0].sum() == 4


def test_text_on_a_colour_can_be_read() -> None:
    assert ink_on(sequential(0.0)) == LIGHT_INK
    assert ink_on(sequential(1.0)) == DARK_INK
    red, green, blue, _ = sequential(2.0)
    assert red > 0.9 > blue
    assert green > 0.8


def test_without_a_model_every_tab_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with staged(tmp_path, monkeypatch, size=(780, 640), whole=True) as stage:
        assert stage.app.inspector.tab == ATTENTION
        stage.app.set("inspector_open", True)
        stage.driver.frame(2)
        for tab in TABS:
            stage.driver.click(f"inspector.{tab}")
            assert stage.app.inspector.tab == tab
        assert not stage.app.work(0.0)
        stage.driver.click("inspector.full")
        stage.driver.click(f"inspector.{TOKENS}")
        stage.driver.click("inspector.close")
        assert not stage.app.state.inspector_full
