"""From part to part of the window with F6, as in other programs: the chats, the header, the
conversation, where messages are written, the inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imgui_bundle import imgui

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

# In the order in which they are gone through; those that are not on the screen are left out.
PARTS = ("sidebar", "header", "conversation", "composer", "notebook", "inspector")
_FIELDS = ("composer", "notebook")


def focus_neighbour(app: App, step: int) -> None:
    """Give the keyboard to the part after the one that has it, or before it."""
    shown = [name for name in PARTS if _is_shown(name)]
    now = _focused()
    if now not in shown:
        now = shown[0] if step < 0 else shown[-1]
    focus(app, shown[(shown.index(now) + step) % len(shown)])


def focus(app: App, name: str) -> None:
    """Give the keyboard to a part that is on the screen."""
    imgui.internal.clear_active_id()
    if name in _FIELDS:
        app.state.composer.focus = True
    elif name == "conversation" and app.talk.chat.path():
        app.state.focus_messages = True
    window = imgui.internal.find_window_by_name(f"##{name}")
    imgui.internal.focus_window(window)
    imgui.internal.nav_init_window(window, True)
    imgui.set_nav_cursor_visible(True)
    app.loop.wake()


def _is_shown(name: str) -> bool:
    window = imgui.internal.find_window_by_name(f"##{name}")
    return window is not None and bool(window.was_active)


def _focused() -> str:
    window = imgui.get_current_context().nav_window
    return "" if window is None else str(window.root_window.name).removeprefix("##")
