"""Draws every widget of the window into PNG files, in both themes and at two scales: to look at.

    python tools/widget_gallery.py FOLDER
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from gpt2gl_ui import bootstrap

bootstrap.prepare(headless=True)

from imgui_bundle import imgui  # noqa: E402
from pyglet import gl  # noqa: E402

from gpt2gl_ui import fonts, icons, theme, widgets  # noqa: E402
from gpt2gl_ui.backend import Backend  # noqa: E402
from gpt2gl_ui.palette import PALETTES  # noqa: E402
from gpt2gl_ui.toasts import Toasts  # noqa: E402
from gpt2gl_ui.window import Window, open_window  # noqa: E402

SIZE = (1100, 820)
SCALES = (1.0, 2.0)
# The first frame asks for glyphs and measures; menus and dialogues open after it.
FRAMES = 12
WORLD = "Größe, naïve, Ελληνικά, Привет, 日本語, 한국어, 中文, ไทย, हिन्दी, עברית, 😀 🚀 ♜ →"


def controls() -> None:
    """Buttons and inputs at the left, things to read at the right."""
    column = (widgets.available_width() - theme.px(theme.WIDE)) / 2
    imgui.begin_child("left", (column, 0), imgui.ChildFlags_.nav_flattened)
    buttons()
    inputs()
    imgui.end_child()
    imgui.same_line(0, theme.px(theme.WIDE))
    imgui.begin_child("right", (column, 0), imgui.ChildFlags_.nav_flattened)
    reading()
    imgui.end_child()


def buttons() -> None:
    widgets.title("Buttons", theme.DISPLAY)
    for kind in ("primary", "secondary", "ghost", "danger"):
        widgets.button(kind.title(), name=kind, kind=kind, icon=icons.SEND)
        imgui.same_line()
    widgets.button("Disabled", name="off", kind="primary", enabled=False)
    for name in ("SEND", "STOP", "NEW", "SEARCH", "PIN", "TRASH", "EDIT", "COPY", "SETTINGS"):
        widgets.icon_button(getattr(icons, name), name=name, tooltip=name)
        imgui.same_line()
    widgets.icon_button(icons.EYE, name="eye", tooltip="Inspector", selected=True)
    imgui.same_line()
    widgets.icon_button(icons.SEND, name="send", tooltip="Send", kind="primary")
    widgets.segmented(("Chat", "Notebook"), "Chat", name="mode", icons=(icons.CHAT, icons.NOTEBOOK))


def inputs() -> None:
    widgets.section_header("SAMPLING")
    told = "How freely the model chooses: low is careful, high is wild."
    widgets.slider_row("Temperature", 0.8, 0, 2, name="temperature", help=told, default=0.8)
    widgets.slider_row("Top p", 0.6, 0, 1, name="top_p", help=told, default=0.95)
    widgets.combo_row("Precision", ("fp32", "int8"), "int8", name="precision")
    widgets.text_field("", name="search", placeholder="Search chats", icon=icons.SEARCH)
    widgets.text_field("A title of one's own", name="title", focus=True)
    widgets.toggle("Keep this chat", True, name="keep")
    widgets.toggle("Private", False, name="private")


def reading() -> None:
    widgets.title("The quick brown fox", theme.DISPLAY)
    widgets.title("Heading of a dialogue")
    widgets.muted("Secondary text, which explains something at more length than fits on one line.")
    imgui.text_wrapped(WORLD)
    with fonts.pushed(fonts.current().semibold):
        imgui.text_wrapped(WORLD)
    with fonts.pushed(fonts.current().mono):
        imgui.text_wrapped("def answer(n: int) -> str: return f'{n} != 0'  # 日本 🚀")
    for kind in ("neutral", "accent", "success", "warning", "danger"):
        widgets.badge(kind, kind)
        imgui.same_line()
    widgets.badge("Private", icon=icons.LOCK)
    widgets.key_hint("Ctrl+Shift+N")
    with widgets.card("card"):
        widgets.title("storyteller")
        widgets.progress_bar(0.42, name="fetch", label="model.safetensors, 210 of 498 MB")
        widgets.progress_bar(None, name="load", label="Loading")
        widgets.meter(612, 1024, name="context", label="Context")
        widgets.meter(1000, 1024, name="full", label="Context")
    imgui.text_wrapped("  ".join(chr(icons.FIRST_CODE_POINT + i) for i in range(60)))


def invitation() -> None:
    prompts = [("one", "Once upon a time there was a small triangle"), ("two", "Tell me a story")]
    widgets.empty_state(
        icons.TRIANGLE,
        "What shall we write?",
        "GPT-2 runs in the fragment shaders of this very window.",
        [*prompts, ("three", "The recipe calls for two cups of")],
        name="empty",
    )


def dialogue() -> None:
    widgets.confirm(
        "“A small triangle” and its 12 messages will be gone. This cannot be undone.",
        name="delete",
        heading="Delete this chat?",
        action="Delete",
    )


def popup() -> None:
    imgui.set_next_window_pos((theme.px(90), theme.px(90)))
    widgets.open_menu("menu")
    item = widgets.MenuItem
    items = [
        item("rename", "Rename", icons.EDIT, "F2"),
        item("pin", "Pin", icons.PIN, enabled=False),
        None,
        item("delete", "Delete chat", icons.TRASH, "Del", danger=True),
    ]
    widgets.menu(items, name="menu")


def notices(toasts: Toasts) -> None:
    if not toasts.visible():
        toasts.show("Chat deleted", action="Undo")
        toasts.show("The model is not installed", kind="danger", seconds=9)
        toasts.show("Exported to story.md", kind="success")
    toasts.draw()


def scenes() -> dict[str, Callable[[], None]]:
    toasts = Toasts()

    def overlays() -> None:
        popup()
        notices(toasts)

    return {"controls": controls, "empty": invitation, "dialogue": dialogue, "overlays": overlays}


def draw(backend: Backend, scene: Callable[[], None]) -> None:
    backend.new_frame()
    view = imgui.get_main_viewport()
    imgui.set_next_window_pos(view.pos)
    imgui.set_next_window_size(view.size)
    imgui.begin("gallery", None, imgui.WindowFlags_.no_decoration | imgui.WindowFlags_.no_move)
    scene()
    imgui.end()
    backend.render()


def picture(window: Window) -> Image.Image:
    """What was drawn last."""
    width, height = window.get_framebuffer_size()
    pixels = (gl.GLubyte * (width * height * 4))()
    gl.glReadPixels(0, 0, width, height, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, pixels)
    image = Image.frombytes("RGBA", (width, height), bytes(pixels))
    return image.transpose(Image.Transpose.FLIP_TOP_BOTTOM).convert("RGB")


def shoot(folder: Path, palette: str, scale: float) -> None:
    size = (round(SIZE[0] * scale), round(SIZE[1] * scale))
    window = open_window("gallery", size, (100, 100))
    window.set_size(*size)
    frames = itertools.count()
    backend = Backend(window, clock=lambda: next(frames) / 30)
    for problem in fonts.load().problems:
        print(problem)
    theme.apply(PALETTES[palette], scale)
    for name, scene in scenes().items():
        for _ in range(FRAMES):
            draw(backend, scene)
        picture(window).save(folder / f"{name}-{palette}-{scale:g}x.png")
    backend.close()
    window.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for palette, scale in itertools.product(PALETTES, SCALES):
        shoot(folder, palette, scale)


if __name__ == "__main__":
    main()
