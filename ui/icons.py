"""The icons: characters of the shipped icon font, which every text font has merged in.

They are drawn like text, `f"{icons.SEND} Send"`, and as wide as the text is high. The glyphs are
Lucide's (https://lucide.dev), at code points of our own: the text fonts use some of Lucide's.
After adding a row, rebuild the font with tools/icon_font.py.
"""

from __future__ import annotations

FONT = "LucideIcons"
FIRST_CODE_POINT = 0xF0000
LUCIDE_NAMES: list[str] = []
"""The glyph of each icon in Lucide's font, in the order of the code points."""


def _icon(lucide_name: str) -> str:
    LUCIDE_NAMES.append(lucide_name)
    return chr(FIRST_CODE_POINT + len(LUCIDE_NAMES) - 1)


SEND = _icon("arrow-up")
STOP = _icon("square")
NEW = _icon("edit")
SEARCH = _icon("search")
PIN = _icon("pin")
UNPIN = _icon("pin-off")
TRASH = _icon("trash-2")
EDIT = _icon("pencil")
COPY = _icon("copy")
REGENERATE = _icon("refresh-cw")
CONTINUE = _icon("step-forward")
BRANCH = _icon("git-branch")
CHEVRON_LEFT = _icon("chevron-left")
CHEVRON_RIGHT = _icon("chevron-right")
CHEVRON_UP = _icon("chevron-up")
CHEVRON_DOWN = _icon("chevron-down")
SETTINGS = _icon("settings-2")
CHIP = _icon("cpu")
DOWNLOAD = _icon("download")
PAUSE = _icon("pause")
PLAY = _icon("play")
CLOSE = _icon("x")
CHECK = _icon("check")
WARNING = _icon("alert-triangle")
ERROR = _icon("alert-circle")
INFO = _icon("info")
HELP = _icon("circle-help")
EYE = _icon("eye")
LOCK = _icon("lock")
KEYBOARD = _icon("keyboard")
UNDO = _icon("undo-2")
REDO = _icon("redo-2")
EXPORT = _icon("file-output")
IMPORT = _icon("file-input")
FOLDER = _icon("folder-open")
FILE = _icon("file-text")
SUN = _icon("sun")
MOON = _icon("moon")
SYSTEM = _icon("monitor")
MENU = _icon("menu")
SIDEBAR = _icon("panel-left")
PANEL = _icon("panel-right")
ARROW_DOWN = _icon("arrow-down")
MORE = _icon("ellipsis")
PLUS = _icon("plus")
MINUS = _icon("minus")
CHAT = _icon("message-square")
NOTEBOOK = _icon("notebook-pen")
RESET = _icon("rotate-ccw")
GAUGE = _icon("gauge")
LAYERS = _icon("layers-3")
TRIANGLE = _icon("triangle")
COMMAND = _icon("command")
SLIDERS = _icon("sliders-horizontal")
CLOCK = _icon("clock-4")
ENTER = _icon("corner-down-left")
LINK = _icon("external-link")
DICE = _icon("dices")
DATABASE = _icon("hard-drive")
SPARK = _icon("sparkles")
