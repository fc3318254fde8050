"""Values to set: a slider, a list to choose from, a line of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, marks, theme
from gpt2gl_ui.palette import Color, faded
from gpt2gl_ui.widgets.buttons import icon_button
from gpt2gl_ui.widgets.core import Area, available_width, elided, fill, outline, text_in, tooltip

KNOB, TRACK = 16, 4
SLIDER_HEIGHT, RESET_GAP = 24, 20


def slider_row(
    label: str,
    value: float,
    minimum: float,
    maximum: float,
    *,
    name: str,
    help: str,
    default: float,
    digits: int = 2,
    logarithmic: bool = False,
) -> float:
    """A labelled slider; gives the value after this frame, within the range.

    Ctrl+click types a value; an arrow beside a changed value goes back to the default, marked
    `name.reset`. `digits` after the point; `logarithmic` needs a minimum above 0.
    """
    shown = f"{value:.{digits}f}"
    changed = shown != f"{default:.{digits}f}"
    reset = _slider_label(label, shown, changed, name, help)
    moved = slider(
        *(value, minimum, maximum), name=name, help=help, digits=digits, logarithmic=logarithmic
    )
    return default if reset else moved


def slider(
    value: float,
    minimum: float,
    maximum: float,
    *,
    name: str,
    help: str,
    digits: int = 2,
    logarithmic: bool = False,
    width: float = 0,
) -> float:
    """The slider of `slider_row` without its label, `width` in pixels, 0 for all there is. A value
    outside the range stays until it is moved."""
    typing = _is_typed_into(name)
    flags = imgui.SliderFlags_.always_clamp
    if logarithmic:
        flags |= imgui.SliderFlags_.logarithmic
    with _bare_frame(hide_text=not typing):
        imgui.set_next_item_width(width or available_width())
        shape = f"%.{digits}f"
        changed, moved = imgui.slider_float(f"##{name}", value, minimum, maximum, shape, flags)
    marks.mark(name)
    if not typing:
        shown = min(max(moved, minimum), maximum)
        _draw_slider(_last_item(), _fraction(shown, minimum, maximum, logarithmic))
    if not imgui.is_item_active():
        tooltip(help)
    return moved if changed else value


def _slider_label(label: str, shown: str, changed: bool, name: str, help: str) -> bool:
    """The line over a slider; True when its reset button was pressed."""
    now, start = theme.palette(), imgui.get_cursor_screen_pos()
    row = Area(start.x, start.y, available_width(), theme.px(SLIDER_HEIGHT))
    text_in(row, label, now.text, align=0.0)
    with fonts.pushed(fonts.current().mono, theme.BODY):
        text_in(row, shown, now.text if changed else now.text_muted, align=1.0)
        width = imgui.calc_text_size(shown).x
    reset = False
    if changed:
        left = row.right - width - theme.px(SLIDER_HEIGHT) - theme.px(theme.TIGHT)
        imgui.set_cursor_screen_pos((left, start.y))
        hint = "Back to the default"
        reset = icon_button(icons.RESET, name=f"{name}.reset", tooltip=hint, size=SLIDER_HEIGHT)
    imgui.set_cursor_screen_pos((start.x, start.y))
    imgui.dummy((max(row.width - width - theme.px(2 * RESET_GAP), 1.0), row.height))
    tooltip(help)
    return reset


def _is_typed_into(name: str) -> bool:
    return imgui.internal.temp_input_is_active(imgui.get_id(f"##{name}"))


@contextmanager
def _bare_frame(hide_text: bool) -> Iterator[None]:
    """imgui's slider with nothing to see, unless it is a field to type in at the moment."""
    clear = faded(theme.palette().raised, 0.0)
    col = imgui.Col_
    hidden = [col.slider_grab, col.slider_grab_active]
    if hide_text:
        hidden += [col.frame_bg, col.frame_bg_hovered, col.frame_bg_active, col.border, col.text]
    for index in hidden:
        imgui.push_style_color(index, clear)
    padding = (SLIDER_HEIGHT - theme.BODY) / 2
    imgui.push_style_var(imgui.StyleVar_.frame_padding, (theme.px(theme.SMALL), theme.px(padding)))
    imgui.push_style_var(imgui.StyleVar_.grab_min_size, theme.px(KNOB))
    try:
        yield
    finally:
        imgui.pop_style_var(2)
        imgui.pop_style_color(len(hidden))


def _fraction(value: float, minimum: float, maximum: float, logarithmic: bool) -> float:
    if logarithmic:
        return math.log(value / minimum) / math.log(maximum / minimum)
    return (value - minimum) / (maximum - minimum)


def _last_item() -> Area:
    low, size = imgui.get_item_rect_min(), imgui.get_item_rect_size()
    hovered, held = imgui.is_item_hovered(), imgui.is_item_active()
    return Area(low.x, low.y, size.x, size.y, False, hovered, held)


