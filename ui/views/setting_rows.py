"""Rows of the settings: a label, a control that fits the kind of value, a way to the default."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from imgui_bundle import imgui

from gpt2gl.errors import OptionError
from gpt2gl.sampling import Number
from gpt2gl_ui import icons, theme
from gpt2gl_ui.settings import CONTROLS, Control, OneOf, Switch
from gpt2gl_ui.views.dialogue import growth, note, wide
from gpt2gl_ui.views.settings_form import (
    Form,
    checked,
    escaped,
    number_text,
    read_number,
    refusal,
    unescaped,
)
from gpt2gl_ui.widgets import (
    Area,
    available_width,
    button,
    combo_row,
    icon_button,
    segmented,
    slider,
    text_field,
    text_in,
    toggle,
    tooltip,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

# Widths in points.
LABEL, FIELD, RESET = 176, 92, 32
LEAST_SLIDER, SLIDER_PADDING = 48, 6
LEAST_STEP = 0.01
SEEDS = 1 << 31
SCALES = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)


def mark_of(name: str) -> str:
    """The name of a setting's control among the marks."""
    return f"settings.{name}"


def control_row(app: App, form: Form, name: str) -> None:
    """A setting in the way that suits it."""
    control = CONTROLS[name]
    draw = SPECIAL.get(name) or BY_KIND[type(control.option)]
    draw(app, form, control)
    reason(form, name)


def reason(form: Form, field: str) -> None:
    """Why what was typed into a field was not taken."""
    if field in form.reasons:
        note(form.reasons[field], available_width(), theme.palette().danger)


def put(app: App, form: Form, name: str, value: Any) -> None:
    """Change a setting at once."""
    form.reasons.pop(name, None)
    app.set(name, value)


# Parts ------------------------------------------------------------------------------------------


def row_label(control: Control) -> tuple[float, float]:
    """The label at the left, explained by its tooltip; gives where the row begins."""
    start, height = imgui.get_cursor_screen_pos(), theme.px(theme.CONTROL_HEIGHT)
    area = Area(start.x, start.y, wide(LABEL), height)
    text_in(area, control.label, theme.palette().text, 0.0)
    imgui.dummy((area.width, area.height))
    tooltip(control.option.help)
    return start.x, start.y


def reset_button(app: App, form: Form, control: Control, right: float, top: float) -> None:
    """An arrow back to the default, at the right end of a row, where the value is another."""
    if control.get(app.settings) == control.default:
        return
    imgui.set_cursor_screen_pos((right - theme.px(RESET - theme.TIGHT), top + theme.px(4)))
    shown = _words(control.default)
    tip = f"Back to the default, {shown}"
    mark = f"{mark_of(control.name)}.reset"
    if icon_button(icons.RESET, name=mark, tooltip=tip, size=28):
        form.reasons.pop(control.name, None)
        app.reset(control.name)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return number_text(value)
    return str(value) if value else "none"


def end_row(left: float, top: float) -> None:
    """Put the cursor under a row whose parts were placed by hand."""
    imgui.set_cursor_screen_pos((left, top + theme.px(theme.CONTROL_HEIGHT)))
    imgui.dummy((0, 0))


def draft_field(
    form: Form, field: str, shown: str, take: Callable[[str], None], *, placeholder: str = "",
    width: float = 0,
) -> None:
    """A field whose text is taken when Enter is pressed or it is left; `take` may refuse it with
    an OptionError, which is shown as `reason` and leaves the value as it was."""
    value = form.drafts.get(field, shown)
    edit = text_field(value, name=mark_of(field), placeholder=placeholder, width=width)
    left = imgui.is_item_deactivated()
    if edit.changed:
        form.drafts[field] = edit.text
        form.reasons.pop(field, None)
    if (left or edit.submitted) and field in form.drafts:
        try:
            take(form.drafts.pop(field))
        except OptionError as error:
            form.reasons[field] = str(error)


# Rows by kind of value --------------------------------------------------------------------------


