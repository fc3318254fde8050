"""What the window shows and is in the middle of; none of it outlives the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

# What covers the window's middle, if anything.
SETTINGS, MODELS, PALETTE, SHORTCUTS = "settings", "models", "palette", "shortcuts"
IMPORT = "import"

Kept = TypeVar("Kept")


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
    """A message, or a chat's title, that is being changed in place.

    A title can be changed in two places: "header" and "sidebar".
    """

    id: str
    text: str
    focus: bool = True
    place: str = ""


@dataclass(frozen=True)
class Drop:
    """Files that were dropped at a place of the window, in pixels."""

    paths: tuple[Path, ...]
    x: float
    y: float


@dataclass
class State:
    """One window's.

    Attributes:
        dialogue: what covers the middle: SETTINGS, MODELS, PALETTE, SHORTCUTS, IMPORT or nothing.
        editing: the message being edited; `renaming` the chat.
        query: what the list of chats is searched for; `search_focus` asks for its field.
        stick: whether the conversation follows its end.
        scroll_to: the message to scroll to in the next frame.
        inspector_full: the inspector in place of the conversation.
        hovered_token: the message and the number of its token that the pointer is at.
        dropped: files that no view has taken yet; the composer, drawn last, takes all.
        recent: commands and chats that were used lately, by their ids, the last one first.
        is_narrow: whether the window has no room for the sidebar beside the conversation.
        sidebar_over: the sidebar over the conversation, in a narrow window.
        focus_messages: whether the keyboard is to go to the last message in the next frame.
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
    hovered_token: tuple[str, int] | None = None
    dropped: list[Drop] = field(default_factory=list)
    focus_messages: bool = False
    recent: list[str] = field(default_factory=list)
    is_narrow: bool = False
    sidebar_over: bool = False
    _kept: dict[str, object] = field(default_factory=dict)

    def kept(self, name: str, make: Callable[[], Kept]) -> Kept:
        """What a view keeps between frames under a name, made when first asked for."""
        if name not in self._kept:
            self._kept[name] = make()
        return cast("Kept", self._kept[name])
