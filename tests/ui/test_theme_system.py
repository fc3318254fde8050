"""Does the desktop want dark? Each place where it is asked, with answers of every kind."""

from __future__ import annotations

import plistlib
from collections.abc import Callable
from pathlib import Path

import pytest

from gpt2gl_ui.system_theme import Desktop, prefers_dark


def answering(text: str) -> Callable[[object], str]:
    return lambda command: text


def desktop(home: Path, platform: str = "linux", output: str = "", **environment: str) -> Desktop:
    return Desktop(platform, environment, home, answering(output))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


def test_no_answer_is_dark(tmp_path: Path) -> None:
    assert prefers_dark(desktop(tmp_path))


@pytest.mark.parametrize(
    ("name", "dark"), [("Adwaita:dark", True), ("Arc-Dark", True), ("Adwaita", False)]
)
def test_gtk_theme(tmp_path: Path, name: str, dark: bool) -> None:
    assert prefers_dark(desktop(tmp_path, GTK_THEME=name, output="'prefer-dark'")) == dark


@pytest.mark.parametrize(
    ("output", "dark"),
    [("'prefer-dark'\n", True), ("'prefer-light'\n", False), ("'default'\n", True)],
)
def test_gnome(tmp_path: Path, output: str, dark: bool) -> None:
    assert prefers_dark(desktop(tmp_path, output=output)) == dark


def test_gnomes_default_leaves_it_to_gtk(tmp_path: Path) -> None:
    text = "[Settings]\ngtk-application-prefer-dark-theme=0\n"
    write(tmp_path / ".config" / "gtk-3.0" / "settings.ini", text)
    assert not prefers_dark(desktop(tmp_path, output="'default'"))


@pytest.mark.parametrize(("scheme", "dark"), [("BreezeDark", True), ("BreezeLight", False)])
def test_kde(tmp_path: Path, scheme: str, dark: bool) -> None:
    settings = tmp_path / "settings"
    write(settings / "kdeglobals", f"[General]\nColorScheme={scheme}\n")
    here = desktop(tmp_path, XDG_CURRENT_DESKTOP="KDE", XDG_CONFIG_HOME=str(settings))
    assert prefers_dark(here) == dark


def test_kdes_file_is_nothing_to_other_desktops(tmp_path: Path) -> None:
    write(tmp_path / ".config" / "kdeglobals", "[General]\nColorScheme=BreezeLight\n")
    assert prefers_dark(desktop(tmp_path, XDG_CURRENT_DESKTOP="GNOME"))


def test_damaged_settings_are_no_answer(tmp_path: Path) -> None:
    write(tmp_path / ".config" / "gtk-4.0" / "settings.ini", "what is this\n[")
    write(tmp_path / "Library" / "Preferences" / ".GlobalPreferences.plist", "not a plist")
    assert prefers_dark(desktop(tmp_path))
    assert prefers_dark(desktop(tmp_path, "darwin"))


@pytest.mark.parametrize(
    ("content", "dark"), [({"AppleInterfaceStyle": "Dark"}, True), ({"Other": 1}, False)]
)
def test_macos(tmp_path: Path, content: dict[str, object], dark: bool) -> None:
    path = tmp_path / "Library" / "Preferences" / ".GlobalPreferences.plist"
    path.parent.mkdir(parents=True)
    path.write_bytes(plistlib.dumps(content, fmt=plistlib.FMT_BINARY))
    assert prefers_dark(desktop(tmp_path, "darwin")) == dark


@pytest.mark.parametrize(("value", "dark"), [("0x0", True), ("0x1", False)])
def test_windows(tmp_path: Path, value: str, dark: bool) -> None:
    output = f"\r\nHKEY_CURRENT_USER\\...\r\n    AppsUseLightTheme    REG_DWORD    {value}\r\n\r\n"
    assert prefers_dark(desktop(tmp_path, "win32", output)) == dark


def test_a_missing_program_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert prefers_dark(Desktop("linux", {}, tmp_path))