def number_row(app: App, form: Form, control: Control) -> None:
    """A slider where the range is worth one, and a field for any allowed number."""
    option, right = control.option, imgui.get_cursor_screen_pos().x + available_width()
    assert isinstance(option, Number)
    left, top = row_label(control)
    start = left + wide(LABEL)
    field_left = right - theme.px(RESET) - wide(FIELD)
    span = _slider_range(option)
    if span is not None and field_left - start > theme.px(LEAST_SLIDER):
        room = field_left - theme.px(theme.MEDIUM) - start
        _slide(app, form, control, span, (start, top, room))
    imgui.set_cursor_screen_pos((field_left, top))
    number_field(app, form, control, FIELD * growth())
    reset_button(app, form, control, right, top)
    end_row(left, top)


def number_field(app: App, form: Form, control: Control, width: float, empty: str = "none") -> None:
    """A field for a number; what it refuses is explained under it."""
    option = control.option
    assert isinstance(option, Number)
    draft_field(
        form,
        control.name,
        number_text(control.get(app.settings)),
        lambda text: put(app, form, control.name, read_number(option, text)),
        placeholder=empty if option.optional else "",
        width=width,
    )
    tooltip(f"{control.option.help} Allowed: {option.allowed}.")


def _slider_range(option: Number) -> tuple[float, float] | None:
    if option.optional:
        return None
    span = option.slider
    if span is None and option.maximum is not None:
        span = (option.minimum, option.maximum)
    if span is not None and option.above_minimum and span[0] <= option.minimum:
        span = (option.minimum + LEAST_STEP, span[1])
    return span


def _slide(
    app: App,
    form: Form,
    control: Control,
    span: tuple[float, float],
    place: tuple[float, float, float],
) -> None:
    option, value = control.option, float(control.get(app.settings))
    assert isinstance(option, Number)
    left, top, width = place
    lower = (theme.px(theme.CONTROL_HEIGHT) - imgui.get_font_size() - theme.px(SLIDER_PADDING)) / 2
    imgui.set_cursor_screen_pos((left, top + round(lower)))
    digits = 0 if option.kind is int else 2
    name = f"{mark_of(control.name)}.slider"
    moved = slider(value, *span, name=name, help=option.help, digits=digits, width=width)
    if moved != value:
        put(app, form, control.name, option.kind(round(moved, digits)))


def choice_row(app: App, form: Form, control: Control) -> None:
    """A few names side by side."""
    option = control.option
    assert isinstance(option, OneOf)
    right = imgui.get_cursor_screen_pos().x + available_width()
    left, top = row_label(control)
    imgui.set_cursor_screen_pos((left + wide(LABEL), top))
    width = (right - left) / theme.current().scale - LABEL * growth() - RESET
    value = control.get(app.settings)
    glyphs = _GLYPHS if control.name == "theme" else ()
    shown = {_title(name): name for name in option.names}
    name = mark_of(control.name)
    chosen = segmented(tuple(shown), _title(value), name=name, width=width, icons=glyphs)
    if shown[chosen] != value:
        put(app, form, control.name, shown[chosen])
    reset_button(app, form, control, right, top)
    end_row(left, top)


def _title(name: str) -> str:
    """As a label; names such as fp32 stay."""
    return name if any(map(str.isdigit, name)) else name.capitalize().replace("-", " ")


_GLYPHS = (icons.SUN, icons.MOON, icons.SYSTEM)


def switch_row(app: App, form: Form, control: Control) -> None:
    """On or off."""
    value = control.get(app.settings)
    after = toggle(control.label, value, name=mark_of(control.name), help=control.option.help)
    if after != value:
        put(app, form, control.name, after)


