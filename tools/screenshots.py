"""Takes the pictures of the window in the documentation, without a display, with the real model.

    python tools/screenshots.py [FOLDER] [--size 1180x780] [--scale 1] [--only NAME...]

The same each time: seeds are fixed, and clocks tick evenly, so that the speeds in the pictures
are not those of any machine. What was measured of the device is kept for the next time, in a
folder among the temporary files.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

CACHE = Path(tempfile.gettempdir()) / "gpt2gl-screenshots" / "cache"
SETTINGS = {
    **{"seed": 2, "max_tokens": 90, "temperature": 0.7},
    **{"inspector_width": 440, "theme": "dark"},
    "hints_seen": ["Activations", "Lens", "Tokens", "Intervene"],
}


def prepare_home() -> Path:
    """Folders of our own, before anything of gpt2gl is imported; the one to remove at the end."""
    home = Path(tempfile.mkdtemp(prefix="gpt2gl-screenshots-"))
    folders = {"DATA": home / "data", "CONFIG": home / "config", "CACHE": CACHE}
    for name, folder in folders.items():
        os.environ[f"GPT2GL_{name}_DIR"] = str(folder)
        folder.mkdir(parents=True, exist_ok=True)
    (home / "config" / "window.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    return home


HOME = prepare_home()

from gpt2gl_ui import bootstrap  # noqa: E402

bootstrap.prepare(headless=True)

import numpy as np  # noqa: E402
from imgui_bundle import imgui  # noqa: E402
from PIL import Image  # noqa: E402
from pyglet import gl  # noqa: E402

from gpt2gl.generation import Finished  # noqa: E402
from gpt2gl.templates import ASSISTANT, USER  # noqa: E402
from gpt2gl_ui.app import App  # noqa: E402
from gpt2gl_ui.chats.tree import NOTEBOOK, Chat  # noqa: E402
from gpt2gl_ui.inspector.changes import HEAD, Part  # noqa: E402
from gpt2gl_ui.inspector.stepping import Stepper  # noqa: E402
from gpt2gl_ui.speed import Speed  # noqa: E402
from gpt2gl_ui.state import MODELS, PALETTE  # noqa: E402
from gpt2gl_ui.state import SETTINGS as SETTINGS_PANEL  # noqa: E402
from gpt2gl_ui.window import open_window  # noqa: E402

SIZE = (1180, 780)
TICK = 1 / 40  # seconds from one look at a clock to the next
LOAD_SECONDS, SECONDS = 300.0, 120.0
QUIET_FRAMES = 12
MOST_DIFFERENCE = 12  # of 255, that a colour of a picture may be off
KEPT_COLORS = 64  # the most frequent ones stay as they are
DAY = 24 * 3600
# What the list of chats holds beside the open one: title, how many days ago, mode, pinned.
CHATS = (
    ("Bedtime stories", 0, "chat", True),
    ("A robot who learned to dance", 0, "chat", False),
    ("The lighthouse, a first draft", 1, NOTEBOOK, False),
    ("Why do cats purr?", 3, "chat", False),
    ("A letter from the moon", 4, NOTEBOOK, False),
    ("Names for a dragon", 20, "chat", False),
)
SAID = (
    "Hello! How are you today?",
    "I am fine. Do you like to read books?",
    "What is your favorite story?",
)
STEPPED_TO, PASS_MS = "h.1.resid_post", 0.25
BEGINNING = (
    "Once upon a time there was an old lighthouse at the edge of the sea. It had been dark for"
    " many years, until one night the fisherman's daughter saw a light in it."
)


def picture() -> Image.Image:
    """The framebuffer of the current context, RGB."""
    width, height = (int(each) for each in viewport())
    data = (gl.GLubyte * (width * height * 4))()
    gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
    gl.glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, 0)
    gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 4)
    gl.glReadPixels(0, 0, width, height, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, data)
    image = Image.frombytes("RGBA", (width, height), bytes(data))
    return image.transpose(Image.Transpose.FLIP_TOP_BOTTOM).convert("RGB")


def viewport() -> tuple[float, float]:
    size = imgui.get_io().display_size
    return size.x, size.y


def save(image: Image.Image, path: Path) -> None:
    """As a PNG of 256 colours where nobody can tell the difference: large areas keep theirs."""
    pixels = np.asarray(image).reshape(-1, 3).astype(np.int32)
    colors, where, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    rest = image.quantize(256 - KEPT_COLORS, Image.Quantize.MAXCOVERAGE).getpalette() or []
    kept = colors[np.argsort(-counts)[:KEPT_COLORS]]
    palette = np.concatenate((kept, np.reshape(rest, (-1, 3))[: 256 - KEPT_COLORS]))
    distance = np.abs(colors[:, None] - palette[None]).max(axis=2)
    if distance.min(axis=1).max() <= MOST_DIFFERENCE:
        indices = distance.argmin(axis=1)[where].astype(np.uint8)
        image = Image.fromarray(indices.reshape(image.height, image.width), "P")
        image.putpalette(palette.astype(np.uint8).tobytes())
    image.save(path, optimize=True)


class Ticking:
    """A clock that goes on by `TICK` whenever somebody looks."""

    def __init__(self) -> None:
        self._count = itertools.count()

    def __call__(self) -> float:
        return next(self._count) * TICK


class Studio:
    """The app, and what brings it into the states that are to be shown."""

    def __init__(self, size: tuple[int, int], scale: float) -> None:
        pixels = round(size[0] * scale), round(size[1] * scale)
        self.app = app = App(open_window("gpt2gl", pixels, (560, 420)))
        imgui.get_io().config_input_text_cursor_blink = False
        start = app.engine.start
        app.engine.start = lambda steps, take, ended: start(  # type: ignore[method-assign]
            steps, lambda event: take(evened(event)), ended
        )
        app.set("ui_scale", scale)
        for title, days, mode, pinned in CHATS:
            app.shelf.adopt(chat_of(title, days, mode, pinned))
        app.load_model("storyteller")
        self.until(lambda: app.is_ready, LOAD_SECONDS)

    def until(self, condition: Callable[[], bool], seconds: float = SECONDS) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{self.app.engine.state} {self.app.engine.error}"
            self.app.loop.step()

    def settle(self) -> None:
        """Until nothing is computed, and some frames more."""
        quiet = 0
        while quiet < QUIET_FRAMES:
            frame = self.app.loop.frame_number
            self.app.loop.request()
            self.until(lambda frame=frame: self.app.loop.frame_number > frame)
            app = self.app
            rests = app.engine.is_idle and not app.toasts.visible()
            quiet = quiet + 1 if rests else 0

    def say(self, text: str) -> None:
        assert self.app.talk.send(text)
        self.until(lambda: self.app.talk.can_write)

    def story(self) -> None:
        """The conversation of the pictures, made once."""
        if self.app.talk.chat.is_empty:
            self.app.set("theme", "dark")
            for text in SAID:
                self.say(text)
        self.app.state.composer.focus = True

    def shoot(self, path: Path, theme: str) -> None:
        self.app.set("theme", theme)
        self.settle()
        # Which ring is drawn around what has the keyboard depends on how it was opened.
        imgui.set_nav_cursor_visible(False)
        self.settle()
        self.app.window.switch_to()
        save(picture(), path)


def evened(event: Any) -> Any:
    """The end of an answer with the times of an even clock."""
    if not isinstance(event, Finished):
        return event
    return replace(event, first_token_seconds=TICK, seconds=TICK * event.new_tokens)


def chat_of(title: str, days: int, mode: str, pinned: bool) -> Chat:
    then = time.time() - days * DAY - 60
    chat = Chat(name=title, mode=mode, pinned=pinned, created=then)
    if mode == NOTEBOOK:
        chat.notebook.insert_generated(0, title)
    else:
        chat.add(chat.add(None, USER, title).id, ASSISTANT, "…")
    chat.updated = then
    return chat


# The pictures -----------------------------------------------------------------------------------


def empty(studio: Studio) -> None:
    """As the window is at its first look."""


def chat(studio: Studio) -> None:
    studio.story()


def panel(name: str, studio: Studio) -> None:
    studio.story()
    studio.app.state.dialogue = name


def notebook(studio: Studio) -> None:
    app = studio.app
    app.shelf.new(mode=NOTEBOOK)
    app.talk.chat.notebook.apply_edit(BEGINNING)
    app.talk.write_on(len(BEGINNING))
    studio.until(lambda: app.talk.can_write)
    app.shelf.change(app.talk.chat.id, lambda each: each.rename("The old lighthouse"))


def inspector(tab: str, studio: Studio) -> None:
    studio.story()
    studio.app.inspector.tab = tab
    studio.app.set("inspector_open", True)


def intervene(studio: Studio) -> None:
    inspector("Intervene", studio)
    changes = studio.app.inspector.changes
    for head in (0, 2):
        changes.scale(Part(HEAD, 1, head), 0.0)


def stepped(studio: Studio) -> None:
    inspector("Step", studio)
    studio.settle()
    app = studio.app
    session = app.inspector.session
    assert session is not None
    with app.engine.held():
        stepper = app.inspector.stepper = Stepper(session, app.inspector.text.tokens)
    count = stepper.names.index(STEPPED_TO) + 1
    app.inspector.jobs.begin("step", "picture", lambda _: stepper.advance_steps(count))
    studio.until(lambda: len(stepper.passes) == count)
    stepper.passes[:] = [replace(each, ms=PASS_MS) for each in stepper.passes]


def closed(studio: Studio) -> None:
    """Nothing over or beside the conversation, which is the one of the story."""
    app = studio.app
    app.state.dialogue = None
    app.inspector.changes.reset()
    app.inspector.stepper = None
    app.set("inspector_open", False)


Scene = tuple[str, Callable[[Studio], None]]
PICTURES: Mapping[str, Scene] = {
    "window-dark-empty": ("dark", empty),
    "window-light-empty": ("light", empty),
    "window-dark-chat": ("dark", chat),
    "window-light-chat": ("light", chat),
    "window-settings": ("dark", partial(panel, SETTINGS_PANEL)),
    "window-models": ("light", partial(panel, MODELS)),
    "window-palette": ("dark", partial(panel, PALETTE)),
    "inspector-attention": ("dark", partial(inspector, "Attention")),
    "inspector-activations": ("light", partial(inspector, "Activations")),
    "inspector-lens": ("dark", partial(inspector, "Lens")),
    "inspector-tokens": ("light", partial(inspector, "Tokens")),
    "inspector-step": ("dark", stepped),
    "inspector-intervene": ("dark", intervene),
    "window-notebook": ("light", notebook),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).parents[1] / "docs" / "images"
    parser.add_argument("folder", type=Path, nargs="?", default=default)
    parser.add_argument("--size", default="{}x{}".format(*SIZE), help="in points")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="*", choices=PICTURES, default=list(PICTURES))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    width, height = map(int, options.size.split("x"))
    with mock.patch("gpt2gl_ui.talk.Speed", side_effect=lambda: Speed(Ticking())):
        studio = Studio((width, height), options.scale)
        for name in [each for each in PICTURES if each in options.only]:
            theme, scene = PICTURES[name]
            scene(studio)
            studio.shoot(options.folder / f"{name}.png", theme)
            closed(studio)
            print(name, flush=True)
        studio.app.quit()
        studio.app.close()
    shutil.rmtree(HOME)


if __name__ == "__main__":
    main()
