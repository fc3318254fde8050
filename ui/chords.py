"""Shortcuts as people write them, such as `Ctrl+Shift+N`, and as imgui knows them.

On macOS imgui itself takes Command for Ctrl, so that only what is shown differs.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from functools import lru_cache

import pyglet
from imgui_bundle import imgui

MAC = pyglet.compat_platform == "darwin"

_MODIFIERS = {
    "Ctrl": imgui.Key.mod_ctrl,
    "Shift": imgui.Key.mod_shift,
    "Alt": imgui.Key.mod_alt,
}
_KEYS: Mapping[str, imgui.Key] = {
    "Enter": imgui.Key.enter,
    "Esc": imgui.Key.escape,
    "PageUp": imgui.Key.page_up,
    "PageDown": imgui.Key.page_down,
    ",": imgui.Key.comma,
    "=": imgui.Key.equal,
    "-": imgui.Key.minus,
    "KeypadAdd": imgui.Key.keypad_add,
    "KeypadSubtract": imgui.Key.keypad_subtract,
    **{f"F{number}": getattr(imgui.Key, f"f{number}") for number in range(1, 13)},
    **{letter: getattr(imgui.Key, letter.lower()) for letter in string.ascii_uppercase},
    **{digit: getattr(imgui.Key, f"_{digit}") for digit in string.digits},
}


def split(chord: str) -> list[str]:
    """The keys of a chord, modifiers first."""
    return re.split(r"(?<=.)\+(?!$)", chord)


def key_of(chord: str) -> imgui.Key:
    """The key of a chord that is no modifier."""
    return _KEYS[split(chord)[-1]]


@lru_cache(maxsize=256)
def code(chord: str) -> int:
    """The chord as imgui's number of modifiers and a key; KeyError for an unknown key."""
    *held, _ = split(chord)
    bits = int(key_of(chord))
    for each in held:
        bits |= int(_MODIFIERS[each])
    return bits


def shown(chord: str, mac: bool = MAC) -> str:
    """The chord as the keyboard of this system has it."""
    if not mac:
        return chord
    names = {"Ctrl": "Cmd", "Alt": "Option", "Enter": "Return"}
    return "+".join(names.get(each, each) for each in split(chord))


def pressed(chord: str) -> bool:
    """Whether exactly these keys went down in this frame."""
    return imgui.is_key_chord_pressed(code(chord))


def claim(chord: str) -> None:
    """Keep the chord's key from everything else in this frame, e.g. from a field of text."""
    owner = imgui.internal.im_hash_str("gpt2gl shortcuts")
    lock = imgui.internal.InputFlagsPrivate_.lock_this_frame
    imgui.internal.set_key_owner(key_of(chord), owner, int(lock))
