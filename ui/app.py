"""The window's parts put together: what is drawn each frame, and what the views can ask for."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pyglet import gl

from gpt2gl.errors import ContextLost, Gpt2glError, OptionError
from gpt2gl.generation import Generation
from gpt2gl.gl.context import Context
from gpt2gl.gl.faults import CONTEXT_LOST, described
from gpt2gl.loading import DEFAULT_MODEL
from gpt2gl_ui import fonts, theme
from gpt2gl_ui.app_state import app_state
from gpt2gl_ui.backend import Backend
from gpt2gl_ui.chats.store import open_store
from gpt2gl_ui.chats.tree import Chat
from gpt2gl_ui.downloads import Downloads
from gpt2gl_ui.engine import LOADING, READY, Engine
from gpt2gl_ui.failing import Failures
from gpt2gl_ui.finding import Finder
from gpt2gl_ui.frame_loop import FrameLoop
from gpt2gl_ui.inspector.inspector import Inspector
from gpt2gl_ui.palette import Palette
from gpt2gl_ui.settings import Settings, SettingsFile, reset, with_value
from gpt2gl_ui.shelf import Shelf
from gpt2gl_ui.state import MODELS, Drop, State
from gpt2gl_ui.talk import Talk
from gpt2gl_ui.testhook import TestHook
from gpt2gl_ui.toasts import Toasts
from gpt2gl_ui.views.frame import draw_window
from gpt2gl_ui.window import Window

SYSTEM_THEME = "system"
SAVE_SECONDS = 1.0  # while an answer grows, its chat is saved this often


class App:
    """Everything of one window. Views read it, and call its methods for what the user wants.

    Attributes:
        engine: the model, loading or running.
        shelf: the chats; `talk` is the open one with its answers.
        settings: kept between runs; change them by `set` and `reset`.
        state: what is open, half written or being edited.
        toasts: notices.
        inspector: what is looked at and changed inside the model.
        downloads: models that are being fetched, checked or removed.
        earlier_model: the one that could answer before the one that was chosen last.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self.backend = Backend(window)
        self.fonts = fonts.load()
        self.loop = FrameLoop(window, self.backend, self.draw, self.work)
        self.hook = TestHook(self.loop)
        self.hook.app_state = partial(app_state, self)
        self.toasts = Toasts()
        store, self.writer = open_store(self._save_failed)
        self.settings_file = SettingsFile(self.writer)
        self.settings = self._first_settings()
        self.state = State(recent=list(self.settings.recent))
        self.engine = Engine(Context(window), self.loop.wake)
        self.shelf = Shelf(store, self.toasts, self._chat_shown)
        self.talk = Talk(self, self.shelf.chat)
        self.inspector = Inspector(self)
        self.finder = Finder(store)
        self.downloads = Downloads(self.toasts, self.loop.wake_from_thread, self.load_model)
        self.earlier_model: str | None = None
        self._unsaved: SimpleQueue[str] = SimpleQueue()
        self._saved_at = 0.0
        self._look: tuple[Any, ...] = ()
        self._theme: tuple[str, Palette] | None = None  # as chosen, and what it comes to
        self._asked: SimpleQueue[Palette] = SimpleQueue()  # the desktop's theme, asked again
        window.push_handlers(on_activate=self._ask_desktop)
        window.close_requested = self.quit
        window.files_dropped = self._dropped
        self.failures = Failures(store.folder.root, self._described, self._warn)
        self.loop.on_error = self._on_error
        self._apply_look()
        self._start_store()

    # Starting and ending -----------------------------------------------------------------------

    def _start_store(self) -> None:
        try:
            self.shelf.store.start()
        except Gpt2glError as error:
            self.report(error)
        for problem in self.settings_file.problems:
            self.toasts.show(problem, kind="warning")
        if self.settings.last_chat is not None:
            listed = {summary.id for summary in self.shelf.summaries()}
            if self.settings.last_chat in listed:
                self.shelf.open(self.settings.last_chat)

    def _first_settings(self) -> Settings:
        """The settings of the last run; at the first one, what suits the renderer."""
        is_first = not self.settings_file.path.exists()
        settings = self.settings_file.load()
        if is_first and self.window.is_software:
            # A CPU draws int8 twice as fast as fp32, see docs/performance.md.
            return with_value(settings, "precision", "int8")
        return settings

    def run(self) -> None:
        """Load the model and show the window until it is closed."""
        self.load_model(self.settings.model or DEFAULT_MODEL)
        self.loop.run()

    def quit(self) -> None:
        """Save everything and leave `run`."""
        self.talk.abandon()
        self.shelf.save(self.shelf.chat)
        self.settings_file.save_soon(self._with_window())
        self.loop.stop()

    def close(self) -> None:
        """Free the GPU and wait until everything is on the disk."""
        self.downloads.close()
        self.engine.close()
        self.shelf.store.close()
        self.writer.close(5.0)
        self.backend.close()
        self.window.close()

    def _with_window(self) -> Any:
        chat = self.shelf.chat
        settings = with_value(self.settings, "window_size", self.window.logical_size)
        settings = with_value(settings, "recent", self.state.recent)
        kept = None if chat.private or chat.is_empty else chat.id
        return with_value(settings, "last_chat", kept)

    # Frames ------------------------------------------------------------------------------------

    def draw(self) -> None:
        """One frame's widgets."""
        draw_window(self)
        soon = self.toasts.seconds_to_change()
        if soon is not None:
            self.loop.request_at(time.monotonic() + soon)

    def _palette(self) -> Palette:
        """That of the settings; the desktop is asked once for each choice, since it takes long."""
        choice = self.settings.theme
        while not self._asked.empty():
            self._theme = (SYSTEM_THEME, self._asked.get())
        if self._theme is None or self._theme[0] != choice:
            self._theme = (choice, theme.named(choice))
        return self._theme[1]

    def _ask_desktop(self) -> None:
        """Somebody comes back to the window: the desktop may have another theme by now."""
        if self.settings.theme == SYSTEM_THEME:
            threading.Thread(target=self._hear_desktop, daemon=True).start()

    def _hear_desktop(self) -> None:
        """In a thread, since the answer can take a second."""
        self._asked.put(theme.named(SYSTEM_THEME))
        self.loop.wake_from_thread()

    def _apply_look(self) -> None:
        """The theme and sizes of the settings; between frames only."""
        scale = self.settings.ui_scale or self.window.ui_scale
        look = (self._palette(), scale, self.settings.font_size / 16)
        if look != self._look:
            self._look = look
            theme.apply(*look)
            self.backend.background = look[0].background

    def work(self, deadline: float) -> bool:
        """A slice of the engine's work, and what else waits for the right moment."""
        self._apply_look()
        while not self._unsaved.empty():
            self.toasts.show(self._unsaved.get(), kind="danger", seconds=12)
        found = self._find()
        self.downloads.poll(watched=self.state.dialogue == MODELS)
        drawing = self.inspector.work(deadline)
        more = self.engine.work(deadline)
        if self.engine.is_busy and time.monotonic() - self._saved_at > SAVE_SECONDS:
            self._saved_at = time.monotonic()
            self.shelf.save(self.shelf.chat)
        self._look_for_loss()
        return more or found or drawing

    def _find(self) -> bool:
        """A slice of the search through chats; its results are drawn when they change."""
        worked = self.finder.work()
        if worked:
            self.loop.wake()
        return worked

    # Failing -----------------------------------------------------------------------------------

    def _on_error(self, error: Exception) -> None:
        if not self.failures.take(error):
            self.quit()

    def _look_for_loss(self) -> None:
        """A lost context does not make the window's own calls fail, it only reports it."""
        if gl.glGetError() == CONTEXT_LOST:
            self._on_error(described(CONTEXT_LOST, ""))

    def _described(self) -> str:
        model = f"{self.engine.name} {self.engine.precision} {self.engine.state}"
        return f"{self.window.renderer_name}; {model}"

    def _warn(self, text: str) -> None:
        self.toasts.show(text, kind="danger", seconds=12)
        self.loop.wake()

    # What views ask for ------------------------------------------------------------------------

    @property
    def generation(self) -> Generation:
        """The options of the next answer."""
        return self.settings.generation

    def set(self, name: str, value: Any) -> None:
        """Change a setting, by its name in `settings.CONTROLS`; a value that is not allowed is
        reported and nothing changes."""
        try:
            self.change(with_value(self.settings, name, value))
        except OptionError as error:
            self.report(error)

    def reset(self, name: str) -> None:
        """Bring a setting back to its default."""
        self.change(reset(self.settings, name))

    def change(self, settings: Settings) -> None:
        """Take over settings that differ from the present ones in any number of values."""
        before, self.settings = self.settings, settings
        self.settings_file.save_soon(settings)
        if settings.precision != before.precision:
            self.load_model(self.engine.name or settings.model or DEFAULT_MODEL)
        self.loop.wake()

    def load_model(self, name: str) -> None:
        """Load a model in place of the one that answers now; the chat stays."""
        if self.is_ready and name != self.engine.name:
            self.earlier_model = self.engine.name
        self.talk.abandon()
        self.engine.load(name, self.settings.precision)
        if name != (self.settings.model or DEFAULT_MODEL):
            self.set("model", name)

    def open_chat(self, chat: Chat) -> None:
        """Show a chat that was just made."""
        self.shelf.show(chat)

    def chat_changed(self, chat: Chat) -> None:
        """Save the chat now, unless an answer is growing in it, and draw it."""
        if not self.engine.is_busy:
            self.shelf.save(chat)
        self.loop.wake()

    def report(self, error: Gpt2glError) -> None:
        """Show an error in the window."""
        if isinstance(error, ContextLost):
            self._on_error(error)
        else:
            self._warn(str(error))

    def _chat_shown(self, chat: Chat) -> None:
        self.talk.abandon()
        self.talk = Talk(self, chat)
        self.state.editing = None
        self.state.stick = True
        self.state.composer.focus = True
        self.loop.wake()

    def _dropped(self, paths: list[Path], x: float, y: float) -> None:
        self.state.dropped.append(Drop(tuple(paths), x, y))
        self.loop.wake()

    def _save_failed(self, what: str, problem: str | None) -> None:
        """Called by the writer's thread: something cannot be saved, or could be after all."""
        if problem is not None:
            self._unsaved.put(problem)
        self.loop.wake_from_thread()

    @property
    def is_ready(self) -> bool:
        """Whether a model can answer."""
        return self.engine.state == READY

    @property
    def is_loading(self) -> bool:
        return self.engine.state == LOADING
