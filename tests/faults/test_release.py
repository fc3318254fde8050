"""Every class with a `close` frees what it holds, and has a test here or elsewhere that says so."""

from __future__ import annotations

import ast
import io
import mmap
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from OpenGL import GL

from gpt2gl.array_files import ArrayFile
from gpt2gl.cli.downloads import DownloadView
from gpt2gl.cli.loader import _Bar
from gpt2gl.errors import WeightError
from gpt2gl.gl.device import Device
from gpt2gl.gl.fences import Fences
from gpt2gl.gl.pictures import Pictures
from gpt2gl.hub.events import Contacting
from gpt2gl.interventions import Scale
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_batch import Batch
from gpt2gl.models.gpt2_capture import KINDS, History
from gpt2gl.models.gpt2_hooks import Edits
from gpt2gl.quantised_file import Piece, Reader, Writer
from gpt2gl.weights.arrays import MappedFile
from tests.conftest import MakeDevice
from tests.models import checkpoint, config, encoded
from tests.source_tree import ROOT, parse, python_files

HERE = "faults/test_release.py"
DEVICE, SESSION = "layers/test_device.py", "test_session.py"
WINDOW = "ui/test_window_release.py"
VIEWS = "layers/test_views.py::test_a_closed_capture_is_not_drawn"
# Class with a `close` -> the test of what that frees.
RELEASE_TESTS: dict[str, str] = {
    "gpt2gl/array_files.py:ArrayFile": f"{HERE}::test_release_array_file",
    "gpt2gl/cli/downloads.py:DownloadView": f"{HERE}::test_release_bars",
    "gpt2gl/cli/loader.py:_Bar": f"{HERE}::test_release_bars",
    "gpt2gl/gl/device.py:Device": f"{DEVICE}::test_release_device",
    "gpt2gl/gl/egl.py:EglContext": f"{HERE}::test_release_egl_context",
    "gpt2gl/gl/fences.py:Fences": f"{HERE}::test_release_fences",
    "gpt2gl/gl/framebuffers.py:Framebuffers": f"{DEVICE}::test_release_framebuffers",
    "gpt2gl/gl/pictures.py:Pictures": f"{HERE}::test_release_pictures",
    "gpt2gl/gl/pool.py:TexturePool": f"{DEVICE}::test_release_texture_pool",
    "gpt2gl/gl/program.py:ProgramCache": f"{DEVICE}::test_release_program_cache",
    "gpt2gl/kv_cache.py:KVCache": f"{DEVICE}::test_release_kv_cache",
    "gpt2gl/models/gpt2.py:GPT2": f"{DEVICE}::test_release_gpt2",
    "gpt2gl/models/gpt2_batch.py:Batch": f"{HERE}::test_release_batch",
    "gpt2gl/models/gpt2_capture.py:Capture": "layers/test_capture.py::test_closed_costs_nothing",
    "gpt2gl/models/gpt2_history.py:History": f"{HERE}::test_release_history",
    "gpt2gl/models/gpt2_hooks.py:Edits": f"{HERE}::test_release_edits",
    "gpt2gl/quantised_file.py:Reader": f"{HERE}::test_release_mapped_files",
    "gpt2gl/session.py:Session": f"{SESSION}::test_close_frees_everything",
    "gpt2gl/views/heatmap.py:TensorView": VIEWS,
    "gpt2gl/views/heatmap.py:_Heatmap": VIEWS,
    "gpt2gl/views/view.py:View": VIEWS,
    "gpt2gl/views/views.py:Views": VIEWS,
    "gpt2gl/weights/arrays.py:MappedFile": f"{HERE}::test_release_mapped_files",
    "ui/app.py:App": f"{WINDOW}::test_an_app_frees_everything",
    "ui/backend.py:Backend": f"{WINDOW}::test_a_backend_frees_its_objects_and_handlers",
    "ui/chats/store.py:Store": f"{WINDOW}::test_a_store_lets_others_own_its_folder",
    "ui/chats/writer.py:Writer": "ui/test_chats_writer.py::test_a_closed_writer_refuses_work",
    "ui/downloads.py:Downloads": "ui/test_downloads.py::test_closing_pauses",
    "ui/engine.py:Engine": f"{WINDOW}::test_an_engine_frees_its_model",
    "ui/inspector/live.py:Live": (
        "ui/test_inspector.py::test_closing_leaves_the_same_plans_textures_and_bytes"
    ),
    "ui/renderer.py:Renderer": f"{WINDOW}::test_a_renderer_frees_its_objects",
    "ui/views/token_card.py:TokenCard": (
        "ui/test_views_conversation_tokens.py::test_the_card_closes_when_the_pointer_leaves"
    ),
}


