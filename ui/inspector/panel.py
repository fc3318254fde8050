"""What happens inside the model: the panel at the side, or in place of the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, marks, theme
from gpt2gl_ui.inspector import (
    hints,
    pieces,
    tab_activations,
    tab_attention,
    tab_intervene,
    tab_lens,
    tab_step,
    tab_tokens,
)
from gpt2gl_ui.inspector.inspector import (
    ACTIVATIONS,
    ATTENTION,
    ENCODE,
    INTERVENE,
    LENS,
    STEP,
    TOKENS,
)
from gpt2gl_ui.inspector.texts import EXAMPLE
from gpt2gl_ui.views.region import region
from gpt2gl_ui.widgets import (
    Area,
    available_width,
    badge,
    button,
    fill,
    icon_button,
    pressable,
    text_in,
    title,
)

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

TABS: dict[str, Callable[[App], None]] = {
    ATTENTION: tab_attention.draw,
    ACTIVATIONS: tab_activations.draw,
    LENS: tab_lens.draw,
    TOKENS: tab_tokens.draw,
    INTERVENE: tab_intervene.draw,
    STEP: tab_step.draw,
}
EDGE, LEAST, MOST = 6, 240, 1200


def draw(app: App, area: Area) -> None:
    """The panel."""
    app.inspector.begin_frame()
    now = theme.palette()
    with region("inspector", area, now.background, (theme.MEDIUM, theme.SMALL)):
        imgui.get_window_draw_list().add_line(
            (area.x, area.y), (area.x, area.bottom), theme.ink(now.border), theme.px(1)
        )
        _header(app)
        _tabs(app)
        imgui.begin_child("##inspector.tab", (0, 0), pieces.CHILD)
        hints.draw(app, app.inspector.tab)
        _tab(app)
        imgui.end_child()
    if not app.state.inspector_full:
        _edge(app, area)


def _header(app: App) -> None:
    start, width = imgui.get_cursor_screen_pos(), available_width()
    high = theme.px(theme.CONTROL_HEIGHT)  # as what is beside it in the window's header
    lower = (high - theme.px(theme.BODY)) / 2
    imgui.set_cursor_screen_pos((start.x, start.y + round(lower - theme.px(2))))
    title("Inspector", theme.BODY)
    if app.inspector.changes.is_active:
        imgui.same_line(0, theme.px(theme.MEDIUM))
        badge("changed", "warning", help="Interventions are active: the chat answers with them.")
    side = theme.px(32)
    left = start.x + width - 2 * side - theme.px(4)
    imgui.set_cursor_screen_pos((left, start.y + (high - side) / 2))
    full = app.state.inspector_full
    icon, text = (icons.CHEVRON_RIGHT, "At the side") if full else (icons.CHEVRON_LEFT, "Full size")
    if icon_button(icon, name="inspector.full", tooltip=text):
        app.state.inspector_full = not full
        if full:
            app.set("inspector_open", True)
    imgui.same_line(0, theme.px(4))
    if icon_button(icons.CLOSE, name="inspector.close", tooltip="Close (Ctrl+I)"):
        close(app)
    imgui.set_cursor_screen_pos((start.x, start.y + high + theme.px(4)))


def close(app: App) -> None:
    """Leave the panel, wherever it is."""
    app.state.inspector_full = False
    app.set("inspector_open", False)


def _tabs(app: App) -> None:
    """All of them in one row, as wide as their names."""
    now, names = theme.palette(), list(TABS)
    with fonts.pushed(fonts.current().semibold, theme.CAPTION):
        widths = [imgui.calc_text_size(name).x for name in names]
        free = (available_width() - sum(widths)) / len(names)
        padding = max(min(free, theme.px(24)), theme.px(4))
        for index, (name, width) in enumerate(zip(names, widths, strict=True)):
            if index:
                imgui.same_line(0, 0)
            area = pressable(f"inspector.{name}", width + padding, theme.px(32))
            is_shown = name == app.inspector.tab
            ink = now.text if is_shown or area.hovered else now.text_muted
            text_in(area, name, ink)
            if is_shown:
                line = Area(area.x + padding / 4, area.bottom - 2, area.width - padding / 2, 2)
                fill(line, now.accent, 1)
            if area.clicked:
                app.inspector.tab = name


def _tab(app: App) -> None:
    inspector = app.inspector
    if inspector.session is None:
        pieces.note("As soon as a model is loaded, it can be looked into here.")
        return
    if not inspector.text.tokens and inspector.tab != TOKENS:
        _nothing(app)
        return
    if inspector.text.own is not None:
        _own(app)
    _progress(app)
    TABS[inspector.tab](app)


def _nothing(app: App) -> None:
    pieces.gap(theme.WIDE)
    pieces.note("There is no text yet. Say something in the conversation, or begin with this:")
    pieces.note(f"“{EXAMPLE}”")
    if button("Look at the example", name="inspector.example", kind="primary", icon=icons.EYE):
        app.inspector.text.show(EXAMPLE)


def _own(app: App) -> None:
    """The text is not the conversation."""
    if button("Back to the conversation", name="inspector.back", kind="link", icon=icons.UNDO):
        app.inspector.text.show(None)


def _progress(app: App) -> None:
    inspector = app.inspector
    problem = inspector.live.problem or _full(app)
    if problem:
        pieces.note(problem)
    if inspector.jobs.is_running(ENCODE):
        total = max(len(inspector.text.tokens), 1)
        pieces.waiting("Reading the text again", "inspector.progress", inspector.n_rows / total)


def _full(app: App) -> str:
    session = app.inspector.session
    capture = session.model.capture if session is not None else None
    return capture.full if capture is not None else ""


def _edge(app: App, area: Area) -> None:
    """The panel's left edge can be dragged."""
    width = theme.px(EDGE)
    imgui.set_next_window_pos((area.x - width / 2, area.y))
    imgui.set_next_window_size((width, area.height))
    flags = imgui.WindowFlags_.no_decoration | imgui.WindowFlags_.no_background
    imgui.push_style_var(imgui.StyleVar_.window_padding, (0, 0))
    imgui.push_style_var(imgui.StyleVar_.window_min_size, (1, 1))
    imgui.begin("##inspector.edge", None, flags | imgui.WindowFlags_.no_saved_settings)
    imgui.invisible_button("##edge", (width, area.height))
    marks.mark("inspector.edge")
    if imgui.is_item_hovered() or imgui.is_item_active():
        imgui.set_mouse_cursor(imgui.MouseCursor_.resize_ew)
    if imgui.is_item_active() and imgui.get_io().mouse_delta.x:
        wanted = (area.right - imgui.get_mouse_pos().x) / theme.current().scale
        app.set("inspector_width", round(min(max(wanted, LEAST), MOST)))
    imgui.end()
    imgui.pop_style_var(2)
