"""The settings: sections at the left, or what a search finds in all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import icons, theme
from gpt2gl_ui.settings import CONTROLS, reset
from gpt2gl_ui.views import about_rows, preset_rows
from gpt2gl_ui.views.dialogue import body, dialogue, gap, growth, heading, room_below, wide
from gpt2gl_ui.views.model_settings import model_row, precision_row
from gpt2gl_ui.views.setting_rows import control_row, mark_of
from gpt2gl_ui.views.settings_form import Form, Undo
from gpt2gl_ui.widgets import (
    available_width,
    button,
    combo_row,
    fill,
    muted,
    pressable,
    text_field,
    text_in,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

NAME, WIDTH, HEIGHT = "settings", 860, 620
NAVIGATION, NAVIGATION_ROW, NARROW = 176, 36, 640

Draw = Callable[["App", Form], None]


@dataclass(frozen=True)
class Item:
    """Something to set; `words` is what a search looks in, `names` the settings it changes."""

    words: str
    draw: Draw
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Items under a title of their own; none for an empty one."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Section:
    icon: str
    groups: tuple[Group, ...]


def _of(*names: str) -> tuple[Item, ...]:
    return tuple(
        Item(
            f"{CONTROLS[name].label} {name} {CONTROLS[name].option.help}",
            partial(_control, name=name),
            (name,),
        )
        for name in names
    )


def _control(app: App, form: Form, *, name: str) -> None:
    control_row(app, form, name)


GENERATION = (
    Group("Choice of tokens", _of("temperature", "top_k", "top_p", "min_p", "typical_p")),
    Group(
        "Repetition",
        _of("repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram"),
    ),
    Group("Length", _of("max_tokens", "min_new_tokens", "time_limit", "stop")),
    Group("Chance", _of("seed")),
    Group("Context", _of("context_policy", "keep")),
)
LOOKS = (
    Group("", _of("theme", "font_size", "ui_scale", "reduced_motion", "token_tint")),
    Group("Parts of the window", _of("sidebar_open", "inspector_open")),
)
PRESETS = Item("presets saved creative balanced precise", preset_rows.draw, ("preset",))
PRECISION = Item(
    f"precision memory quantised {CONTROLS['precision'].option.help}",
    precision_row,
    ("precision",),
)
MODEL = Item("model choose load", model_row)
PRIVACY = Item("privacy network folders data", lambda app, form: about_rows.privacy(app))
ABOUT = Item("about version renderer driver licences", lambda app, form: about_rows.about(app))

SECTIONS: Mapping[str, Section] = {
    "Generation": Section(icons.SLIDERS, GENERATION),
    "Presets": Section(icons.LAYERS, (Group("", (PRESETS,)),)),
    "Model": Section(icons.CHIP, (Group("", (MODEL, PRECISION)),)),
    "Appearance": Section(icons.SUN, LOOKS),
    "Privacy": Section(icons.LOCK, (Group("", (PRIVACY,)),)),
    "About": Section(icons.INFO, (Group("", (ABOUT,)),)),
}
FIRST = next(iter(SECTIONS))
# The settings that are here, and which "Reset all" resets.
SHOWN = {
    name
    for section in SECTIONS.values()
    for group in section.groups
    for item in group.items
    for name in item.names
}


def draw(app: App) -> None:
    """The settings."""
    form = app.state.kept(NAME, Form)
    if not form.is_open:
        form.is_open, form.presets, form.undo = True, None, None
        form.reasons.clear()
        form.drafts.clear()
    with dialogue(app, NAME, "Settings", WIDTH * growth()):
        _search(app, form)
        gap(theme.TIGHT)
        narrow = available_width() < wide(NARROW)
        if narrow and not form.query:
            _navigation_list(form)
        height = min(room_below() - theme.px(theme.CONTROL_HEIGHT + theme.LARGE), theme.px(HEIGHT))
        if not narrow:
            with body("settings.sections", height, wide(NAVIGATION)):
                _navigation(form)
            imgui.same_line(0, theme.px(theme.LARGE))
        with body(f"settings.body.{form.section}", height):
            _content(app, form)
        _foot(app, form)
    form.is_open = app.state.dialogue == NAME


# Finding ----------------------------------------------------------------------------------------


def _search(app: App, form: Form) -> None:
    """The field; Escape in it clears it, and closes the settings where it is empty."""
    was_empty, hint = not form.query, "Search settings"
    focus = imgui.is_window_appearing()
    edit = text_field(
        form.query, name=mark_of("search"), placeholder=hint, icon=icons.SEARCH, focus=focus
    )
    if was_empty and imgui.is_item_deactivated() and imgui.is_key_pressed(imgui.Key.escape, False):
        app.state.dialogue = None
    form.query = edit.text


def _navigation(form: Form) -> None:
    for title, section in SECTIONS.items():
        area = pressable(
            mark_of(f"section.{title}"), available_width(), theme.px(NAVIGATION_ROW)
        )
        chosen = title == (form.section or FIRST) and not form.query
        if chosen or area.hovered:
            fill(area, theme.palette().user_bubble if chosen else theme.palette().hover)
        color = theme.palette().text if chosen else theme.palette().text_muted
        text_in(area, f"{section.icon}   {title}", color, 0.0, theme.MEDIUM)
        if area.clicked:
            form.section, form.query = title, ""


def _navigation_list(form: Form) -> None:
    names = tuple(SECTIONS)
    form.section = combo_row("", names, form.section or FIRST, name=mark_of("section"))


def found(query: str) -> dict[str, Section]:
    """The sections with only those items that have all words of the query."""
    words, sections = query.casefold().split(), {}
    for title, section in SECTIONS.items():
        groups = tuple(
            replace(group, items=items)
            for group in section.groups
            if (items := tuple(item for item in group.items if _has(item, words)))
        )
        if groups:
            sections[title] = replace(section, groups=groups)
    return sections


def _has(item: Item, words: list[str]) -> bool:
    text = item.words.casefold()
    return all(word in text for word in words)


# Showing ----------------------------------------------------------------------------------------


def _content(app: App, form: Form) -> None:
    if not form.query.strip():
        _groups(app, form, SECTIONS[form.section or FIRST])
        return
    sections = found(form.query)
    for title, section in sections.items():
        heading(title)
        for group in section.groups:
            _items(app, form, group)
    if not sections:
        muted("No setting has these words.")


def _groups(app: App, form: Form, section: Section) -> None:
    for group in section.groups:
        if group.title:
            heading(group.title)
        _items(app, form, group)
        gap(theme.TIGHT)


def _items(app: App, form: Form, group: Group) -> None:
    for item in group.items:
        item.draw(app, form)


def _foot(app: App, form: Form) -> None:
    """What can be taken back, and everything to its default."""
    gap(theme.TIGHT)
    left = imgui.get_cursor_pos_x()
    if form.undo is not None:
        undo = form.undo
        label = f"{undo.text}: undo"
        if button(label, name=mark_of("undo"), kind="link", icon=icons.UNDO):
            form.undo = None
            undo.action()
        imgui.same_line()
    label = "Reset all"
    width = wide(136)
    imgui.set_cursor_pos_x(max(left + _whole_width() - width, imgui.get_cursor_pos_x()))
    tip = "Every setting to its default; model and chats stay"
    if button(label, name=mark_of("reset"), icon=icons.RESET, tooltip=tip, width=-1):
        _reset_all(app, form)


def _whole_width() -> float:
    return imgui.get_window_width() - 2 * theme.px(theme.WIDE)


def _reset_all(app: App, form: Form) -> None:
    before = settings = app.settings
    for name in SHOWN:
        settings = reset(settings, name)
    form.reasons.clear()
    form.drafts.clear()
    if settings != before:
        form.undo = Undo("All settings are reset", lambda: app.change(before))
        app.change(settings)