def _draw_slider(area: Area, fraction: float) -> None:
    now, knob, track = theme.palette(), theme.px(KNOB), theme.px(TRACK)
    # imgui keeps two pixels free at both ends of the way of its own knob.
    way = area.width - 4 - knob
    middle = (area.x + 2 + knob / 2 + way * fraction, area.y + area.height / 2)
    top = round(middle[1] - track / 2)
    fill(Area(area.x + 2, top, area.width - 4, track), now.pressed, TRACK / 2)
    fill(Area(area.x + 2, top, middle[0] - area.x - 2, track), now.accent, TRACK / 2)
    draw = imgui.get_window_draw_list()
    color = now.accent_hover if area.hovered or area.held else now.accent
    draw.add_circle_filled(middle, knob / 2, theme.ink(color))
    inner = knob / 2 - theme.px(4 if area.held else 5)
    draw.add_circle_filled(middle, inner, theme.ink(now.accent_text))


def combo_row(
    label: str,
    options: Sequence[str],
    value: str,
    *,
    name: str,
    help: str = "",
    labels: Mapping[str, str] | None = None,
) -> str:
    """A labelled list to choose from; each option is marked `name.option` while it is open.

    `labels` has what to show for an option, where that differs. An empty label leaves its line
    out.
    """
    shown = labels or {}
    if label:
        imgui.text_unformatted(label)
        tooltip(help)
    imgui.set_next_item_width(available_width())
    padding = (theme.CONTROL_HEIGHT - theme.BODY) / 2
    var, inset = imgui.StyleVar_, theme.px(theme.SMALL)
    imgui.push_style_var(var.frame_padding, (theme.px(theme.MEDIUM), theme.px(padding)))
    imgui.push_style_var(var.window_padding, (inset, inset))
    preview = elided(shown.get(value, value), available_width() - theme.px(56))
    opened = imgui.begin_combo(f"##{name}", preview, imgui.ComboFlags_.no_arrow_button)
    imgui.pop_style_var(2)
    if opened:
        value = _options(options, value, name, shown)
        imgui.end_combo()
    marks.mark(name)
    text_in(_last_item(), icons.CHEVRON_DOWN, theme.palette().text_muted, 1.0, theme.SMALL)
    tooltip(help)
    return value


def _options(options: Sequence[str], value: str, name: str, labels: Mapping[str, str]) -> str:
    chosen = value
    for option in options:
        text = labels.get(option, option)
        tick = icons.CHECK if option == value else ""
        if imgui.selectable(f"{text}##{name}.{option}", option == value)[0]:
            chosen = option
        marks.mark(f"{name}.{option}")
        text_in(_last_item(), tick, theme.palette().accent, 1.0, theme.TIGHT)
        if option == value and imgui.is_window_appearing():
            imgui.set_item_default_focus()
    return chosen


@dataclass(frozen=True)
class TextEdit:
    text: str
    changed: bool
    submitted: bool
    """Enter was pressed."""


def text_field(
    value: str,
    *,
    name: str,
    placeholder: str = "",
    icon: str = "",
    width: float = 0,
    focus: bool = False,
    enabled: bool = True,
) -> TextEdit:
    """A line of text; `width` in points, 0 for all there is; `focus` puts the caret in it."""
    start, now = imgui.get_cursor_screen_pos(), theme.palette()
    total = theme.px(width) if width else available_width()
    frame = Area(start.x, start.y, total, theme.px(theme.CONTROL_HEIGHT))
    imgui.begin_disabled(not enabled)
    fill(frame, now.raised)
    if icon:
        text_in(frame, icon, now.text_muted, 0.0, theme.SMALL + 2)
        # The text has a padding of its own, MEDIUM.
        beside = theme.px(theme.SMALL + 2) + imgui.calc_text_size(icon).x - theme.px(theme.TIGHT)
        imgui.set_cursor_screen_pos((start.x + beside, start.y))
    if focus:
        imgui.set_keyboard_focus_here()
    edit = _line(value, f"##{name}", placeholder, frame.right - imgui.get_cursor_screen_pos().x)
    active = imgui.is_item_active()
    marks.mark(name)
    outline(frame, *_field_outline(active, imgui.is_item_hovered()))
    imgui.end_disabled()
    return edit


def _line(value: str, identity: str, placeholder: str, width: float) -> TextEdit:
    clear, col = faded(theme.palette().raised, 0.0), imgui.Col_
    hidden = (col.frame_bg, col.frame_bg_hovered, col.frame_bg_active, col.border, col.nav_cursor)
    for index in hidden:
        imgui.push_style_color(index, clear)
    spare = (theme.px(theme.CONTROL_HEIGHT) - imgui.get_font_size()) / 2
    inset = theme.px(theme.MEDIUM)
    imgui.push_style_var(imgui.StyleVar_.frame_padding, (inset, spare))
    imgui.set_next_item_width(width)
    flags = imgui.InputTextFlags_.enter_returns_true
    hint = "" if value else elided(placeholder, width - 2 * inset)
    submitted, text = imgui.input_text_with_hint(identity, hint, value, flags)
    imgui.pop_style_var()
    imgui.pop_style_color(len(hidden))
    return TextEdit(text, text != value, submitted)


def _field_outline(active: bool, hovered: bool) -> tuple[Color, float, float]:
    """Colour, radius and width."""
    now = theme.palette()
    if active:
        return now.focus, theme.ROUND, 2
    return (now.control if hovered else now.border), theme.ROUND, 1
