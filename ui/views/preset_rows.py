"""Presets: choose, save, rename, delete; the command line has the same ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from imgui_bundle import imgui

from gpt2gl.errors import OptionError
from gpt2gl.generation import Generation
from gpt2gl.presets import (
    BUILT_IN,
    SAMPLING_FIELDS,
    Preset,
    remove_preset,
    save_preset,
    saved_names,
)
from gpt2gl.sampling import Sampling
from gpt2gl_ui import icons, theme
from gpt2gl_ui.views.dialogue import growth, note, wide
from gpt2gl_ui.views.setting_rows import mark_of, reason
from gpt2gl_ui.views.settings_form import Form, Undo, escaped, number_text
from gpt2gl_ui.widgets import (
    Area,
    available_width,
    button,
    fill,
    icon_button,
    outline,
    pressable,
    text_field,
    text_in,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

ROW, BUTTONS, SAVE = 52, 72, 110
NEW, RENAME = "preset.new", "preset.rename"


def draw(app: App, form: Form) -> None:
    """The list, and a field to save the present values under a name."""
    for name, preset in form.all_presets():
        if form.renaming == name:
            _rename(app, form, name)
        else:
            _row(app, form, name, preset)
    _save_as(app, form)
    note("The same presets are there for gpt2gl generate --preset.", available_width())


# The list ---------------------------------------------------------------------------------------


def _row(app: App, form: Form, name: str, preset: Preset | OptionError) -> None:
    start, width = imgui.get_cursor_screen_pos(), available_width()
    own = name not in BUILT_IN
    room = width - (theme.px(BUTTONS) if own else 0)
    area = pressable(mark_of(f"preset.{name}"), room, wide(ROW))
    chosen = app.settings.preset == name
    _surface(Area(area.x, area.y, width, area.height), area.hovered, chosen)
    _texts(app, name, preset, area, chosen)
    if area.clicked and isinstance(preset, Preset):
        app.change(app.settings.with_preset(preset))
    if own:
        top = start.y + (wide(ROW) - theme.px(32)) / 2
        imgui.set_cursor_screen_pos((start.x + room, top))
        _own_buttons(app, form, name, preset)
    imgui.set_cursor_screen_pos((start.x, start.y + wide(ROW)))
    imgui.dummy((0, 0))


def _surface(area: Area, hovered: bool, chosen: bool) -> None:
    now = theme.palette()
    fill(area, now.user_bubble if chosen else now.hover if hovered else now.raised)
    outline(area, now.accent if chosen else now.border)


def _texts(
    app: App, name: str, preset: Preset | OptionError, area: Area, chosen: bool
) -> None:
    now, half = theme.palette(), area.height / 2
    title = f"{name}  (changed)" if chosen and _is_changed(app, preset) else name
    upper = Area(area.x, area.y + theme.px(5), area.width, half - theme.px(3))
    text_in(upper, title, now.text, 0.0, theme.MEDIUM)
    damaged = isinstance(preset, OptionError)
    lower = Area(area.x, area.y + half, area.width, half - theme.px(7))
    imgui.push_font(None, theme.CAPTION)
    words = str(preset) if isinstance(preset, OptionError) else described(preset)
    text_in(lower, words, now.danger if damaged else now.text_muted, 0.0, theme.MEDIUM)
    imgui.pop_font()


def _is_changed(app: App, preset: Preset | OptionError) -> bool:
    if isinstance(preset, OptionError):
        return True
    return app.settings.with_preset(preset).generation != app.settings.generation


def described(preset: Preset) -> str:
    """What a preset sets, in words."""
    parts = []
    for option, value in preset.values.items():
        texts = [escaped(each) for each in value] if isinstance(value, tuple) else []
        shown = " ".join(texts) or number_text(value)
        parts.append(f"{option.replace('_', ' ')} {shown}")
    return ",  ".join(parts) or "everything at its default"


def _own_buttons(app: App, form: Form, name: str, preset: Preset | OptionError) -> None:
    mark = mark_of(f"preset.{name}")
    if icon_button(icons.EDIT, name=f"{mark}.rename", tooltip="Rename"):
        form.renaming, form.focus = name, True
        form.drafts[RENAME] = name
    imgui.same_line(0, 0)
    if icon_button(icons.TRASH, name=f"{mark}.delete", tooltip="Delete"):
        _delete(app, form, name, preset)


def _delete(app: App, form: Form, name: str, preset: Preset | OptionError) -> None:
    try:
        remove_preset(name)
    except OptionError as error:
        app.report(error)
        return
    form.presets = form.undo = None
    if isinstance(preset, Preset):
        form.undo = Undo(f"Deleted “{name}”", lambda: _put_back(form, preset))


# Names ------------------------------------------------------------------------------------------


def _rename(app: App, form: Form, name: str) -> None:
    new = _name_field(form, RENAME, "New name", "Rename")
    if imgui.is_key_pressed(imgui.Key.escape) or new == name:
        form.renaming = None
    elif new is not None and _taken(form, RENAME, lambda: rename(form, name, new)):
        form.renaming, form.presets = None, None
        if app.settings.preset == name:
            app.set("preset", new)


def rename(form: Form, name: str, new: str) -> None:
    """Give a saved preset another name that no preset has; OptionError where that cannot be."""
    preset = dict(form.all_presets())[name]
    if isinstance(preset, OptionError):
        raise preset
    if new in saved_names():
        raise OptionError(f"There is a preset {new} already: choose another name")
    save_preset(replace(preset, name=new))
    remove_preset(name)


def _save_as(app: App, form: Form) -> None:
    name = _name_field(form, NEW, "Name for the present values", "Save", icons.PLUS)
    if name is None:
        return
    before = dict(form.all_presets()).get(name)
    values = values_of(app.generation)
    if _taken(form, NEW, lambda: save_preset(Preset(name, values))):
        app.set("preset", name)
        form.drafts.pop(NEW, None)
        form.presets = None
        if isinstance(before, Preset):
            form.undo = Undo(f"Replaced “{name}”", lambda: _put_back(form, before))


def _put_back(form: Form, preset: Preset) -> None:
    save_preset(preset)
    form.presets = None


def values_of(generation: Generation) -> dict[str, Any]:
    """What a preset of these options holds: all that differ from the defaults, and no seed."""
    plain, options = Sampling(), generation.sampling
    names = [name for name in SAMPLING_FIELDS if name != "seed"]
    values = {n: getattr(options, n) for n in names if getattr(options, n) != getattr(plain, n)}
    stop = {"stop": generation.stop} if generation.stop else {}
    return {**values, "max_tokens": generation.max_tokens, **stop}


def _name_field(form: Form, field: str, hint: str, action: str, icon: str = "") -> str | None:
    """A field for a name and its button; gives the name when it is to be taken."""
    width = available_width() / theme.current().scale - SAVE * growth() - theme.SMALL
    value, focus = form.drafts.get(field, ""), form.focus and field == RENAME
    edit = text_field(value, name=mark_of(field), placeholder=hint, width=width, focus=focus)
    form.focus = form.focus and not focus
    if edit.changed:
        form.drafts[field] = edit.text
        form.reasons.pop(field, None)
    imgui.same_line()
    name = edit.text.strip()
    mark = f"{mark_of(field)}.go"
    pressed = button(action, name=mark, icon=icon, enabled=bool(name), width=-1)
    reason(form, field)
    return name if (pressed or edit.submitted) and name else None


def _taken(form: Form, field: str, action: Callable[[], object]) -> bool:
    """Whether the action was possible; why not is shown under the field."""
    try:
        action()
    except OptionError as error:
        form.reasons[field] = str(error)
        return False
    return True
