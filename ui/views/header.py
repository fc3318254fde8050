"""The bar over the conversation: its title and mode, the model, and what can be opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import actions, commands, fonts, icons, marks, theme
from gpt2gl_ui.chats.tree import CHAT, NOTEBOOK
from gpt2gl_ui.engine import CLOSED, FAILED, LOADING
from gpt2gl_ui.palette import Color
from gpt2gl_ui.state import MODELS, SETTINGS
from gpt2gl_ui.views.region import region
from gpt2gl_ui.views.renaming import is_renamed, title_field
from gpt2gl_ui.widgets import (
    Area,
    fill,
    icon_button,
    outline,
    pressable,
    segmented,
    text_in,
    tooltip,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

PADDING = 8
MODES = {"Chat": CHAT, "Notebook": NOTEBOOK}
MODE_ICONS = (icons.CHAT, icons.NOTEBOOK)


@dataclass(frozen=True)
class Plan:
    """What fits: widths in points; `words` of the modes, `model` 0 for its icon alone."""

    words: bool
    modes: float
    model: float


PLANS = (
    Plan(True, 244, 210),
    Plan(False, 76, 210),
    Plan(False, 76, 156),
    Plan(False, 76, 120),
    Plan(False, 76, 36),
)
LEAST_TITLE = 150
BUTTON, GAP = 36, 6


def draw(app: App, area: Area) -> None:
    """The bar over the conversation."""
    now = theme.palette()
    with region("header", area, now.background, flags=imgui.WindowFlags_.no_scroll_with_mouse):
        draw_list = imgui.get_window_draw_list()
        edge = area.bottom - theme.px(1)
        draw_list.add_rect_filled((area.x, edge), (area.right, area.bottom), theme.ink(now.border))
        plan = _plan(area.width / theme.current().scale)
        top = area.y + theme.px((52 - theme.CONTROL_HEIGHT) / 2)
        right = area.right - theme.px(PADDING) - theme.px(_width(plan))
        left = area.x + theme.px(PADDING)
        _at(left, top)
        _sidebar_button(app)
        left += theme.px(BUTTON + GAP)
        _title(app, Area(left, top, right - left - theme.px(GAP), theme.px(theme.CONTROL_HEIGHT)))
        _right(app, plan, right, top)


def _plan(width: float) -> Plan:
    free = width - 2 * PADDING - BUTTON - 2 * GAP - LEAST_TITLE
    return next((plan for plan in PLANS if _width(plan) <= free), PLANS[-1])


def _width(plan: Plan) -> float:
    return plan.modes + plan.model + 2 * BUTTON + 3 * GAP


def _at(x: float, y: float) -> None:
    imgui.set_cursor_screen_pos((x, y))


def _right(app: App, plan: Plan, x: float, y: float) -> None:
    _at(x, y)
    _modes(app, plan)
    x += theme.px(plan.modes + GAP)
    _at(x, y)
    _model(app, theme.px(plan.model))
    x += theme.px(plan.model + GAP)
    _at(x, y)
    if _icon(app, "inspector", icons.EYE, app.settings.inspector_open):
        commands.run(app, "inspector")
    if app.inspector.changes.is_active:
        _changed_mark()
    _at(x + theme.px(BUTTON + GAP), y)
    if _icon(app, "settings", icons.SETTINGS, app.state.dialogue == SETTINGS):
        commands.run(app, "settings")


def _changed_mark() -> None:
    """A dot at the inspector's button: the model does not answer as it is."""
    low, size = imgui.get_item_rect_min(), imgui.get_item_rect_size()
    marks.mark("header.changed")
    middle, color = (low.x + size.x - theme.px(7), low.y + theme.px(7)), theme.palette().warning
    imgui.get_window_draw_list().add_circle_filled(middle, theme.px(4), theme.ink(color))


def _icon(app: App, command: str, icon: str, selected: bool) -> bool:
    name = f"header.{command}"
    hint = commands.hint(command)
    return icon_button(icon, name=name, tooltip=hint, selected=selected, size=BUTTON)


def _sidebar_button(app: App) -> None:
    if _icon(app, "sidebar", icons.SIDEBAR, False):
        commands.run(app, "sidebar")


# The title --------------------------------------------------------------------------------------


def _title(app: App, area: Area) -> None:
    """The chat's title; a press lets one change it."""
    chat = app.talk.chat
    _at(area.x, area.y)
    if is_renamed(app, chat.id, "header"):
        title_field(app, area.width)
        return
    pressed = pressable("header.title", max(area.width, 1.0), area.height)
    now = theme.palette()
    if pressed.hovered:
        fill(area, now.hover)
    title = chat.title
    left = theme.px(theme.SMALL)
    if chat.private:
        with fonts.pushed(fonts.current().body):
            lock = Area(area.x + left, area.y, theme.px(20), area.height)
            text_in(lock, icons.LOCK, now.text_muted, 0.0)
        left += theme.px(theme.WIDE)
    with fonts.pushed(fonts.current().semibold):
        room = area.width - left - theme.px(theme.SMALL)
        text_in(Area(area.x + left, area.y, room, area.height), title, now.text, 0.0)
    tooltip("Private: not saved. " * chat.private + f"{title}\n{commands.hint('rename')}")
    if pressed.clicked:
        actions.rename(app, chat.id, title, "header")


