"""Asks for the file of a chat to take in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.exporting import import_files
from gpt2gl_ui.widgets import button, modal, muted, text_field

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

WIDTH = 520
HELP = (
    "A .json, .jsonl or .md file that was exported here, or saved by gpt2gl generate. Files can"
    " also be dropped on the list of chats."
)


@dataclass
class ImportPanel:
    """What is typed, and why it could not be taken."""

    path: str = ""
    problem: str = ""


def draw(app: App) -> None:
    """A path, and what is wrong with it."""
    held = app.state.kept("import", ImportPanel)
    with modal("import", "Import a chat", width=WIDTH) as escaped:
        muted(HELP)
        edit = text_field(
            held.path,
            name="import.path",
            placeholder="Path of the file",
            icon=icons.FILE,
            focus=imgui.is_window_appearing(),
        )
        if edit.changed:
            held.path, held.problem = edit.text, ""
        if held.problem:
            _problem(held.problem)
        imgui.dummy((0, theme.px(theme.TIGHT)))
        wanted = button("Import", name="import.do", kind="primary", enabled=bool(held.path.strip()))
        imgui.same_line()
        left = button("Cancel", name="import.cancel") or escaped
        if (wanted or edit.submitted) and held.path.strip():
            left = _take(app, held)
        if left:
            held.path = held.problem = ""
            app.state.dialogue = None
            imgui.close_current_popup()


def _take(app: App, held: ImportPanel) -> bool:
    """Whether the dialogue has done its duty."""
    before = app.shelf.chat
    # File managers copy a path in quotes.
    path = Path(held.path.strip().strip("'\"")).expanduser()
    problems = import_files(app, [path])
    if app.shelf.chat is before:
        held.problem = problems[0] if problems else ""
        return False
    for problem in problems:
        app.toasts.show(problem, kind="warning")
    return True


def _problem(text: str) -> None:
    imgui.push_style_color(imgui.Col_.text, theme.palette().danger)
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        imgui.push_text_wrap_pos(0.0)
        imgui.text_unformatted(text)
        imgui.pop_text_wrap_pos()
    imgui.pop_style_color()
