"""What pyglet's X11 window gets wrong, put right by overriding its private methods.

Each mixin names what it replaces or calls; where a pyglet lacks one of those names, that mixin is
left out, with one line in the log, and pyglet's own behaviour stays.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

log = logging.getLogger(__name__)


def mend(base: type[Any]) -> type[Any]:
    """A subclass of pyglet's X11 window class with all the mixins that fit it."""
    from gpt2gl_ui.x11.clipboard import Clipboard
    from gpt2gl_ui.x11.desktop import Desktop
    from gpt2gl_ui.x11.drop import Drop
    from gpt2gl_ui.x11.text import Text

    mixins = [each for each in (Text, Clipboard, Drop, Desktop) if fits(each, base)]
    metaclass: Any = type(base)
    mended: type[Any] = metaclass("X11Window", (*mixins, base), {})
    return mended


def fits(mixin: type[Any], base: type[Any]) -> bool:
    """Whether `base` has every name in `mixin.RELIES_ON`; logs the first that it lacks."""
    source = vars(sys.modules[base.__module__])
    for name in mixin.RELIES_ON:
        if not hasattr(base, name) and name not in source:
            log.warning("pyglet has no %s; its %s stays as it is", name, mixin.__name__.lower())
            return False
    return True

