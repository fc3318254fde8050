"""The field in which a chat's title is changed, in place of the title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import theme
from gpt2gl_ui.widgets import text_field

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def is_renamed(app: App, chat_id: str, place: str) -> bool:
    """Whether the title of this chat is being changed here."""
    renaming = app.state.renaming
    return renaming is not None and renaming.id == chat_id and renaming.place == place


def title_field(app: App, width: float) -> None:
    """Enter, or leaving the field, takes the title over; Escape does not. `width` in pixels."""
    renaming = app.state.renaming
    assert renaming is not None
    left = imgui.is_key_pressed(imgui.Key.escape, False)
    imgui.push_id(renaming.id)
    imgui.begin_group()
    edit = text_field(
        renaming.text,
        name=f"title.{renaming.place}",
        placeholder="Title",
        width=width / theme.current().scale,
        focus=renaming.focus,
    )
    done = edit.submitted or (not renaming.focus and imgui.is_item_deactivated())
    imgui.end_group()
    imgui.pop_id()
    renaming.text = edit.text
    renaming.focus = False
    if left:
        app.state.renaming = None
    elif done:
        app.state.renaming = None
        app.shelf.change(renaming.id, lambda chat: chat.rename(renaming.text))
