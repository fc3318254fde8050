"""pyglet's names for keys, mouse buttons and cursors, and imgui's for the same."""

from __future__ import annotations

import string

from imgui_bundle import imgui
from pyglet.window import BaseWindow, key, mouse

_NAMED = {
    "TAB": "tab",
    "BACKSPACE": "backspace",
    "RETURN": "enter",
    "ESCAPE": "escape",
    "INSERT": "insert",
    "DELETE": "delete",
    "SPACE": "space",
    "LEFT": "left_arrow",
    "RIGHT": "right_arrow",
    "UP": "up_arrow",
    "DOWN": "down_arrow",
    "PAGEUP": "page_up",
    "PAGEDOWN": "page_down",
    "HOME": "home",
    "END": "end",
    "MENU": "menu",
    "PAUSE": "pause",
    "GRAVE": "grave_accent",
    "MINUS": "minus",
    "EQUAL": "equal",
    "BRACKETLEFT": "left_bracket",
    "BRACKETRIGHT": "right_bracket",
    "BACKSLASH": "backslash",
    "SEMICOLON": "semicolon",
    "APOSTROPHE": "apostrophe",
    "COMMA": "comma",
    "PERIOD": "period",
    "SLASH": "slash",
    "NUM_ENTER": "keypad_enter",
    "NUM_DECIMAL": "keypad_decimal",
    "NUM_DIVIDE": "keypad_divide",
    "NUM_MULTIPLY": "keypad_multiply",
    "NUM_SUBTRACT": "keypad_subtract",
    "NUM_ADD": "keypad_add",
    "NUM_EQUAL": "keypad_equal",
    # Without NumLock the keypad moves the caret.
    "NUM_LEFT": "left_arrow",
    "NUM_RIGHT": "right_arrow",
    "NUM_UP": "up_arrow",
    "NUM_DOWN": "down_arrow",
    "NUM_PAGE_UP": "page_up",
    "NUM_PAGE_DOWN": "page_down",
    "NUM_HOME": "home",
    "NUM_END": "end",
    "NUM_INSERT": "insert",
    "NUM_DELETE": "delete",
    **{f"F{number}": f"f{number}" for number in range(1, 13)},
    **{letter: letter.lower() for letter in string.ascii_uppercase},
    **{f"_{digit}": f"_{digit}" for digit in string.digits},
    **{f"NUM_{digit}": f"keypad{digit}" for digit in string.digits},
}
KEYS = {getattr(key, name): getattr(imgui.Key, value) for name, value in _NAMED.items()}
# X11 has a key symbol of its own for Tab with Shift.
KEYS[0xFE20] = imgui.Key.tab

_MODIFIERS = {
    "CTRL": ("ctrl", imgui.Key.mod_ctrl),
    "SHIFT": ("shift", imgui.Key.mod_shift),
    "ALT": ("alt", imgui.Key.mod_alt),
    "WINDOWS": ("super", imgui.Key.mod_super),
    "COMMAND": ("super", imgui.Key.mod_super),
}
# Key symbol -> (the key on its side of the keyboard, the modifier it stands for).
MODIFIERS = {
    getattr(key, side + name): (getattr(imgui.Key, f"{hand}_{stem}"), modifier)
    for name, (stem, modifier) in _MODIFIERS.items()
    for side, hand in (("L", "left"), ("R", "right"))
    if hasattr(key, side + name)
}

BUTTONS = {mouse.LEFT: 0, mouse.RIGHT: 1, mouse.MIDDLE: 2}

CURSORS = {
    imgui.MouseCursor_.arrow: BaseWindow.CURSOR_DEFAULT,
    imgui.MouseCursor_.text_input: BaseWindow.CURSOR_TEXT,
    imgui.MouseCursor_.resize_all: BaseWindow.CURSOR_SIZE,
    imgui.MouseCursor_.resize_ns: BaseWindow.CURSOR_SIZE_UP_DOWN,
    imgui.MouseCursor_.resize_ew: BaseWindow.CURSOR_SIZE_LEFT_RIGHT,
    imgui.MouseCursor_.resize_nesw: BaseWindow.CURSOR_SIZE_DOWN_LEFT,
    imgui.MouseCursor_.resize_nwse: BaseWindow.CURSOR_SIZE_DOWN_RIGHT,
    imgui.MouseCursor_.hand: BaseWindow.CURSOR_HAND,
    imgui.MouseCursor_.not_allowed: BaseWindow.CURSOR_NO,
    imgui.MouseCursor_.wait: BaseWindow.CURSOR_WAIT,
    imgui.MouseCursor_.progress: BaseWindow.CURSOR_WAIT_ARROW,
}
