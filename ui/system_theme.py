"""Does the desktop ask for a dark theme? Read from where each desktop keeps its answer.

No answer counts as dark.
"""

from __future__ import annotations

import configparser
import os
import plistlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_GSETTINGS = ("gsettings", "get", "org.gnome.desktop.interface", "color-scheme")
_WINDOWS_KEY = r"Software\Microsoft\Windows\CurrentVersion\Themes\Personalize"


def _output_of(command: Sequence[str]) -> str:
    """What a command prints; nothing when it is missing, fails, or takes over a second."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


@dataclass(frozen=True)
class Desktop:
    """Where to look; a test gives its own."""

    platform: str = sys.platform
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    home: Path = field(default_factory=Path.home)
    output_of: Callable[[Sequence[str]], str] = _output_of

    @property
    def settings(self) -> Path:
        return Path(self.environment.get("XDG_CONFIG_HOME") or self.home / ".config")


def prefers_dark(desktop: Desktop | None = None) -> bool:
    """The first answer that the desktop gives, or True."""
    asked = desktop or Desktop()
    probes = _PROBES.get(asked.platform, _LINUX_PROBES)
    answers = (probe(asked) for probe in probes)
    return next((answer for answer in answers if answer is not None), True)


def _gtk_theme(desktop: Desktop) -> bool | None:
    """GTK_THEME=Adwaita:dark, or a theme whose name says it."""
    name = desktop.environment.get("GTK_THEME")
    return name.lower().endswith("dark") if name else None


def _kde(desktop: Desktop) -> bool | None:
    name = _ini_value(desktop.settings / "kdeglobals", "General", "ColorScheme")
    return "dark" in name.lower() if name and _is_kde(desktop) else None


def _is_kde(desktop: Desktop) -> bool:
    return "KDE" in desktop.environment.get("XDG_CURRENT_DESKTOP", "").upper()


def _gnome(desktop: Desktop) -> bool | None:
    """The setting that the desktop portal hands out as org.freedesktop.appearance."""
    answer = desktop.output_of(_GSETTINGS).strip().strip("'")
    return {"prefer-dark": True, "prefer-light": False}.get(answer)


def _gtk_settings(desktop: Desktop) -> bool | None:
    for version in ("gtk-4.0", "gtk-3.0"):
        path = desktop.settings / version / "settings.ini"
        value = _ini_value(path, "Settings", "gtk-application-prefer-dark-theme")
        if value:
            return value.lower() in ("1", "true")
    return None


def _ini_value(path: Path, section: str, key: str) -> str:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
        return parser.get(section, key, fallback="")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return ""


def _macos(desktop: Desktop) -> bool | None:
    """AppleInterfaceStyle is absent in the light theme."""
    path = desktop.home / "Library" / "Preferences" / ".GlobalPreferences.plist"
    try:
        return bool(plistlib.loads(path.read_bytes()).get("AppleInterfaceStyle") == "Dark")
    except (OSError, plistlib.InvalidFileException, ValueError):
        return None


def _windows(desktop: Desktop) -> bool | None:
    """AppsUseLightTheme in the registry, `0x0` when apps are dark."""
    answer = desktop.output_of(("reg", "query", rf"HKCU\{_WINDOWS_KEY}", "/v", "AppsUseLightTheme"))
    return {"0x0": True, "0x1": False}.get((answer.split() or [""])[-1])


_LINUX_PROBES = (_gtk_theme, _kde, _gnome, _gtk_settings)
_PROBES: dict[str, tuple[Callable[[Desktop], bool | None], ...]] = {
    "darwin": (_macos,),
    "win32": (_windows,),
}
