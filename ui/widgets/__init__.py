"""The building blocks of every view. A `name` is imgui's identity of a widget and its mark."""

from __future__ import annotations

from gpt2gl_ui.widgets.buttons import button, icon_button, segmented, toggle
from gpt2gl_ui.widgets.containers import (
    MenuItem,
    card,
    confirm,
    empty_state,
    menu,
    modal,
    open_menu,
)
from gpt2gl_ui.widgets.core import (
    Area,
    available_width,
    elided,
    enabled_if,
    fill,
    outline,
    pressable,
    text_in,
    tooltip,
    wrapped,
)
from gpt2gl_ui.widgets.display import (
    badge,
    centred,
    key_hint,
    meter,
    muted,
    progress_bar,
    section_header,
    status_color,
    title,
)
from gpt2gl_ui.widgets.inputs import TextEdit, combo_row, slider, slider_row, text_field

__all__ = [
    "Area",
    "MenuItem",
    "TextEdit",
    "available_width",
    "badge",
    "button",
    "card",
    "centred",
    "combo_row",
    "confirm",
    "elided",
    "empty_state",
    "enabled_if",
    "fill",
    "icon_button",
    "key_hint",
    "menu",
    "meter",
    "modal",
    "muted",
    "open_menu",
    "outline",
    "pressable",
    "progress_bar",
    "section_header",
    "segmented",
    "slider",
    "slider_row",
    "status_color",
    "text_field",
    "text_in",
    "title",
    "toggle",
    "tooltip",
    "wrapped",
]
