"""One model of the list: what it is, how far its download is, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from imgui_bundle import imgui

from gpt2gl.hub.events import Checking, Contacting, Downloading, Pulled, Retrying, Waiting
from gpt2gl.hub.known import hub_id
from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.catalogue import BUILT_IN, DAMAGED, HUB, Entry
from gpt2gl_ui.downloads import (
    CANCEL,
    DISCARD,
    FAILED,
    PAUSE,
    PAUSED,
    PULL,
    QUEUED,
    REMOVE,
    RUNNING,
    VERIFY,
    Job,
)
from gpt2gl_ui.views.dialogue import note, wide
from gpt2gl_ui.widgets import (
    available_width,
    badge,
    button,
    card,
    elided,
    icon_button,
    progress_bar,
    tooltip,
)

BUTTONS = 160  # room at the right for buttons, in points


class Action(Enum):
    """What can be done with a model."""

    USE = auto()
    FETCH = auto()
    PAUSE = auto()
    CANCEL = auto()
    VERIFY = auto()
    REMOVE = auto()
    DISMISS = auto()


def draw_row(
    entry: Entry, job: Job | None, precision: str, warning: str, in_use: bool
) -> Action | None:
    """A model with its buttons; gives what was pressed."""
    with card(f"model.{entry.name}", padding=theme.MEDIUM):
        right = _Right(entry.name)
        _title(entry, right.text_width, warning, in_use)
        note(entry.about, right.text_width)
        note(_facts(entry, precision), right.text_width)
        action = right.draw(lambda: _buttons(entry, job, in_use))
        if warning:
            note(warning, available_width(), theme.palette().warning)
        if job is not None:
            _job_lines(job)
        return action


def draw_job(job: Job) -> Action | None:
    """A model of the hub that is under way and in no list."""
    with card(f"model.{job.name}", padding=theme.MEDIUM):
        right = _Right(job.name)
        with fonts.pushed(fonts.current().semibold):
            imgui.text_unformatted(elided(job.name, right.text_width))
        note("A model of the hub.", right.text_width)
        action = right.draw(lambda: _job_buttons(job.name, job))
        _job_lines(job)
        return action


class _Right:
    """Puts buttons beside what was drawn since it was made, at the right edge."""

    def __init__(self, name: str) -> None:
        self.start = imgui.get_cursor_screen_pos()
        self.width = available_width()
        self.text_width = self.width - wide(BUTTONS)

    def draw(self, buttons: Callable[[], Action | None]) -> Action | None:
        spacing = imgui.get_style().item_spacing.y
        low = imgui.get_cursor_screen_pos().y - spacing
        storage, identity = imgui.get_state_storage(), imgui.get_id("##right")
        # How wide the buttons are is known from the last frame.
        width = storage.get_float(identity, wide(BUTTONS))
        imgui.set_cursor_screen_pos((self.start.x + self.width - width, self.start.y))
        imgui.begin_group()
        action = buttons()
        imgui.end_group()
        size = imgui.get_item_rect_size()
        storage.set_float(identity, size.x)
        imgui.set_cursor_screen_pos((self.start.x, max(low, self.start.y + size.y)))
        imgui.dummy((0, 0))
        return action


def _title(entry: Entry, width: float, warning: str, in_use: bool) -> None:
    with fonts.pushed(fonts.current().semibold):
        imgui.text_unformatted(elided(entry.name, width - wide(150)))
    for text, kind in _badges(entry, warning, in_use):
        badge_beside(text, kind)


def badge_beside(text: str, kind: str, help: str = "") -> None:
    """A badge after a line of text, in the middle of the line."""
    imgui.same_line()
    imgui.set_cursor_pos_y(imgui.get_cursor_pos_y() - theme.px(2))
    badge(text, kind, help=help)


def _badges(entry: Entry, warning: str, in_use: bool) -> list[tuple[str, str]]:
    shown = [("in use", "success")] if in_use else []
    if entry.where == BUILT_IN:
        shown.append(("built in", "neutral"))
    if entry.where == DAMAGED:
        shown.append(("damaged", "danger"))
    if warning:
        shown.append(("too large", "warning"))
    return shown


# As they are written, by what the hub calls them.
LICENCES = {"mit": "MIT", "apache-2.0": "Apache 2.0"}


def _facts(entry: Entry, precision: str) -> str:
    """Parameters, size, licence and the memory that it needs, as far as they are known."""
    about = "about " if entry.where == HUB else ""
    facts = [f"{about}{megabytes(entry.nbytes)}"]
    if entry.parameters is not None:
        facts.insert(0, f"{entry.parameters / 1e6:,.0f} M parameters")
    licence = LICENCES.get(entry.licence, entry.licence)
    facts.append(f"{licence} licence" if licence else "licence unknown")
    if precision in entry.needs:
        facts.append(f"{megabytes(entry.needs[precision])} on the GPU in {precision}")
    return "  ·  ".join(facts)


# Buttons ----------------------------------------------------------------------------------------


def _buttons(entry: Entry, job: Job | None, in_use: bool) -> Action | None:
    if job is not None:
        return _job_buttons(entry.name, job)
    name, action = entry.name, None
    if entry.where == HUB:
        return _labelled("Fetch", f"{name}.fetch", icons.DOWNLOAD, Action.FETCH)
    main = False
    if entry.where == DAMAGED and hub_id(name) is not None:
        main, action = True, _labelled("Repair", f"{name}.fetch", icons.DOWNLOAD, Action.FETCH)
    elif entry.is_here and not in_use:
        main, action = True, _labelled("Use", f"{name}.use", icons.PLAY, Action.USE)
    if entry.where == BUILT_IN:
        return action
    if main:
        imgui.same_line()
    return _icons(name, _CARE) or action


def _labelled(label: str, name: str, icon: str, action: Action) -> Action | None:
    return action if button(label, name=name, icon=icon) else None


def _job_buttons(name: str, job: Job) -> Action | None:
    return _icons(name, _CHOICES.get((job.kind, job.state), ()), job.wish is None)


Choice = tuple[Action, str, str]
_CARE: tuple[Choice, ...] = (
    (Action.VERIFY, icons.CHECK, "Check the files"),
    (Action.REMOVE, icons.TRASH, "Remove from this machine"),
)
_PAUSE: Choice = (Action.PAUSE, icons.PAUSE, "Pause")
_CANCEL: Choice = (Action.CANCEL, icons.CLOSE, "Cancel, and delete what has come")
_DISMISS: Choice = (Action.DISMISS, icons.CLOSE, "Dismiss")

# Kind and state of a job -> action, icon and tooltip of its buttons.
_CHOICES: Mapping[tuple[str, str], tuple[Choice, ...]] = {
    (PULL, QUEUED): (_PAUSE, _CANCEL),
    (PULL, RUNNING): (_PAUSE, _CANCEL),
    (PULL, PAUSED): ((Action.FETCH, icons.PLAY, "Go on"), _CANCEL),
    (PULL, FAILED): ((Action.FETCH, icons.REGENERATE, "Try again"), _CANCEL),
    (VERIFY, RUNNING): ((Action.CANCEL, icons.CLOSE, "Stop checking"),),
    (VERIFY, FAILED): (
        (Action.FETCH, icons.DOWNLOAD, "Repair: fetch what is damaged"),
        (Action.VERIFY, icons.REGENERATE, "Check again"),
        _DISMISS,
    ),
    (REMOVE, FAILED): ((Action.REMOVE, icons.REGENERATE, "Try again"), _DISMISS),
    (DISCARD, FAILED): (_DISMISS,),
}


def _icons(name: str, shown: tuple[Choice, ...], enabled: bool = True) -> Action | None:
    action = None
    for index, (each, icon, tip) in enumerate(shown):
        if index:
            imgui.same_line(0, 0)
        mark = f"{name}.{each.name.lower()}"
        if icon_button(icon, name=mark, tooltip=tip, enabled=enabled):
            action = each
    return action


# How far a job is -------------------------------------------------------------------------------


def _job_lines(job: Job) -> None:
    if job.state == FAILED:
        note(str(job.error), available_width(), theme.palette().danger)
        return
    fraction, label = progress(job)
    progress_bar(fraction, name=f"{job.name}.progress", label=label)
    tooltip(label)


def progress(job: Job) -> tuple[float | None, str]:
    """The fraction done, None where that is unknown, and what to say of it."""
    if job.state == QUEUED:
        return 0.0, "Waits for its turn"
    if job.state == PAUSED:
        return _paused(job)
    describe = _EVENTS.get(type(job.event))
    fraction, text = describe(job.event) if describe else (None, _BEGINNINGS[job.kind])
    return fraction, _WISHES.get(job.wish or "", text)


_BEGINNINGS = {
    PULL: "Beginning…",
    VERIFY: "Checking…",
    REMOVE: "Removing…",
    DISCARD: "Deleting…",
}
_WISHES = {PAUSE: "Pausing…", CANCEL: "Stopping…"}


def _paused(job: Job) -> tuple[float | None, str]:
    event = job.event
    if isinstance(event, Downloading):
        return _share(event), f"Paused, {megabytes(event.done)} of {megabytes(event.total)} here"
    there = f", {megabytes(job.bytes_there)} here" if job.bytes_there else ""
    return 0.0, f"Paused{there}"


def _share(event: Any) -> float:
    return event.done / event.total if event.total else 0.0


def _contacting(event: Any) -> tuple[float | None, str]:
    return None, f"Asking {event.endpoint}"


def _waiting(event: Any) -> tuple[float | None, str]:
    return None, "Another process is fetching it"


def _downloading(event: Any) -> tuple[float | None, str]:
    parts = [event.file, f"{megabytes(event.done)} of {megabytes(event.total)}"]
    if event.seconds_left is not None:
        parts.append(f"{event.bytes_per_second / 1e6:.1f} MB/s")
        parts.append(f"{clock(event.seconds_left)} left")
    return _share(event), "  ·  ".join(parts)


def _checking(event: Any) -> tuple[float | None, str]:
    return _share(event), f"Checking {event.file}"


def _retrying(event: Any) -> tuple[float | None, str]:
    return None, f"{event.reason}; again in {event.seconds:.0f} s"


def _pulled(event: Any) -> tuple[float | None, str]:
    return 1.0, "Done"


_EVENTS: Mapping[type, Callable[[Any], tuple[float | None, str]]] = {
    Contacting: _contacting,
    Waiting: _waiting,
    Downloading: _downloading,
    Checking: _checking,
    Retrying: _retrying,
    Pulled: _pulled,
}


def megabytes(count: int) -> str:
    """`551 MB`, with a digit after the point where there are few."""
    return f"{count / 1e6:,.1f} MB" if count < 10_000_000 else f"{count / 1e6:,.0f} MB"


def clock(seconds: float) -> str:
    """`1:05`, `2:03:04`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
