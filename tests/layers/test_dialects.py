"""Every shader in every shape, as OpenGL's GLSL and as OpenGL ES's, by an independent compiler.

Scenes drive whatever draws; each program that they ask for is noted, and none is compiled by the
driver. A shader file that no scene draws fails the test.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpt2gl.gl import program
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.program import HEADERS, Source, expand
from gpt2gl.gl.timing import measure_rates
from gpt2gl.gl.tuning import GPU, SOFTWARE, Tuning
from gpt2gl.interventions import Scale, hook_points
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_batch import Batch
from gpt2gl.models.gpt2_capture import KINDS, Capture
from gpt2gl.views import Views
from tests.conftest import MakeDevice
from tests.engine import drain
from tests.models import checkpoint, config
from tests.source_tree import ROOT

MODELS = [
    config(activation_function="gelu"),
    config(activation_function="relu"),
    config(activation_function="silu"),
    config(n_embd=21, n_inner=33, vocab_size=3, n_positions=11),
    config(n_embd=60, n_head=4, tie_word_embeddings=False, scale_attn_weights=False),
    config(n_positions=200),
]
LONG = len(MODELS) - 1
PLANS = ("trace", "row_logits", "prefill", "prefill_head", "decode")
LIMITS: tuple[dict[str, int], ...] = (
    {},
    {"max_draw_buffers": 4},
    {"max_uniform_block": 64},
    {"max_side": 2048, "max_draw_buffers": 4, "max_uniform_block": 16384},
)
STAGES = {".vert": "vert", ".frag": "frag"}
Load = Callable[..., GPT2]

pytestmark = pytest.mark.skipif(
    shutil.which("glslangValidator") is None,
    reason="glslangValidator is not installed (package glslang-tools; ./test installs it)",
)


class Seen:
    """The shaders that were asked for, and their texts in both dialects."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.texts: set[tuple[str, str]] = set()

    def expand(self, shader: str, defines: Any, version: str = "330 core") -> Source:
        self.files.add(shader)
        for each in HEADERS:
            self.texts.add((STAGES[Path(shader).suffix], expand(shader, defines, each).text))
        return expand(shader, defines, version)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Notes programs in place of compiling them; draws then change nothing."""
    found = Seen()
    monkeypatch.setattr(program, "expand", found.expand)
    monkeypatch.setattr(program, "_program", lambda *_: 0)
    return found


@pytest.fixture
def load(make_device: MakeDevice) -> Load:
    def loaded(
        number: int | None = None,
        layout: str = "rgba32f",
        tuning: Tuning = SOFTWARE,
        **limit: int,
    ) -> GPT2:
        device = make_device(**limit)
        device.tuning = tuning
        return GPT2.load(device, checkpoint(config() if number is None else MODELS[number]), layout)

    return loaded


# Scenes ------------------------------------------------------------------------------------------


def plans(load: Load) -> None:
    models = [load(number) for number in range(len(MODELS))]
    models += [load(layout=layout, **limit) for layout in LAYOUTS for limit in LIMITS]
    models += [load(layout=layout, tuning=GPU) for layout in LAYOUTS]
    models.append(load(tuning=GPU, max_draw_buffers=4))
    for model in models:
        for plan in PLANS:
            model.plan(plan)


def batches(load: Load) -> None:
    for layout in ("rgba32f", "f16", "int8", "int4"):
        for tuning in (SOFTWARE, GPU):
            for n in (2, 6):
                Batch(load(layout=layout, tuning=tuning), 8, n, 4).close()


def interventions(load: Load) -> None:
    for layout, tuning in (("rgba32f", SOFTWARE), ("rgba32f", GPU), ("r32f", SOFTWARE)):
        model = load(layout=layout, tuning=tuning)
        names = [name for name in hook_points(model.config) if not name.endswith(("ln_1", "ln_2"))]
        model.intervene([Scale(name, 0.5) for name in names])
        for plan in PLANS:
            model.plan(plan)
        model.intervene(())


def pictures(load: Load) -> None:
    for tuning in (SOFTWARE, GPU):
        model = load(LONG, tuning=tuning)
        model.capture = Capture(model, tuple(KINDS))
        tokens = [1, 2, 3] * 50  # more than a history starts with
        drain(model.encode(tokens[:-1], 0))
        drain(model.encode(tokens, len(tokens) - 1))
        views = Views(model)
        for view in all_views(views, model):
            view.draw()
        views.close()
        model.capture.close()
        model.capture = None


def all_views(views: Views, model: GPT2) -> Iterator[Any]:
    for mode in ("weights", "scores"):
        yield views.thumbnails(mode=mode)
        yield views.attention(0, mode=mode)
        yield views.attention(1, 2, mode=mode, size=16)
    for scale in ("linear", "symlog", "row"):
        yield views.residual(1, scale=scale)
        yield views.mlp(0, scale=scale)
    yield views.norms()
    yield views.tensor(model.weights.wpe)
    for layout in LAYOUTS:
        yield views.tensor(GPT2.load(model.device, checkpoint(config()), layout).weights.wte)


def rates(load: Load) -> None:
    measure_rates(load().device)


def test_every_shader_is_valid_in_both_dialects(seen: Seen, load: Load, tmp_path: Path) -> None:
    for scene in (plans, batches, interventions, pictures, rates):
        scene(load)
    files = {path.name for path in (ROOT / "glsl").iterdir() if path.suffix in STAGES}
    assert seen.files == files
    assert complaints(seen.texts, tmp_path) == ""


# The compiler ------------------------------------------------------------------------------------


def complaints(texts: set[tuple[str, str]], folder: Path) -> str:
    """What glslangValidator says of the shaders; empty if nothing."""
    files = []
    for i, (stage, text) in enumerate(sorted(texts)):
        files.append(f"{i}.{stage}")
        (folder / files[-1]).write_text(text)
    done = subprocess.run(["glslangValidator", *files], cwd=folder, capture_output=True, text=True)
    assert done.stdout.split() == files or done.returncode != 0
    return "" if done.returncode == 0 else done.stdout


FAULTS = {
    "a define that is missing": "int f() { return NOT_DEFINED; }",
    "an integer where a float is due": "float g() { float a = 1; return a; }",
    "a function of later versions": "uint h(vec2 v) { return packHalf2x16(v); }",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, tmp_path: Path) -> None:
    source = expand("add.frag", {"ROWS": 1, "OUT_GRID": "ivec4(1)", "TOKENS4": 1}).text
    found = {("frag", source + FAULTS[fault])}
    assert "ERROR" in complaints(found, tmp_path)
