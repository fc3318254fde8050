"""Everything that can be done by name: what the shortcuts, the palette and the F1 list know.

One registry, so that the three never differ. A command's action is a function of the app.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gpt2gl_ui import actions, icons, parts
from gpt2gl_ui.chats.tree import NOTEBOOK
from gpt2gl_ui.chords import shown
from gpt2gl_ui.settings import THEMES
from gpt2gl_ui.state import IMPORT, MODELS, PALETTE, SETTINGS, SHORTCUTS

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

CHATS, WRITING, VIEW, PROGRAM = "Chats", "Writing", "View", "Program"
GROUPS = (CHATS, WRITING, VIEW, PROGRAM)
RECENT = 8


def _always(app: App) -> bool:
    return True


@dataclass(frozen=True)
class Command:
    """Something to do.

    Attributes:
        keys: chords of `gpt2gl_ui.chords`; the first is the one that is shown.
        when: whether it can be done now.
        dialogue: what it opens and closes again.
        everywhere: whether its keys work over an open dialogue too.
        in_fields: whether its keys are not left to the field of text that has the caret.
        listed: whether the palette offers it.
    """

    id: str
    label: str
    group: str
    action: Callable[[App], object]
    keys: tuple[str, ...] = ()
    icon: str = ""
    when: Callable[[App], bool] = _always
    dialogue: str | None = None
    everywhere: bool = False
    in_fields: bool = True
    listed: bool = True


@dataclass(frozen=True)
class FieldKey:
    """Keys that a field of text handles itself; only for the list."""

    keys: str
    label: str


FIELD_KEYS = (
    FieldKey("Enter", "Send the message"),
    FieldKey("Shift+Enter", "New line"),
    FieldKey("Up", "Recall what was sent before"),
    FieldKey("Right", "On an answer: its tokens, one by one"),
)


# The registry -----------------------------------------------------------------------------------

_CHATS = (
    Command("new", "New chat", CHATS, actions.new_chat, ("Ctrl+N",), icons.NEW),
    Command(
        "private",
        "New private chat",
        CHATS,
        partial(actions.new_chat, private=True),
        ("Ctrl+Shift+N",),
        icons.LOCK,
    ),
    Command(
        "notebook",
        "New notebook",
        CHATS,
        partial(actions.new_chat, mode=NOTEBOOK),
        icon=icons.NOTEBOOK,
    ),
    Command("search", "Search chats", CHATS, actions.search_chats, ("Ctrl+F",), icons.SEARCH),
    Command("rename", "Rename chat", CHATS, actions.rename_open, ("F2",), icons.EDIT),
    Command(
        "previous",
        "Previous chat",
        CHATS,
        partial(actions.neighbour, step=-1),
        ("Ctrl+PageUp",),
        icons.CHEVRON_UP,
    ),
    Command(
        "next",
        "Next chat",
        CHATS,
        partial(actions.neighbour, step=1),
        ("Ctrl+PageDown",),
        icons.CHEVRON_DOWN,
    ),
    Command("pin", "Pin or unpin chat", CHATS, actions.pin, icon=icons.PIN, when=actions.can_pin),
    Command(
        "export.md",
        "Export chat as Markdown",
        CHATS,
        partial(actions.export_open, suffix=".md"),
        icon=icons.EXPORT,
        when=actions.has_text,
    ),
    Command(
        "export.json",
        "Export chat as JSON",
        CHATS,
        partial(actions.export_open, suffix=".json"),
        icon=icons.EXPORT,
        when=actions.has_text,
    ),
    Command(
        "import",
        "Import chat…",
        CHATS,
        partial(actions.toggle_dialogue, name=IMPORT),
        icon=icons.IMPORT,
        dialogue=IMPORT,
    ),
    Command(
        "delete",
        "Delete chat",
        CHATS,
        actions.delete,
        icon=icons.TRASH,
        when=actions.has_text,
    ),
)

_WRITING = (
    Command(
        "write", "Go to the message field", WRITING, actions.focus_composer, ("Ctrl+L",), icons.CHAT
    ),
    Command(
        "send",
        "Send, or continue the answer",
        WRITING,
        actions.send_or_continue,
        ("Ctrl+Enter",),
        icons.CONTINUE,
        when=actions.can_write,
        in_fields=False,
    ),
    Command(
        "regenerate",
        "Regenerate the answer",
        WRITING,
        actions.regenerate,
        ("Ctrl+R",),
        icons.REGENERATE,
        when=actions.can_answer,
    ),
    Command(
        "copy",
        "Copy the last answer",
        WRITING,
        actions.copy_answer,
        ("Ctrl+Shift+C",),
        icons.COPY,
        when=actions.has_answer,
    ),
    Command(
        "escape",
        "Stop, or close",
        WRITING,
        actions.escape,
        ("Esc",),
        icons.STOP,
        when=actions.can_escape,
        listed=False,
    ),
    Command(
        "mode",
        "Switch between chat and notebook",
        WRITING,
        actions.switch_mode,
        icon=icons.NOTEBOOK,
    ),
)

_VIEW = (
    Command(
        "sidebar",
        "Show or hide the sidebar",
        VIEW,
        actions.toggle_sidebar,
        ("Ctrl+B",),
        icons.SIDEBAR,
    ),
    *(
        Command(
            f"sidebar.{name}",
            f"{name.capitalize()} list of chats",
            VIEW,
            partial(actions.widen_sidebar, step=step),
            icon=icons.SIDEBAR,
            when=actions.has_sidebar,
        )
        for name, step in (("wider", 1), ("narrower", -1))
    ),
    Command(
        "inspector",
        "Show or hide the inspector",
        VIEW,
        actions.toggle_inspector,
        ("Ctrl+I",),
        icons.EYE,
    ),
    *(
        Command(
            f"part.{name}",
            f"{name.capitalize()} part of the window",
            VIEW,
            partial(parts.focus_neighbour, step=step),
            (keys,),
            icons.KEYBOARD,
        )
        for name, step, keys in (("next", 1, "F6"), ("previous", -1, "Shift+F6"))
    ),
    Command(
        "larger",
        "Larger text",
        VIEW,
        partial(actions.text_size, step=1),
        ("Ctrl+=", "Ctrl+Shift+=", "Ctrl+KeypadAdd"),
        icons.PLUS,
        everywhere=True,
    ),
    Command(
        "smaller",
        "Smaller text",
        VIEW,
        partial(actions.text_size, step=-1),
        ("Ctrl+-", "Ctrl+KeypadSubtract"),
        icons.MINUS,
        everywhere=True,
    ),
    Command(
        "normal",
        "Normal text size",
        VIEW,
        actions.normal_text_size,
        ("Ctrl+0",),
        icons.RESET,
        everywhere=True,
    ),
    Command(
        "fullscreen",
        "Full screen",
        VIEW,
        actions.fullscreen,
        ("F11",),
        icons.SYSTEM,
        everywhere=True,
    ),
    *(
        Command(
            f"theme.{name}",
            f"Theme: {name}",
            VIEW,
            partial(actions.set_theme, name=name),
            icon=icon,
            when=partial(actions.other_theme, name),
        )
        for name, icon in zip(THEMES, (icons.SUN, icons.MOON, icons.SYSTEM), strict=True)
    ),
)

_PROGRAM = (
    Command(
        "palette",
        "Commands and chats",
        PROGRAM,
        partial(actions.toggle_dialogue, name=PALETTE),
        ("Ctrl+K",),
        icons.COMMAND,
        dialogue=PALETTE,
        listed=False,
    ),
    Command(
        "models",
        "Models",
        PROGRAM,
        partial(actions.toggle_dialogue, name=MODELS),
        ("Ctrl+M",),
        icons.CHIP,
        dialogue=MODELS,
    ),
    Command(
        "settings",
        "Settings",
        PROGRAM,
        partial(actions.toggle_dialogue, name=SETTINGS),
        ("Ctrl+,",),
        icons.SETTINGS,
        dialogue=SETTINGS,
    ),
    Command(
        "shortcuts",
        "Keyboard shortcuts",
        PROGRAM,
        partial(actions.toggle_dialogue, name=SHORTCUTS),
        ("F1",),
        icons.KEYBOARD,
        dialogue=SHORTCUTS,
    ),
    Command(
        "cancel_load",
        "Cancel loading the model",
        PROGRAM,
        actions.cancel_load,
        icon=icons.CLOSE,
        when=actions.is_loading,
    ),
    Command(
        "quit",
        "Quit",
        PROGRAM,
        actions.quit_program,
        ("Ctrl+Q",),
        icons.CLOSE,
        everywhere=True,
    ),
)

COMMANDS: Mapping[str, Command] = {
    command.id: command for command in (*_CHATS, *_WRITING, *_VIEW, *_PROGRAM)
}


def run(app: App, command_id: str) -> bool:
    """Do what a command stands for, and note that it was used; False where it cannot be done."""
    command = COMMANDS[command_id]
    if not command.when(app):
        return False
    command.action(app)
    if command.listed:
        note_use(app, command_id)
    return True


def note_use(app: App, key: str) -> None:
    """Put a command, or a chat by its id, first among what was used lately."""
    app.state.recent = [key, *(each for each in app.state.recent if each != key)][:RECENT]


def hint(command_id: str) -> str:
    """A command's label with its keys, for a tooltip."""
    command = COMMANDS[command_id]
    return f"{command.label} ({shown(command.keys[0])})" if command.keys else command.label
