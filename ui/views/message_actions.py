"""What can be done with a message: the same in its row of buttons, its menu and by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.templates import ASSISTANT, USER
from gpt2gl_ui import icons
from gpt2gl_ui.chats.messages import Message
from gpt2gl_ui.state import Editing
from gpt2gl_ui.views.text_box import cleaned
from gpt2gl_ui.widgets import MenuItem

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


@dataclass(frozen=True)
class Action:
    """`offered` says for which messages; with `idle` it needs a model that writes nothing."""

    key: str
    icon: str
    label: str
    do: Callable[[App, Message], None]
    roles: tuple[str, ...] = (USER, ASSISTANT)
    idle: bool = False
    danger: bool = False

    def enabled(self, app: App) -> bool:
        return app.talk.can_write if self.idle else not app.talk.is_writing or self.key == "copy"


def _copy(app: App, message: Message) -> None:
    imgui.set_clipboard_text(cleaned(message.text))
    app.toasts.show("Copied", kind="success", seconds=1.5)


def _edit(app: App, message: Message) -> None:
    app.state.editing = Editing(message.id, cleaned(message.text))
    app.state.scroll_to = message.id


def _regenerate(app: App, message: Message) -> None:
    app.state.stick = True
    app.talk.regenerate(message.id)


def _continue(app: App, message: Message) -> None:
    app.state.stick = True
    app.talk.go_on(message.id)


def _branch(app: App, message: Message) -> None:
    app.talk.branch(message.id)
    app.toasts.show("A new chat that begins with the same messages", kind="success")


def _delete(app: App, message: Message) -> None:
    talk = app.talk
    removed = talk.delete(message.id)
    n_more = len(removed.messages) - 1
    text = "Deleted a message" + (f" and {n_more} after it" if n_more else "")
    app.toasts.show(text, action="Undo", on_action=lambda: talk.restore(removed))


ACTIONS = (
    Action("copy", icons.COPY, "Copy", _copy),
    Action("edit", icons.EDIT, "Edit", _edit),
    Action("regenerate", icons.REGENERATE, "Regenerate", _regenerate, (ASSISTANT,), idle=True),
    Action("answer", icons.REGENERATE, "Answer again", _regenerate, (USER,), idle=True),
    Action("continue", icons.CONTINUE, "Continue", _continue, (ASSISTANT,), idle=True),
    Action("branch", icons.BRANCH, "Branch from here", _branch),
    Action("delete", icons.TRASH, "Delete", _delete, danger=True),
)


def actions_of(message: Message) -> list[Action]:
    return [action for action in ACTIONS if message.role in action.roles]


def menu_items(app: App, message: Message) -> list[MenuItem | None]:
    """The context menu's rows, the dangerous one under a line."""
    items: list[MenuItem | None] = []
    for action in actions_of(message):
        if action.danger:
            items.append(None)
        enabled = action.enabled(app)
        items.append(
            MenuItem(
                action.key, action.label, action.icon, danger=action.danger, enabled=enabled
            )
        )
    return items


def perform(app: App, message: Message, key: str) -> None:
    """Do what the action of that key does, or show the `previous` or `next` version."""
    if message.id not in app.talk.chat:
        return
    if key in STEPS:
        _step_version(app, message, STEPS[key])
    else:
        action = next(each for each in ACTIONS if each.key == key)
        if action.enabled(app):
            action.do(app, message)
    app.loop.wake()


STEPS = {"previous": -1, "next": 1}


def _step_version(app: App, message: Message, step: int) -> None:
    place, versions = app.talk.chat.versions(message.id)
    if 0 <= place + step < len(versions):
        app.talk.select_version(versions[place + step].id)