def _modes(app: App, plan: Plan) -> None:
    mode = app.talk.chat.mode
    if plan.words:
        shown = next(word for word, each in MODES.items() if each == mode)
        chosen = segmented(
            list(MODES), shown, name="header.mode", width=plan.modes, icons=MODE_ICONS
        )
        actions.set_mode(app, MODES[chosen])
        return
    other = next(word for word, each in MODES.items() if each != mode)
    icon = dict(zip(MODES.values(), MODE_ICONS, strict=True))
    shown = segmented(
        [icon[CHAT], icon[NOTEBOOK]], icon[mode], name="header.mode", width=plan.modes
    )
    tooltip(f"Switch to: {other}")
    actions.set_mode(app, next(each for each, sign in icon.items() if sign == shown))


# The model --------------------------------------------------------------------------------------


def model_name(name: str) -> str:
    """A model as it is called in short: without the folders of a path."""
    return PurePath(name).name or name


def _model(app: App, width: float) -> None:
    """The model's name and state, and how far a load is; a press opens the list of models."""
    loading = app.engine.state == LOADING
    cancel = theme.px(BUTTON) if loading and width > theme.px(2 * BUTTON) else 0.0
    start = imgui.get_cursor_screen_pos()
    area = pressable("header.model", width - cancel, theme.px(theme.CONTROL_HEIGHT))
    now = theme.palette()
    whole = Area(area.x, area.y, width, area.height)
    fill(whole, now.hover if area.hovered else now.raised)
    outline(whole, now.border)
    tooltip(f"{_explained(app)}\n{commands.hint('models')}")
    if area.clicked:
        app.state.dialogue = MODELS
    _model_text(app, area)
    if loading:
        _progress(app, whole)
    if cancel:
        _at(start.x + width - cancel, start.y)
        if icon_button(icons.CLOSE, name="header.cancel", tooltip="Cancel loading", size=BUTTON):
            commands.run(app, "cancel_load")


def _model_text(app: App, area: Area) -> None:
    icon, color, name, detail = _state(app)
    inset = theme.px(theme.MEDIUM)
    with fonts.pushed(fonts.current().body):
        if area.width <= theme.px(BUTTON):
            text_in(area, icon, color)
            return
        text_in(Area(area.x + inset, area.y, theme.px(20), area.height), icon, color, 0.0)
        left = inset + max(theme.px(26), imgui.calc_text_size(icon).x + theme.px(theme.SMALL))
    with fonts.pushed(fonts.current().body, theme.CAPTION):
        size = imgui.calc_text_size(detail).x
        end = Area(area.x, area.y, area.width - inset, area.height)
        text_in(end, detail, theme.palette().text_muted, 1.0)
    room = area.width - left - inset - size - theme.px(theme.SMALL) * bool(detail)
    with fonts.pushed(fonts.current().body):
        text_in(Area(area.x + left, area.y, room, area.height), name, theme.palette().text, 0.0)


def _state(app: App) -> tuple[str, Color, str, str]:
    """Icon and its colour, the name, and a word about it."""
    engine, now = app.engine, theme.palette()
    name = model_name(engine.name) or "No model"
    if engine.state == FAILED:
        return icons.WARNING, now.danger, name, "failed"
    if engine.state == CLOSED:
        return icons.CHIP, now.text_muted, "Choose a model", ""
    if engine.state == LOADING:
        share = engine.loading.fraction
        return icons.CHIP, now.accent, name, "" if share is None else f"{share * 100:.0f} %"
    return icons.CHIP, now.accent, name, engine.precision


def _explained(app: App) -> str:
    engine = app.engine
    if engine.state == FAILED:
        return f"{engine.name} could not be loaded: {engine.error}"
    if engine.state == CLOSED:
        return "No model is loaded: choose one"
    if engine.state == LOADING:
        return f"Loading {engine.name}: {engine.loading.stage}"
    return f"{engine.name}, weights as {engine.precision}"


def _progress(app: App, area: Area) -> None:
    """Along the lower edge of the button."""
    now, share = theme.palette(), app.engine.loading.fraction
    inset, height = theme.px(theme.ROUND), theme.px(2)
    bar = Area(area.x + inset, area.bottom - height, area.width - 2 * inset, height)
    fill(bar, now.pressed, 1)
    fill(Area(bar.x, bar.y, bar.width * (share or 0.0), height), now.accent, 1)
    marks.place("header.loading", (bar.x, bar.y, bar.width, bar.height))
