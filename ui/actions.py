"""What commands do, and when they can be done; each is a function of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.templates import ASSISTANT
from gpt2gl_ui.chats.tree import CHAT, NOTEBOOK
from gpt2gl_ui.exporting import export
from gpt2gl_ui.settings import CONTROLS
from gpt2gl_ui.state import Editing

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

# The sidebar's width in points, and what a command changes it by.
NARROWEST, WIDEST, SIDEBAR_STEP = 200, 520, 40


# Chats ------------------------------------------------------------------------------------------


def new_chat(app: App, *, private: bool = False, mode: str = CHAT) -> None:
    """Open a chat of no messages."""
    app.shelf.new(private=private, mode=mode)


def export_open(app: App, suffix: str) -> None:
    """Write the open chat into a file of its own."""
    export(app, app.talk.chat.id, suffix)


def toggle_dialogue(app: App, name: str) -> None:
    """Open what covers the window's middle, or close it."""
    app.state.dialogue = None if app.state.dialogue == name else name


def focus_composer(app: App) -> None:
    """Put the caret where messages are written."""
    app.state.composer.focus = True


def search_chats(app: App) -> None:
    """Put the caret in the search field of the sidebar."""
    if not app.settings.sidebar_open:
        app.set("sidebar_open", True)
    app.state.sidebar_over = True
    app.state.search_focus = True


def toggle_sidebar(app: App) -> None:
    """Show or hide the list of chats; in a narrow window it comes over the conversation."""
    if app.state.is_narrow:
        app.state.sidebar_over = not app.state.sidebar_over
    else:
        app.set("sidebar_open", not app.settings.sidebar_open)


def set_sidebar_width(app: App, width: float) -> None:
    """Give the list of chats a width in points, within what is of use."""
    wanted = round(min(max(width, NARROWEST), WIDEST))
    if wanted != app.settings.sidebar_width:
        app.set("sidebar_width", wanted)


def widen_sidebar(app: App, step: int) -> None:
    """Make the list of chats wider or narrower by a step."""
    set_sidebar_width(app, app.settings.sidebar_width + step * SIDEBAR_STEP)


def toggle_inspector(app: App) -> None:
    """Show or hide what happens inside the model."""
    app.set("inspector_open", not app.settings.inspector_open)


def rename(app: App, chat_id: str, title: str, place: str) -> None:
    """Begin to change a chat's title at a place, `header` or `sidebar`."""
    app.state.renaming = Editing(chat_id, title, place=place)


def rename_open(app: App) -> None:
    """Change the title of the open chat, in the header."""
    app.state.inspector_full = False
    rename(app, app.talk.chat.id, app.talk.chat.title, "header")


def neighbour(app: App, step: int) -> None:
    """Open the chat before or after the open one in the list."""
    ids = [summary.id for summary in app.shelf.listed()]
    at = ids.index(app.talk.chat.id) + step if app.talk.chat.id in ids else 0
    if 0 <= at < len(ids):
        app.shelf.open(ids[at])


def set_mode(app: App, mode: str) -> None:
    """Show the open chat as a dialogue or as a notebook."""
    if app.talk.chat.mode != mode:
        app.talk.chat.set_mode(mode)
        app.chat_changed(app.talk.chat)


def switch_mode(app: App) -> None:
    """From chat to notebook, or back."""
    set_mode(app, CHAT if app.talk.chat.mode == NOTEBOOK else NOTEBOOK)


def send_or_continue(app: App) -> None:
    """Send what is written; with nothing written, have the answer go on."""
    if app.talk.chat.mode == NOTEBOOK:
        app.talk.write_on(len(app.talk.chat.notebook.text))
    elif app.state.composer.text.strip():
        if app.talk.send(app.state.composer.text):
            app.state.composer.sent.append(app.state.composer.text)
            app.state.composer.text = ""
    else:
        app.talk.go_on()


def copy_answer(app: App) -> None:
    """Put the last answer into the clipboard."""
    if (text := last_answer(app)) is not None:
        imgui.set_clipboard_text(text.encode("utf-8", "replace").decode())
        app.toasts.show("Copied the last answer", kind="success")


def last_answer(app: App) -> str | None:
    """The text of the last answer that is shown, None where there is none."""
    texts = [message.text for message in app.talk.chat.path() if message.role == ASSISTANT]
    return texts[-1] if texts else None


def escape(app: App) -> None:
    """Stop the answer; else close what lies over the conversation."""
    if app.talk.is_writing:
        app.talk.stop()
    elif app.state.inspector_full:
        app.state.inspector_full = False
    elif app.state.sidebar_over:
        app.state.sidebar_over = False


def text_size(app: App, step: int) -> None:
    """Make text larger or smaller by a point, within what the setting allows."""
    option = CONTROLS["font_size"].option
    size = app.settings.font_size + step
    if option.minimum <= size <= option.maximum:  # type: ignore[attr-defined]
        app.set("font_size", size)


def pin(app: App) -> None:
    """Keep the open chat at the top of the list, or no longer."""
    pinned = not app.talk.chat.pinned
    app.shelf.change(app.talk.chat.id, lambda chat: chat.pin(pinned))


def delete(app: App) -> None:
    """Delete the open chat."""
    app.shelf.delete(app.talk.chat.id)


def regenerate(app: App) -> None:
    """Answer the last message anew."""
    app.talk.regenerate()


def normal_text_size(app: App) -> None:
    """Text of the size that it has at the first start."""
    app.reset("font_size")


def set_theme(app: App, name: str) -> None:
    """Use another theme from now on."""
    app.set("theme", name)


def fullscreen(app: App) -> None:
    """Cover the screen, or stop doing so."""
    app.window.toggle_fullscreen()


def cancel_load(app: App) -> None:
    """Give up loading the model."""
    app.engine.stop()


def quit_program(app: App) -> None:
    """Save everything and end."""
    app.quit()


# When they can be done --------------------------------------------------------------------------


def can_write(app: App) -> bool:
    """Whether the model waits for something to do."""
    return app.talk.can_write


def has_answer(app: App) -> bool:
    """Whether there is an answer to copy."""
    return last_answer(app) is not None


def has_text(app: App) -> bool:
    """Whether something is written in the open chat."""
    return not app.talk.chat.is_empty


def can_pin(app: App) -> bool:
    """Whether the open chat is in the list for good."""
    return has_text(app) and not app.talk.chat.private


def can_answer(app: App) -> bool:
    """Whether the last message can be answered, or answered anew."""
    return app.talk.can_write and app.talk.chat.mode == CHAT and app.talk.chat.last is not None


def can_escape(app: App) -> bool:
    """Whether there is something to stop or to close."""
    over = app.state.inspector_full or (app.state.sidebar_over and app.state.is_narrow)
    return app.talk.is_writing or over


def has_sidebar(app: App) -> bool:
    """Whether the list of chats can be seen."""
    return app.state.sidebar_over if app.state.is_narrow else app.settings.sidebar_open


def is_loading(app: App) -> bool:
    """Whether a model is being loaded."""
    return app.is_loading


def other_theme(name: str, app: App) -> bool:
    """Whether another theme is in use."""
    return app.settings.theme != name
