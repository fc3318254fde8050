"""What the window shows and is in the middle of; none of it outlives the run."""

from __future__ import annotations

from dataclasses import dataclass, field

# What covers the window's middle, if anything.
SETTINGS, MODELS, PALETTE, SHORTCUTS = "settings", "models", "palette", "shortcuts"


@dataclass
class Composer:
    """The text that is being written, and what was sent before."""

    text: str = ""
    sent: list[str] = field(default_factory=list)
    recalled: int | None = None  # which of `sent` is shown, counted from the last
    kept: str = ""  # what was being written before an earlier text was recalled
    focus: bool = True  # to be focused in the next frame


@dataclass
class Editing:
    """A message, or a chat's title, that is being changed in place."""

    id: str
    text: str
    focus: bool = True


@dataclass
class State:
    """One window's.

    Attributes:
        dialogue: what covers the middle: SETTINGS, MODELS, PALETTE, SHORTCUTS or nothing.
        editing: the message being edited; `renaming` the chat.
        query: what the list of chats is searched for; `search_focus` asks for its field.
        stick: whether the conversation follows its end.
        scroll_to: the message to scroll to in the next frame.
        inspector_full: the inspector in place of the conversation.
    """

    composer: Composer = field(default_factory=Composer)
    dialogue: str | None = None
    editing: Editing | None = None
    renaming: Editing | None = None
    query: str = ""
    search_focus: bool = False
    stick: bool = True
    scroll_to: str | None = None
    inspector_full: bool = False
