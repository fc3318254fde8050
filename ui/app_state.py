"""What tests may know of the app beside what is on the screen: its part of the state file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imgui_bundle import imgui

if TYPE_CHECKING:
    from gpt2gl_ui.app import App


def app_state(app: App) -> dict[str, Any]:
    """The app's state as values that JSON can hold; `gpt2gl_ui.testhook` writes them."""
    chat, state, settings = app.talk.chat, app.state, app.settings
    return {
        "chat": chat.id,
        "title": chat.title,
        "mode": chat.mode,
        "private": chat.private,
        "notebook": chat.notebook.text,
        "messages": _messages(app),
        "writing": app.talk.is_writing,
        "chats": [{"id": each.id, "title": each.title} for each in app.shelf.listed()],
        "composer": state.composer.text,
        "query": state.query,
        "dialogue": state.dialogue,
        "typing": imgui.get_io().want_text_input,
        "renaming": state.renaming is not None,
        "editing": state.editing is not None,
        "toasts": [toast.text for toast in app.toasts.visible()],
        "model": {
            "state": app.engine.state,
            "name": app.engine.name,
            "precision": app.engine.precision,
            "error": None if app.engine.error is None else str(app.engine.error),
        },
        "settings": {
            "theme": settings.theme,
            "precision": settings.precision,
            "font_size": settings.font_size,
            "sidebar": settings.sidebar_open,
            "temperature": settings.generation.sampling.temperature,
            "max_tokens": settings.generation.max_tokens,
        },
        "inspector": {"open": app.inspector.is_open, "tab": app.inspector.tab},
        "report": None if app.failures.last_report is None else str(app.failures.last_report),
    }


def _messages(app: App) -> list[dict[str, Any]]:
    """The shown messages from the first to the last, each with which of its versions it is."""
    found = []
    for message in app.talk.chat.path():
        place, versions = app.talk.chat.versions(message.id)
        found.append(
            {
                "id": message.id,
                "role": message.role,
                "text": message.text,
                "version": place + 1,
                "versions": len(versions),
            }
        )
    return found
