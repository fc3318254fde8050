"""What the window's parts hold, and that closing them frees it.

The window draws through pyglet's own GL functions, which no record covers, so the driver is asked
for every name up to one that is far beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from gpt2gl_ui.chats.store import open_store
from gpt2gl_ui.engine import CLOSED, Engine
from tests.ui.fakes import FakeSession, staged

NAMES = range(1, 400)


def alive() -> dict[str, set[int]]:
    """Names of the current context that are objects."""
    from pyglet import gl

    kinds: dict[str, Callable[[int], int]] = {
        "texture": gl.glIsTexture,
        "buffer": gl.glIsBuffer,
        "vertex array": gl.glIsVertexArray,
        "framebuffer": gl.glIsFramebuffer,
        "program": gl.glIsProgram,
        "shader": gl.glIsShader,
    }
    return {kind: {n for n in NAMES if is_one(n)} for kind, is_one in kinds.items()}


@pytest.fixture
def window(current_context: None) -> Iterator[Any]:
    from gpt2gl_ui.window import open_window

    made = open_window("release", (300, 200), (100, 100))
    yield made
    made.close()


def draw(backend: Any) -> None:
    """A frame with text, which makes a font's texture."""
    backend.new_frame()
    imgui.begin("a")
    imgui.text("text")
    imgui.end()
    backend.render()


def test_a_renderer_frees_its_objects(window: Any) -> None:
    from gpt2gl_ui.renderer import Renderer

    context = imgui.create_context()
    before = alive()
    renderer = Renderer()
    during = alive()
    assert during["program"] > before["program"]
    assert during["buffer"] > before["buffer"]
    renderer.close()
    assert alive() == before
    imgui.destroy_context(context)


def test_a_backend_frees_its_objects_and_handlers(window: Any) -> None:
    from gpt2gl_ui.backend import Backend

    before, stack = alive(), len(window._event_stack)
    backend = Backend(window)
    draw(backend)
    assert alive()["texture"] > before["texture"]
    backend.close()
    assert alive() == before
    assert len(window._event_stack) == stack
    window.dispatch_event("on_text", "x")  # nobody listens


def test_a_store_lets_others_own_its_folder(tmp_path: Path) -> None:
    def opened() -> Any:
        store, writer = open_store(lambda what, problem: None, tmp_path)
        return store, writer, store.start()

    first, first_writer, owns = opened()
    assert owns
    first.close()
    second, second_writer, owns = opened()
    assert owns
    second.close()
    for writer in (first_writer, second_writer):
        writer.close(1.0)


def test_an_engine_frees_its_model() -> None:
    import time

    from gpt2gl.gl.context import Context, headless

    engine = Engine(Context(headless().window), lambda: None)
    engine.load("storyteller", "int8")
    while engine.work(time.monotonic() + 0.1):
        pass
    assert engine.session is not None
    model = engine.session.model
    assert model.device.pool.total > 0
    engine.close()
    assert (engine.state, engine.session) == (CLOSED, None)
    assert not any(model.device.counts().values())
    assert not engine.work(time.monotonic() + 0.1)


def test_an_app_frees_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current_context: None
) -> None:
    with staged(tmp_path, monkeypatch, FakeSession()) as stage:
        stage.say("Hello")
        app = stage.app
    assert not app.writer.pending()
    assert app.engine.session is None
    assert app.window.context is None
    chats = list(app.shelf.store.folder.chats.glob("*.jsonl"))
    assert len(chats) == 1
    # Another instance can own the folder now.
    assert app.shelf.store.folder.become_owner()
    app.shelf.store.folder.release()
