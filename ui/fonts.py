"""The fonts: shipped ones for Latin, Greek, Cyrillic, code, emoji and icons; the system's for more.

Dear ImGui draws a character with the first merged font that has it, in any size asked for.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imgui_bundle import imgui

from gpt2gl.errors import Gpt2glError
from gpt2gl.resources import font_path
from gpt2gl_ui import icons, theme
from gpt2gl_ui.system_fonts import SystemFont, system_fonts

EMOJI = "NotoEmoji-Regular"
# Drawn for characters that no font has: an empty square.
MISSING = 0x25A1


@dataclass(frozen=True)
class Fonts:
    """Each holds icons, emoji and the system's scripts as well."""

    body: imgui.ImFont
    semibold: imgui.ImFont
    mono: imgui.ImFont
    problems: tuple[str, ...] = ()
    """One line for each font that could not be loaded."""
    scripts: tuple[str, ...] = ()
    """What the system's fonts add, such as `Chinese`."""


_current: Fonts | None = None


def current() -> Fonts:
    """What `load` gave last. Raises Gpt2glError before the first."""
    if _current is None:
        raise Gpt2glError("the window's fonts are not loaded: call gpt2gl_ui.fonts.load first")
    return _current


def load(system: list[SystemFont] | None = None) -> Fonts:
    """Load all fonts into the current imgui context, once for each context.

    `system` replaces the fonts found on the system. A missing or broken file costs its characters
    only and is named in `problems`.
    """
    global _current
    extra = system_fonts() if system is None else system
    loader = _Loader(imgui.get_io().fonts)
    faces = ("Inter-Regular", "Inter-SemiBold", "JetBrainsMono-Regular")
    body, semibold, mono = (loader.family(face, extra) for face in faces)
    scripts = tuple(font.script for font in extra if font.path in loader.loaded)
    _current = Fonts(body, semibold, mono, tuple(dict.fromkeys(loader.problems)), scripts)
    imgui.get_io().font_default = body
    return _current


class _Pushed:
    """A class, because a generator would take several times as long."""

    def __init__(self, font: imgui.ImFont, size: float) -> None:
        self.font, self.size = font, size

    def __enter__(self) -> None:
        imgui.push_font(self.font, self.size)

    def __exit__(self, *_: object) -> None:
        imgui.pop_font()


def pushed(font: imgui.ImFont, size: float = theme.BODY) -> AbstractContextManager[None]:
    """Text inside is drawn in this font, `size` from the type scale of gpt2gl_ui.theme."""
    return _Pushed(font, size)


class _Loader:
    """Adds files to an atlas; a file that is used again shares its bytes."""

    def __init__(self, atlas: imgui.ImFontAtlas) -> None:
        self.atlas = atlas
        self.problems: list[str] = []
        self.loaded: dict[Path, tuple[Any, int]] = {}

    def family(self, face: str, extra: list[SystemFont]) -> imgui.ImFont:
        """A face with everything else merged in; imgui's own font when its file is missing."""
        font = self._shipped(face, merge=False) or self.atlas.add_font_default_vector()
        for name in (icons.FONT, EMOJI):
            self._shipped(name, merge=True)
        font.fallback_char = MISSING
        for found in {font.path: font for font in extra}.values():
            self._file(found, merge=True)
        return font

    def _shipped(self, name: str, merge: bool) -> imgui.ImFont | None:
        try:
            path = font_path(name)
        except Gpt2glError as error:
            self.problems.append(str(error))
            return None
        return self._file(SystemFont("", path), merge)

    def _file(self, font: SystemFont, merge: bool) -> imgui.ImFont | None:
        config = imgui.ImFontConfig()
        config.merge_mode, config.extra_size_scale = merge, font.size
        try:
            added = self._add(font.path, config)
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it cannot be read"
            self.problems.append(f"font {font.path} is left out: {reason}; reinstall it")
            return None
        if added is None:
            self.problems.append(f"font {font.path} is left out: not a font file; reinstall it")
        return added

    def _add(self, path: Path, config: imgui.ImFontConfig) -> imgui.ImFont | None:
        if path in self.loaded:
            config.font_data, config.font_data_size = self.loaded[path]
            config.font_data_owned_by_atlas = False
            return self.atlas.add_font(config)
        # imgui prints to stderr before it raises, so that a missing file is found out here.
        with path.open("rb"):
            pass
        added: imgui.ImFont | None = self.atlas.add_font_from_file_ttf(str(path), 0.0, config)
        if added is not None:
            source = self.atlas.sources[len(self.atlas.sources) - 1]
            self.loaded[path] = source.font_data, source.font_data_size
        return added
