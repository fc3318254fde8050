"""The window without a display: pixels, input, clipboard, sizes."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui
from pyglet import gl
from pyglet.window import key

from gpt2gl_ui.window import open_window
from tests.ui.demo import QUADRANTS
from tests.ui.driver import Driver


def test_background_and_widgets_are_drawn(driver: Driver) -> None:
    assert driver.pixel(600, 460) == (26, 51, 77)
    assert len(driver.image().crop((0, 0, 400, 200)).getcolors() or []) > 10


def test_image_of_a_gl_texture(driver: Driver) -> None:
    x, y, width, height = driver.hook.marks["image"]
    corners = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)]
    seen = tuple(driver.pixel(x + width * a, y + height * b) for a, b in corners)
    assert seen == QUADRANTS


def test_click(demo: Any, driver: Driver) -> None:
    driver.click("press")
    driver.click("press", button="right")
    assert demo.clicks == 1


def test_press_and_release_between_two_frames_is_a_click(demo: Any, driver: Driver) -> None:
    driver.hover("press")
    for event in ("on_mouse_press", "on_mouse_release"):
        driver.window.dispatch_event(event, *driver._place(), 1, 0)
    driver.settle()
    assert demo.clicks == 1


@pytest.mark.parametrize("text", ["plain", "héllo wörld", "日本語のテキスト", "🎉👍🏽", "a" * 500])
def test_text_arrives_whole(demo: Any, driver: Driver, text: str) -> None:
    driver.click("text")
    driver.type(text)
    assert demo.text == text


def test_control_characters_are_no_text(demo: Any, driver: Driver) -> None:
    driver.click("text")
    driver.window.dispatch_event("on_text", "a\r\x08\x7fb\x00")
    driver.settle()
    assert demo.text == "ab"


def test_enter_sends(demo: Any, driver: Driver) -> None:
    driver.click("text")
    driver.type("one\n")
    assert (demo.sent, demo.text) == (["one"], "")


@pytest.mark.parametrize("modifier", [key.LSHIFT, key.LCTRL])
def test_fast_modifier_is_not_lost(demo: Any, driver: Driver, modifier: int) -> None:
    """Shift and Enter go down and up within one frame."""
    driver.click("text")
    driver.type("one")
    for event, symbol in (
        ("on_key_press", modifier),
        ("on_key_press", key.RETURN),
        ("on_key_release", modifier),
        ("on_key_release", key.RETURN),
    ):
        driver.window.dispatch_event(event, symbol, 0)
    driver.settle()
    driver.type("two")
    assert (demo.sent, demo.text) == ([], "one\ntwo")


def test_editing_keys(demo: Any, driver: Driver) -> None:
    driver.click("text")
    driver.type("hello world")
    driver.key("ctrl+backspace")
    assert demo.text == "hello "
    driver.key("ctrl+z")
    assert demo.text == "hello world"
    driver.key("ctrl+a")
    driver.type("x")
    driver.key("home")
    driver.type("y")
    assert demo.text == "yx"


def test_held_key_repeats_and_stops_when_focus_is_lost(demo: Any, driver: Driver) -> None:
    driver.click("text")
    driver.type("abcdefghij" * 3)
    driver.window.dispatch_event("on_key_press", key.BACKSPACE, 0)
    assert driver.backend.wants_frame
    driver.frame(60)
    left = len(demo.text)
    assert left < 25
    driver.window.dispatch_event("on_deactivate")
    driver.frame(2)
    left = len(demo.text)
    driver.frame(60)
    assert len(demo.text) == left
    assert not driver.backend.wants_frame


def test_clipboard(demo: Any, driver: Driver) -> None:
    text = "héllo 日本 🎉 end"
    driver.click("text")
    driver.type(text)
    for chord in ("ctrl+a", "ctrl+x"):
        driver.key(chord)
    assert (demo.text, driver.window.get_clipboard_text()) == ("", text)
    driver.key("ctrl+v")
    driver.key("ctrl+v")
    assert demo.text == text * 2


def test_wheel_moves_over_several_frames_and_as_far_as_one_step(demo: Any, driver: Driver) -> None:
    driver.hover("list")
    driver.window.dispatch_event("on_mouse_scroll", *driver._place(), 0, -2)
    places = []
    while driver.backend.wants_frame:
        driver.frame()
        places.append(demo.scrolled)
    driver.frame(2)
    assert len(set(places)) > 4
    assert demo.scrolled == pytest.approx(2 * 5 * imgui.get_font_size(), abs=30)


def test_pointer_leaves(driver: Driver) -> None:
    driver.hover("press")
    driver.window.dispatch_event("on_mouse_leave", 700, 10)
    driver.settle()
    assert not imgui.is_mouse_pos_valid()


def test_tooltip_appears_by_the_frames_that_are_asked_for(driver: Driver) -> None:
    driver.hover("press")
    before = driver.image()
    for _ in range(100):
        driver.clock.advance(1 / 60)
        driver.loop.step()
    assert driver.image().tobytes() != before.tobytes()


def test_time_is_real_time(driver: Driver) -> None:
    driver.frame()
    assert driver.backend.io.delta_time == pytest.approx(1 / 60)
    driver.clock.advance(100)
    driver.frame()
    assert driver.backend.io.delta_time == 0.5


def test_cursor_follows_imgui(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str | None] = []
    monkeypatch.setattr(driver.window, "get_system_mouse_cursor", names.append)
    driver.hover("text")
    driver.hover("press")
    assert names == ["text", None]


def test_resize(driver: Driver) -> None:
    driver.resize(900, 300)
    assert driver.image().size == (900, 300)
    assert driver.pixel(890, 290) == (26, 51, 77)
    driver.click("press")


def test_drop(demo: Any, driver: Driver, tmp_path: Path) -> None:
    demo.window.files_dropped = lambda paths, x, y: dropped.append((paths, x, y))
    dropped: list[Any] = []
    driver.move(30, 40)
    driver.drop(tmp_path)
    assert dropped == [([tmp_path], 30, 40)]


def test_state_that_the_engine_leaves_does_no_harm(driver: Driver) -> None:
    driver.move(630, 470)
    driver.frame(3)
    expected = driver.image().tobytes()
    undo = dirty_state()
    driver.frame()
    undo()
    assert driver.image().tobytes() == expected
    assert gl.glGetError() == gl.GL_NO_ERROR


def test_engine_and_window_take_turns(driver: Driver) -> None:
    from gpt2gl.gl.context import adopt_current
    from gpt2gl.gl.device import Device

    driver.move(630, 470)
    driver.frame(3)
    expected = driver.image().tobytes()
    with Device(adopt_current()) as device:
        for end in (device.end, lambda: None):
            device.begin()
            end()
            driver.frame()
            assert driver.image().tobytes() == expected
    assert gl.glGetError() == gl.GL_NO_ERROR


def test_font_textures_follow_new_sizes_and_everything_is_freed(demo: Any, driver: Driver) -> None:
    imgui.get_style().font_scale_main = 2.5
    driver.frame(3)
    textures = [each.tex_id for each in imgui.get_platform_io().textures]
    assert all(textures)
    objects = demo.backend.renderer._objects
    demo.backend.renderer.close()
    assert not any(gl.glIsTexture(each) for each in textures)
    assert not gl.glIsProgram(objects.program)
    assert not gl.glIsBuffer(objects.vertices)
    demo.backend.renderer.rebuild()


def test_renderer_is_rebuilt_after_its_objects_are_gone(demo: Any, driver: Driver) -> None:
    driver.move(630, 470)
    driver.frame(3)
    expected = driver.image().tobytes()
    demo.backend.renderer.close()
    demo.backend.renderer.rebuild()
    driver.frame(3)
    assert driver.image().tobytes() == expected


def test_goes_on_in_another_window(demo: Any, driver: Driver) -> None:
    """As after a lost context: fonts are uploaded anew, and what was typed is still there."""
    driver.click("text")
    driver.type("kept")
    driver.move(630, 470)
    driver.frame(3)
    expected = driver.image().crop((0, 0, 320, 110)).tobytes()
    old, new = demo.window, open_window("Another", (640, 480), (320, 240))
    demo.loop.move_to(new)
    demo.window = driver.window = new
    old.close()
    new.switch_to()
    driver.frame(3)
    assert driver.image().crop((0, 0, 320, 110)).tobytes() == expected
    driver.type("!")
    assert demo.text == "kept!"


def dirty_state() -> Any:
    """Set what an engine may leave behind; returns what undoes the part that is not ours."""
    buffer, sampler, target = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    gl.glGenFramebuffers(1, ctypes.byref(target))
    gl.glGenBuffers(1, ctypes.byref(buffer))
    gl.glGenSamplers(1, ctypes.byref(sampler))
    gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, target.value)
    gl.glBindSampler(0, sampler.value)
    gl.glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, buffer.value)
    for each in (gl.GL_SCISSOR_TEST, gl.GL_DEPTH_TEST, gl.GL_CULL_FACE, gl.GL_RASTERIZER_DISCARD):
        gl.glEnable(each)
    gl.glDepthFunc(gl.GL_NEVER)
    gl.glCullFace(gl.GL_FRONT_AND_BACK)
    gl.glScissor(0, 0, 1, 1)
    gl.glViewport(0, 0, 3, 3)
    gl.glColorMask(False, True, False, True)
    gl.glBlendEquation(gl.GL_FUNC_SUBTRACT)
    gl.glBlendFunc(gl.GL_ONE, gl.GL_ONE)
    gl.glPolygonMode(gl.GL_FRONT_AND_BACK, gl.GL_LINE)
    gl.glPixelStorei(gl.GL_UNPACK_SKIP_ROWS, 5)
    gl.glActiveTexture(gl.GL_TEXTURE3)

    def undo() -> None:
        gl.glPixelStorei(gl.GL_UNPACK_SKIP_ROWS, 0)
        gl.glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, 0)
        gl.glDeleteFramebuffers(1, ctypes.byref(target))
        gl.glDeleteBuffers(1, ctypes.byref(buffer))
        gl.glDeleteSamplers(1, ctypes.byref(sampler))

    return undo