def closing_classes() -> set[str]:
    return {
        f"{path.relative_to(ROOT).as_posix()}:{node.name}"
        for path in python_files("gpt2gl", "ui")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef) and has_close(node)
    }


def has_close(node: ast.ClassDef) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == "close" for each in node.body)


def test_every_class_that_closes_has_a_release_test() -> None:
    new = closing_classes() - RELEASE_TESTS.keys()
    assert new == set(), "a new resource without a release test"
    for test in RELEASE_TESTS.values():
        file, name = test.split("::")
        functions = ast.walk(parse(ROOT / "tests" / file))
        assert any(isinstance(f, ast.FunctionDef) and f.name == name for f in functions), test


# GL ----------------------------------------------------------------------------------------------


def tiny(device: Device) -> GPT2:
    return GPT2.load(device, checkpoint(config(n_layer=1, n_positions=16)))


def held(device: Device) -> tuple[int, dict[str, int]]:
    device.trim()
    return device.pool.total, {use: n for use, n in device.pool.bytes_by_use.items() if n}


def test_release_fences(device: Device) -> None:
    fences = Fences()
    for _ in range(3):
        fences.mark()
    assert fences.wait(time.monotonic() + 10, most=1)
    fences.mark()
    names = list(fences._pending)
    fences.close()
    fences.close()
    assert not any(GL.glIsSync(each) for each in names)


def test_release_pictures(device: Device) -> None:
    before = held(device)
    pictures = Pictures(device, "pictures")
    made = [pictures.make(4, 3), pictures.make(2, 2)]
    buffer = pictures.block.buffer
    assert pictures.live == 2
    pictures.close()
    pictures.close()
    assert held(device) == before
    assert not GL.glIsBuffer(buffer)
    assert not any(GL.glIsTexture(each.texture) for each in made)


def test_release_batch(make_device: MakeDevice) -> None:
    model = tiny(make_device())

    def run() -> tuple[int, dict[str, int]]:
        encoded(model, [1, 2, 3])
        batch = Batch(model, 3, 2, 5)
        for _ in batch.decode([4, 5]):
            pass
        batch.close()
        return held(model.device)

    # The activations of a batch stay for the next.
    assert run() == run()


def test_release_history(make_device: MakeDevice) -> None:
    model = tiny(make_device())
    before = held(model.device)
    for kind in KINDS.values():
        history = History(model, kind, 8, "rgba32f")
        assert held(model.device) != before
        history.close()
        assert held(model.device) == before


def test_release_edits(make_device: MakeDevice) -> None:
    model = tiny(make_device())
    encoded(model, [1, 2, 3])
    before = held(model.device)
    edits = Edits(model, [Scale("h.0.mlp.act", 0.0)])
    edits.close()
    assert held(model.device) == before


@pytest.mark.skipif(sys.platform != "linux", reason="EGL is Linux's")
def test_release_egl_context() -> None:
    """In a process of its own: it takes the thread's context away."""
    import subprocess

    program = (
        "from gpt2gl.gl.egl import EglContext; c = EglContext(0, 'gl'); c.close(); c.close();"
        "import pytest; from gpt2gl.errors import DeviceError;"
        "pytest.raises(DeviceError, c.switch_to); EglContext(0, 'gl').close()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Files and bars ----------------------------------------------------------------------------------


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


def test_release_mapped_files(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "here")
    writer.add("w", Piece(0, np.ones((2, 2, 4), np.uint32), None))
    path = tmp_path / "w.bin"
    writer.store(path)
    before = open_files()
    mapped, reader = MappedFile(path), Reader(path)
    assert isinstance(mapped.data, mmap.mmap)
    list(reader.pieces("w"))
    for each in (mapped, reader, mapped, reader):
        each.close()
    assert open_files() == before
    with pytest.raises(WeightError, match="was closed"):
        _ = mapped.data


def test_release_array_file() -> None:
    file = io.BytesIO()
    arrays = ArrayFile(file)
    arrays.add("x", np.arange(3))
    arrays.close()
    np.testing.assert_array_equal(np.load(io.BytesIO(file.getvalue()))["x"], np.arange(3))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_release_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread that draws a bar goes on."""
    import threading

    monkeypatch.setattr("sys.stderr", Terminal())
    before = threading.active_count()
    view, bar = DownloadView(), _Bar()
    view.show(Contacting("m", "e"))
    view.close()
    bar.start -= 60
    bar.update(0.5)
    assert bar.progress is not None
    bar.close()
    view.close()
    # Told to stop, a thread ends with its next turn.
    end = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before

