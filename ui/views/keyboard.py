"""Keyboard shortcuts of the whole window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import chords, commands
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.commands import COMMANDS, Command

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def handle(app: App) -> None:
    """Do what the pressed shortcut stands for."""
    for command in COMMANDS.values():
        for chord in command.keys:
            if chords.pressed(chord) and _is_heard(app, command) and command.when(app):
                # Before the action, which may end the frame's other uses of the key.
                chords.claim(chord)
                commands.run(app, command.id)
                return


def _is_heard(app: App, command: Command) -> bool:
    """A question or a menu has the keyboard for itself; a dialogue leaves some keys to us."""
    if not command.in_fields and _is_typing(app):
        return False
    popups = len(imgui.get_current_context().open_popup_stack)
    if app.state.dialogue is None:
        return popups == 0 and not _is_renaming(app, command)
    own = command.dialogue is not None and command.dialogue == app.state.dialogue
    return popups <= 1 and (own or command.everywhere)


def _is_renaming(app: App, command: Command) -> bool:
    """Escape leaves the field of a title or of a message before it does anything else."""
    editing = app.state.renaming is not None or app.state.editing is not None
    return command.id == "escape" and editing


def _is_typing(app: App) -> bool:
    """Whether a field has a text that the key is about; an empty message field has none."""
    if not imgui.get_io().want_text_input:
        return False
    state = app.state
    elsewhere = state.editing is not None or state.renaming is not None
    return elsewhere or app.talk.chat.mode == NOTEBOOK or bool(state.composer.text.strip())
