"""The fonts: licences, coverage, sizes, and what happens when some are missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from imgui_bundle import imgui

from gpt2gl import resources
from gpt2gl.errors import Gpt2glError
from gpt2gl_ui import fonts, icons, theme
from gpt2gl_ui.system_fonts import SystemFont, system_fonts
from tests.source_tree import ROOT
from tests.ui.imgui_frames import frames

FOLDER = ROOT / "assets" / "fonts"
SHIPPED = sorted(FOLDER.glob("*.ttf"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_font_has_its_licence(path: Path) -> None:
    family = path.stem.split("-")[0]
    licences = list(FOLDER.glob(f"{family}-*.txt"))
    assert len(licences) == 1
    assert "Copyright" in licences[0].read_text(encoding="utf-8")


def test_every_icon_has_its_glyph() -> None:
    font = TTFont(resources.font_path(icons.FONT))
    glyphs = font.getBestCmap()
    names = [glyphs.get(icons.FIRST_CODE_POINT + i) for i in range(len(icons.LUCIDE_NAMES))]
    assert names == icons.LUCIDE_NAMES
    assert all(font["glyf"][name].numberOfContours > 0 for name in names)


def test_no_text_font_has_the_icons_code_points() -> None:
    codes = {icons.FIRST_CODE_POINT + index for index in range(len(icons.LUCIDE_NAMES))}
    others = [path for path in SHIPPED if path.stem != icons.FONT]
    assert not [path.stem for path in others if codes & TTFont(path).getBestCmap().keys()]


def test_all_faces_draw_text_icons_and_emoji() -> None:
    with frames():
        loaded = fonts.current()
        missing = [
            (face, each)
            for face in ("body", "semibold", "mono")
            for each in ("A", "é", "Ж", "λ", "…", "😀", icons.SEND)
            if not getattr(loaded, face).is_glyph_in_font(ord(each))
        ]
        assert not missing
        assert loaded.problems == ()


def test_an_icon_is_as_wide_as_the_line_is_high() -> None:
    with frames() as run:
        sizes: list[imgui.ImVec2] = []

        def view() -> None:
            with fonts.pushed(fonts.current().semibold, theme.DISPLAY):
                sizes.append(imgui.calc_text_size(icons.SEND))

        run.run(view)
    assert sizes[0].x == pytest.approx(sizes[0].y, abs=2)


def test_a_missing_shipped_font_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Path:
        if name == "Inter-SemiBold":
            raise Gpt2glError("no font named 'Inter-SemiBold': reinstall gpt2gl")
        return resources.font_path(name)

    with frames() as run:
        monkeypatch.setattr(fonts, "font_path", absent)
        loaded = fonts.load(system=[])
        assert loaded.problems == ("no font named 'Inter-SemiBold': reinstall gpt2gl",)
        assert loaded.semibold.is_glyph_in_font(ord("A"))
        run.run(lambda: imgui.text("still here"))


def test_missing_and_broken_system_fonts_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"junk" * 100)
    found = [SystemFont("Thai", broken), SystemFont("Chinese", tmp_path / "absent.ttf")]
    with frames() as run:
        loaded = fonts.load(found)
        run.run(lambda: imgui.text("กขค 中文"))
    assert len(loaded.problems) == 2
    assert all("\n" not in problem for problem in loaded.problems)
    assert str(broken) in loaded.problems[0]
    assert "No such file" in loaded.problems[1]
    assert loaded.scripts == ()


def test_a_system_font_adds_its_script(tmp_path: Path) -> None:
    """A font with one letter that no shipped font has, made here."""
    source = TTFont(resources.font_path("JetBrainsMono-Regular"))
    for table in source["cmap"].tables:
        table.cmap = {0x0E01: "A"} if table.isUnicode() else {}
    path = tmp_path / "NotoSansThai-Regular.ttf"
    source.save(path)
    with frames():
        assert not fonts.current().body.is_glyph_in_font(0x0E01)
        loaded = fonts.load(system_fonts([tmp_path]))
        assert loaded.scripts == ("Thai",)
        assert loaded.body.is_glyph_in_font(0x0E01)
        assert loaded.mono.is_glyph_in_font(0x0E01)


def test_system_fonts_are_found_by_name_in_any_folder(tmp_path: Path) -> None:
    for name in ("a/deep/NotoSansCJK-Regular.ttc", "msyh.ttc", "b/Loma.ttf"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = {font.script: font.path.name for font in system_fonts([tmp_path, tmp_path / "none"])}
    assert found == {
        "Chinese": "NotoSansCJK-Regular.ttc",
        "Japanese": "NotoSansCJK-Regular.ttc",
        "Korean": "NotoSansCJK-Regular.ttc",
        "Thai": "Loma.ttf",
    }


def test_current_before_load_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_current", None)
    with pytest.raises(Gpt2glError, match="fonts are not loaded"):
        fonts.current()


def test_app_icon_in_all_sizes() -> None:
    from PIL import Image

    for size in (16, 24, 32, 48, 64, 128, 256, 512):
        with Image.open(ROOT / "assets" / f"icon-{size}.png") as image:
            assert image.size == (size, size)
            assert image.getpixel((0, 0))[3] < 255
            assert image.getpixel((size // 2, size // 2))[3] == 255