def scale_row(app: App, form: Form, control: Control) -> None:
    """A list: a slider would move away under the pointer."""
    value = control.get(app.settings)
    steps = sorted({*SCALES, *([value] if value is not None else [])})
    names = ["display", *map(str, steps)]
    labels = {str(step): f"{step * 100:.0f} %" for step in steps}
    labels["display"] = "As the display says"
    right = imgui.get_cursor_screen_pos().x + available_width()
    left, top = row_label(control)
    imgui.set_cursor_screen_pos((left + wide(LABEL), top))
    width = right - left - wide(LABEL) - theme.px(RESET)
    flags = imgui.WindowFlags_.no_scrollbar | imgui.WindowFlags_.no_scroll_with_mouse
    size = (width, theme.px(theme.CONTROL_HEIGHT + theme.TIGHT))
    imgui.begin_child("##scale", size, imgui.ChildFlags_.nav_flattened, flags)
    now = "display" if value is None else str(value)
    chosen = combo_row("", names, now, name=mark_of(control.name), labels=labels)
    imgui.end_child()
    if chosen != now:
        put(app, form, control.name, None if chosen == "display" else float(chosen))
    reset_button(app, form, control, right, top)
    end_row(left, top)


# Rows of their own ------------------------------------------------------------------------------


def seed_row(app: App, form: Form, control: Control) -> None:
    """Empty for another seed each time; dice; and the one that was used last."""
    right = imgui.get_cursor_screen_pos().x + available_width()
    left, top = row_label(control)
    imgui.set_cursor_screen_pos((left + wide(LABEL), top))
    number_field(app, form, control, 180, "random")
    imgui.same_line()
    tip = "Take a random seed and keep it"
    if icon_button(icons.DICE, name=mark_of("seed.dice"), tooltip=tip, size=theme.CONTROL_HEIGHT):
        put(app, form, control.name, secrets.randbelow(SEEDS))
    reset_button(app, form, control, right, top)
    end_row(left, top)
    finished = app.talk.finished
    if finished is not None and finished.seed != control.get(app.settings):
        imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() + wide(LABEL))
        label = f"Keep {finished.seed}, which was used last"
        if button(label, name=mark_of("seed.last"), kind="link", icon=icons.CLOCK):
            put(app, form, control.name, finished.seed)


def stop_rows(app: App, form: Form, control: Control) -> None:
    """The texts that end an answer, one to a line, and an empty line for another."""
    right = imgui.get_cursor_screen_pos().x + available_width()
    left, top = row_label(control)
    texts = control.get(app.settings)
    for index in range(len(texts) + 1):
        imgui.set_cursor_screen_pos((left + wide(LABEL), top))
        _stop_field(app, form, control, index, (right - left) / theme.current().scale)
        if index == 0:
            reset_button(app, form, control, right, top)
        top += theme.px(theme.CONTROL_HEIGHT + theme.TIGHT)
    end_row(left, top - theme.px(theme.CONTROL_HEIGHT))
    for index in range(len(texts) + 1):
        reason(form, f"stop.{index}")


def _stop_field(app: App, form: Form, control: Control, index: int, width: float) -> None:
    texts = control.get(app.settings)
    shown = escaped(texts[index]) if index < len(texts) else ""
    draft_field(
        form,
        f"stop.{index}",
        shown,
        lambda text: _take_stop(app, form, control, index, unescaped(text)),
        placeholder="Another text; \\n is a line break",
        width=width - LABEL * growth() - RESET - 36,
    )
    if index >= len(texts):
        return
    imgui.same_line()
    imgui.set_cursor_pos_y(imgui.get_cursor_pos_y() + theme.px(2))
    if icon_button(icons.CLOSE, name=mark_of(f"stop.{index}.remove"), tooltip="Remove"):
        put(app, form, "stop", (*texts[:index], *texts[index + 1 :]))
        form.drafts.pop(f"stop.{index}", None)


def _take_stop(app: App, form: Form, control: Control, index: int, text: str) -> None:
    texts = control.get(app.settings)
    if not text and index >= len(texts):
        return
    if text in texts[:index] + texts[index + 1 :]:
        raise OptionError(f"“{escaped(text)}” is in the list already")
    values = (*texts[:index], text, *texts[index + 1 :])
    if not text:
        raise refusal(control.option, "")
    put(app, form, "stop", checked(control.option, values, text))


Row = Callable[["App", Form, Control], None]
BY_KIND: Mapping[type, Row] = {Number: number_row, OneOf: choice_row, Switch: switch_row}
SPECIAL: Mapping[str, Row] = {"seed": seed_row, "stop": stop_rows, "ui_scale": scale_row}
