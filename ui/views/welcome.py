"""What an empty chat shows: what this is, and a few things to begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import icons, theme
from gpt2gl_ui.chats.tree import CHAT, NOTEBOOK
from gpt2gl_ui.widgets import Area, empty_state

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

HEADING = "GPT-2, drawn by your graphics card"
HERE = "Everything stays on this machine."


@dataclass(frozen=True)
class Suggestion:
    """Something to say, or a beginning that the notebook has continued."""

    text: str
    mode: str = CHAT

    @property
    def label(self) -> str:
        return f"{self.text} …" if self.mode == NOTEBOOK else self.text


def _beginning(text: str) -> Suggestion:
    return Suggestion(text, NOTEBOOK)


# Part of a model's name, in lower case -> what it can do, and what suits it.
SUITED: Mapping[str, tuple[str, Sequence[Suggestion]]] = {
    "storyteller": (
        "A small storyteller: give it a beginning, and it makes up what follows.",
        (
            _beginning("Once upon a time there was a little fox who"),
            _beginning("Lily found a shiny red key in the garden. She"),
            Suggestion("Hello! How are you today?"),
        ),
    ),
    "dialogpt": (
        "A model that chats, in short and casual answers.",
        (
            Suggestion("Does money buy happiness?"),
            Suggestion("What did you do last weekend?"),
            Suggestion("Tell me something funny."),
        ),
    ),
}
ANY = (
    "A language model that continues what is written; it knows nothing after 2019.",
    (
        _beginning("In a shocking finding, scientists discovered a herd of unicorns"),
        _beginning("The recipe for a perfect breakfast begins with"),
        _beginning("The three most important inventions of all time are"),
    ),
)


def suggestions_for(model: str) -> tuple[str, Sequence[Suggestion]]:
    """A sentence about a model and three things to begin with, by its name."""
    found = (suited for part, suited in SUITED.items() if part in model.lower())
    return next(found, ANY)


def draw(app: App, area: Area) -> None:
    """Draw the invitation; a prompt that is pressed is sent, or kept until a model can answer."""
    about, suggested = suggestions_for(app.engine.name)
    suggestions = [(str(number), each.label) for number, each in enumerate(suggested)]
    imgui.set_cursor_pos((theme.px(theme.WIDE), theme.px(theme.MEDIUM)))
    size = imgui.ImVec2(max(area.width - 2 * theme.px(theme.WIDE), 1.0), 0.0)
    imgui.begin_child("welcome", size, imgui.ChildFlags_.nav_flattened)
    text = f"{about} {HERE}"
    pressed = empty_state(icons.SPARK, HEADING, text, suggestions, name="welcome")
    imgui.end_child()
    if pressed is not None:
        _begin(app, suggested[int(pressed)])


def _begin(app: App, suggestion: Suggestion) -> None:
    if suggestion.mode == NOTEBOOK:
        _begin_notebook(app, suggestion.text)
    elif not app.talk.send(suggestion.text):
        app.state.composer.text = suggestion.text
        app.state.composer.recalled = None
        _say_why(app, "Enter")
    app.state.composer.focus = True
    app.state.stick = True
    app.loop.wake()


def _begin_notebook(app: App, text: str) -> None:
    chat = app.talk.chat
    chat.set_mode(NOTEBOOK)
    chat.notebook.apply_edit(text)
    chat.touch()
    if app.talk.can_write:
        app.talk.write_on(len(text))
    else:
        _say_why(app, "Ctrl+Enter")


def _say_why(app: App, key: str) -> None:
    waits = f"The model is still loading: press {key} when it is ready"
    app.toasts.show(waits if app.is_loading else "No model is loaded: choose one first")
