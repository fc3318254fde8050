"""What this program is, where its data lies, and what leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl import __version__
from gpt2gl.hub.paths import cache_root
from gpt2gl.presets import config_folder
from gpt2gl.small_files import shown_path
from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.views.dialogue import heading, note, wide
from gpt2gl_ui.views.setting_rows import LABEL, mark_of
from gpt2gl_ui.widgets import Area, available_width, icon_button, text_in, tooltip

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

LINE = 28
PRIVACY = (
    "Everything stays on this machine. The only use of the network is to fetch a model that you"
    " ask for under Models. A private chat is never written to the disk."
)
LICENCES = (
    "gpt2gl: MIT",
    "The model storyteller: MIT; the licences of what it was trained on lie beside it",
    "Inter, JetBrains Mono, Noto Emoji: SIL Open Font License 1.1",
    "Lucide icons: ISC",
    "pyglet: BSD-3-Clause. Dear ImGui and imgui-bundle: MIT",
)


def privacy(app: App) -> None:
    """What leaves the machine: nothing; and where everything is."""
    note(PRIVACY, available_width(), theme.palette().text, theme.BODY)
    heading("Where data lies")
    folders = {
        "Chats": app.shelf.store.folder.root,
        "Settings, presets": config_folder(),
        "Models, caches": cache_root(),
    }
    for label, path in folders.items():
        _line(label, shown_path(path), copied=True, app=app)


def about(app: App) -> None:
    """The version, what draws, and the licences."""
    for label, text in device_lines(app):
        _line(label, text, app=app)
    for problem in app.fonts.problems:
        note(problem, available_width(), theme.palette().warning)
    heading("Licences")
    for text in LICENCES:
        note(text, available_width(), size=theme.CAPTION)


def device_lines(app: App) -> Iterator[tuple[str, str]]:
    """What to tell when asking for help."""
    yield "Version", f"gpt2gl {__version__}"
    software = ", on the processor" if app.window.is_software else ""
    yield "Renderer", f"{app.window.renderer_name}{software}"
    yield "Driver", app.window.driver_version
    scripts = ", ".join(app.fonts.scripts)
    yield "System fonts", scripts or "none are used"


def _line(label: str, text: str, *, app: App, copied: bool = False) -> None:
    start, width = imgui.get_cursor_screen_pos(), available_width()
    high, left = theme.px(LINE), wide(LABEL)
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        text_in(Area(start.x, start.y, left, high), label, theme.palette().text_muted, 0.0)
        room = width - left - theme.px(2 * theme.LARGE)
        text_in(Area(start.x + left, start.y, room, high), text, theme.palette().text, 0.0)
    imgui.dummy((width - theme.px(2 * theme.LARGE), high))
    tooltip(text)
    if copied:
        imgui.set_cursor_screen_pos((start.x + width - theme.px(LINE), start.y))
        mark = mark_of(f"copy.{label}")
        if icon_button(icons.COPY, name=mark, tooltip="Copy the path", size=LINE):
            imgui.set_clipboard_text(text)
            app.toasts.show("Copied")
    imgui.set_cursor_screen_pos((start.x, start.y + high))
    imgui.dummy((0, 0))
