"""Models: the one that answers, those on this machine, and those that can be fetched."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl.hub.known import hub_id
from gpt2gl.hub.paths import cache_root
from gpt2gl.loading import RANDOM
from gpt2gl.small_files import shown_path
from gpt2gl_ui import icons, theme
from gpt2gl_ui.catalogue import HUB, Entry, room_on_device
from gpt2gl_ui.downloads import Job
from gpt2gl_ui.views.dialogue import body, dialogue, gap, growth, heading, note, room_below
from gpt2gl_ui.views.model_now import draw_now
from gpt2gl_ui.views.model_row import Action, draw_job, draw_row
from gpt2gl_ui.widgets import available_width, button, confirm, icon_button, muted, text_field

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

NAME, WIDTH, HEIGHT = "models", 760, 620
FIELD_HINT = "owner/name on the hub, or a folder, .safetensors or .gguf file"


@dataclass
class Form:
    """What the dialogue is in the middle of.

    Attributes:
        text: what is written into the field for a model.
        removing: the model about which a question is open.
        is_open: whether it was drawn in the last frame.
        room: bytes that models can have; None where no one knows.
    """

    text: str = ""
    removing: str | None = None
    is_open: bool = False
    room: int | None = None


def draw(app: App) -> None:
    """Models to choose and fetch."""
    form = app.state.kept(NAME, Form)
    if not form.is_open:
        form.is_open = True
        form.room = room_on_device(app.window.is_software)
        app.downloads.refresh()
    with dialogue(app, NAME, "Models", WIDTH * growth()):
        draw_now(app)
        with body(f"{NAME}.body", min(room_below(), theme.px(HEIGHT))):
            _lists(app, form)
            _place(app)
        if form.removing is not None:
            _ask(app, form, form.removing)
    form.is_open = app.state.dialogue is not None


def _lists(app: App, form: Form) -> None:
    entries = app.downloads.catalogue.entries
    if entries is None:
        muted("Looking what is here…")
        return
    heading("On this machine")
    for entry in entries:
        if entry.where != HUB:
            _row(app, form, entry)
    heading("Another model")
    _other(app, form)
    for job in _jobs_without_entry(app, entries):
        _take(app, form, job.name, draw_job(job))
    heading("To fetch")
    for entry in entries:
        if entry.where == HUB:
            _row(app, form, entry)


def _jobs_without_entry(app: App, entries: list[Entry]) -> list[Job]:
    listed = [job for entry in entries if (job := app.downloads.job(entry.name)) is not None]
    return [job for job in app.downloads.jobs.values() if job not in listed]


def _row(app: App, form: Form, entry: Entry) -> None:
    needed = entry.needs.get(app.settings.precision)
    lacks = needed is not None and form.room is not None and needed > form.room
    fitting = [p for p, size in entry.needs.items() if form.room is None or size <= form.room]
    warning = _too_large(needed, form.room, fitting) if lacks else ""
    in_use = app.engine.name == entry.name and (app.is_ready or app.is_loading)
    action = draw_row(entry, app.downloads.job(entry.name), app.settings.precision, warning, in_use)
    _take(app, form, entry.name, action)


def _too_large(needed: int | None, room: int | None, fitting: list[str]) -> str:
    if needed is None or room is None:
        return ""
    names = [precision for precision in fitting if "-" not in precision]
    advice = f"choose {' or '.join(names)} in Settings" if names else "choose a smaller model"
    return f"Will not fit: it needs {needed / 1e6:,.0f} MB of {room / 1e6:,.0f} MB; {advice}."


def _take(app: App, form: Form, name: str, action: Action | None) -> None:
    """Do what was pressed in a row."""
    downloads = app.downloads
    if action is Action.REMOVE:
        form.removing = name
    elif action is not None:
        {
            Action.USE: app.load_model,
            Action.FETCH: downloads.pull,
            Action.PAUSE: downloads.pause,
            Action.CANCEL: downloads.cancel,
            Action.VERIFY: downloads.verify,
            Action.DISMISS: downloads.dismiss,
        }[action](name)


def _ask(app: App, form: Form, name: str) -> None:
    text = (
        f"{name} is deleted from this machine. Chats that it wrote in stay, and it can be fetched"
        " again."
    )
    answer = confirm(text, name="models.remove", heading=f"Remove {name}?", action="Remove")
    if answer is not None:
        form.removing = None
    if answer:
        app.downloads.remove(name)


def _other(app: App, form: Form) -> None:
    """A field for any other model."""
    text = form.text.strip()
    is_path = bool(text) and (os.path.exists(text) or text.startswith(RANDOM))
    can_fetch = not is_path and hub_id(text) is not None
    label, icon = ("Fetch", icons.DOWNLOAD) if can_fetch else ("Load", icons.PLAY)
    with_button = available_width() / theme.current().scale - 130 * growth()
    edit = text_field(
        form.text, name="models.other", placeholder=FIELD_HINT, icon=icons.FOLDER, width=with_button
    )
    form.text = edit.text
    imgui.same_line()
    ready = is_path or can_fetch
    pressed = button(
        label, name="models.other.go", kind="primary", icon=icon, enabled=ready, width=-1
    )
    if (pressed or edit.submitted) and ready:
        (app.downloads.pull if can_fetch else app.load_model)(text)
        form.text = ""
    hint = _hint(text, is_path, can_fetch)
    note(hint, available_width())


def _hint(text: str, is_path: bool, can_fetch: bool) -> str:
    if is_path:
        return "It is read from where it lies."
    if can_fetch:
        return f"{hub_id(text)} is fetched from the hub. Only GPT-2 models can be run."
    if text:
        return "There is no such folder or file, and it is no owner/name."
    return "A folder holds config.json, model.safetensors and the tokenizer's files."


def _place(app: App) -> None:
    gap()
    path = shown_path(cache_root())
    if icon_button(icons.COPY, name="models.cache.copy", tooltip="Copy the path", size=24):
        imgui.set_clipboard_text(path)
        app.toasts.show("Copied")
    imgui.same_line()
    note(f"Fetched models lie in {path}", available_width())
