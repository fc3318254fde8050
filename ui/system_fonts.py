"""Which of the system's fonts can draw the scripts that the shipped fonts lack."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SystemFont:
    script: str
    path: Path
    size: float = 1.0
    """Enlarges the font: imgui fits a font's line to the size, and some have generous lines."""


_Candidate = tuple[str, float]


def _candidates(size: float, *files: str) -> tuple[_Candidate, ...]:
    return tuple((file, size) for file in files)


_CJK = (
    *_candidates(1.2, "NotoSansCJK-Regular.ttc", "NotoSansCJK-VF.ttc", "NotoSansCJK-VF.otf.ttc"),
    *_candidates(1.2, "SourceHanSans-Regular.ttc", "SourceHanSans.ttc"),
)
# Script -> file names with a size, the best first, of Linux distributions, macOS and Windows.
_SCRIPTS: dict[str, tuple[_Candidate, ...]] = {
    "Chinese": (
        *_CJK,
        *_candidates(1.2, "NotoSansSC-Regular.otf", "NotoSansCJKsc-Regular.otf", "PingFang.ttc"),
        *_candidates(1.1, "msyh.ttc", "Hiragino Sans GB.ttc", "STHeiti Light.ttc", "simsun.ttc"),
        *_candidates(1.1, "wqy-microhei.ttc", "wqy-zenhei.ttc", "DroidSansFallbackFull.ttf"),
        *_candidates(1.1, "DroidSansFallback.ttf"),
    ),
    "Japanese": (
        *_CJK,
        *_candidates(1.2, "NotoSansJP-Regular.otf", "NotoSansCJKjp-Regular.otf"),
        *_candidates(1.1, "YuGothM.ttc", "meiryo.ttc", "ヒラギノ角ゴシック W3.ttc", "msgothic.ttc"),
        *_candidates(1.0, "ipag.ttf", "ipagp.ttf", "TakaoPGothic.ttf", "VL-Gothic-Regular.ttf"),
    ),
    "Korean": (
        *_CJK,
        *_candidates(1.2, "NotoSansKR-Regular.otf", "NotoSansCJKkr-Regular.otf"),
        *_candidates(1.1, "malgun.ttf", "AppleSDGothicNeo.ttc", "NanumGothic.ttf", "gulim.ttc"),
    ),
    "Arabic": (
        *_candidates(1.1, "NotoSansArabic-Regular.ttf", "NotoNaskhArabic-Regular.ttf"),
        *_candidates(1.0, "segoeui.ttf", "GeezaPro.ttc", "DejaVuSans.ttf"),
    ),
    "Hebrew": (
        *_candidates(1.1, "NotoSansHebrew-Regular.ttf", "segoeui.ttf", "ArialHB.ttc"),
        *_candidates(1.0, "DejaVuSans.ttf"),
    ),
    "Devanagari": (
        *_candidates(1.1, "NotoSansDevanagari-Regular.ttf", "Nirmala.ttc", "Nirmala.ttf"),
        *_candidates(1.0, "Kohinoor.ttc", "Lohit-Devanagari.ttf"),
    ),
    "Thai": (
        *_candidates(1.1, "NotoSansThai-Regular.ttf", "LeelawUI.ttf", "Thonburi.ttc"),
        *_candidates(1.1, "Loma.ttf", "Garuda.ttf"),
    ),
    "Symbols": (
        *_candidates(1.0, "NotoSansSymbols2-Regular.ttf", "seguisym.ttf", "Apple Symbols.ttf"),
        *_candidates(1.0, "DejaVuSans.ttf"),
    ),
}


def font_folders() -> list[Path]:
    """Where this system and this user keep fonts."""
    home = Path.home()
    if sys.platform == "win32":
        windows = Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts"
        return [windows, home / "AppData/Local/Microsoft/Windows/Fonts"]
    if sys.platform == "darwin":
        system = Path("/System/Library/Fonts")
        return [system, Path("/Library/Fonts"), home / "Library/Fonts"]
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), data / "fonts"]


def system_fonts(folders: Iterable[Path] | None = None) -> list[SystemFont]:
    """One font for each script that the folders, this system's unless given, have one for.

    A font that serves several scripts is listed for each of them.
    """
    files = _files(font_folders() if folders is None else folders)
    found = []
    for script, candidates in _SCRIPTS.items():
        best = next(((file, size) for file, size in candidates if file in files), None)
        if best is not None:
            found.append(SystemFont(script, files[best[0]], best[1]))
    return found


def _files(folders: Iterable[Path]) -> dict[str, Path]:
    """File name -> path of all files below the folders; the first folder wins."""
    files: dict[str, Path] = {}
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                files.setdefault(name, Path(place) / name)
    return files
