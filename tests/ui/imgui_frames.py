"""imgui without a window: frames are built and input is sent, nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from imgui_bundle import imgui

from gpt2gl_ui import fonts, marks, theme
from gpt2gl_ui.marks import Rectangle
from gpt2gl_ui.palette import DARK, Palette

SIZE = (800, 600)
STEP = 1 / 30


@dataclass
class Frames:
    """Runs one view, frame by frame; `marks` are those of the last frame."""

    marks: dict[str, Rectangle] = field(default_factory=dict)

    def run(self, view: Callable[[], object], count: int = 1) -> object:
        """The view's answer in the last of `count` frames."""
        answer = None
        for _ in range(count):
            imgui.get_io().delta_time = STEP
            imgui.new_frame()
            imgui.set_next_window_pos((0, 0))
            imgui.set_next_window_size(SIZE)
            imgui.begin("view", None, imgui.WindowFlags_.no_decoration)
            answer = view()
            imgui.end()
            imgui.render()
            self.marks = marks.take()
        return answer

    def hover(self, view: Callable[[], object], name: str, at: float = 0.5) -> None:
        """Put the pointer on a marked widget, `at` of its width."""
        x, y, width, height = self.marks[name]
        imgui.get_io().add_mouse_pos_event(x + width * at, y + height / 2)
        self.run(view)

    def click(self, view: Callable[[], object], name: str, at: float = 0.5) -> list[object]:
        """Click it; the answers of the frames of the press and the release."""
        self.hover(view, name, at)
        answers = []
        for down in (True, False):
            imgui.get_io().add_mouse_button_event(0, down)
            answers.append(self.run(view))
        return answers

    def press(self, view: Callable[[], object], *keys: imgui.Key) -> list[object]:
        """Press keys together and release them; the answers of the two frames."""
        answers = []
        for down in (True, False):
            for key in keys:
                imgui.get_io().add_key_event(key, down)
            answers.append(self.run(view))
        return answers


@contextmanager
def frames(palette: Palette = DARK, scale: float = 1.0) -> Iterator[Frames]:
    """A context with our fonts and look, closed at the end."""
    context = imgui.create_context()
    io = imgui.get_io()
    io.set_ini_filename("")
    io.display_size = imgui.ImVec2(*SIZE)
    io.backend_flags |= imgui.BackendFlags_.renderer_has_textures
    io.config_flags |= imgui.ConfigFlags_.nav_enable_keyboard
    fonts.load(system=[])
    theme.apply(palette, scale)
    marks.take()
    try:
        yield Frames()
    finally:
        imgui.destroy_context(context)
