"""The line at the lower edge: what the engine does, how fast, and what it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imgui_bundle import imgui

from gpt2gl_ui import fonts, icons, marks, theme
from gpt2gl_ui.context_use import ContextUse
from gpt2gl_ui.engine import CLOSED, FAILED, LOADING
from gpt2gl_ui.palette import Color, mixed
from gpt2gl_ui.views.region import region
from gpt2gl_ui.widgets import Area, elided, fill, text_in, tooltip

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

PADDING, GAP, BAR = 12, 18, 72
NEARLY_FULL = 0.9
LONGEST_NAME = 170

POLICIES = {
    "stop": "When it is full, the answer ends.",
    "roll": "When it is full, the older half is dropped and the answer goes on.",
    "keep-head": "When it is full, the beginning is kept, what follows it is dropped to make room,"
    " and the answer goes on.",
}
SOFTWARE = (
    "OpenGL is drawn by the processor here, not by a graphics card, so answers are slow. Install"
    " the driver of your graphics card, or start the program on the screen it drives."
)
USES = {"weights": "Weights", "kv_cache": "KV cache", "scratch": "Scratch"}


Help = str | Callable[[], str]


@dataclass(frozen=True)
class Piece:
    """Something in the line: `width` in pixels, and what draws it there.

    `help` is what the pointer is told over it, made only then where that costs something.
    """

    name: str
    width: float
    draw: Callable[[Area], None]
    help: Help


def draw(app: App, area: Area) -> None:
    """The line at the lower edge."""
    now = theme.palette()
    flags = imgui.WindowFlags_.no_scroll_with_mouse
    with region("status", area, now.surface, flags=flags):
        line, edge = imgui.get_window_draw_list(), area.y + theme.px(1)
        line.add_rect_filled((area.x, area.y), (area.right, edge), theme.ink(now.border))
        with fonts.pushed(fonts.current().body, theme.CAPTION):
            right = area.right - theme.px(PADDING)
            for piece in _rights(app):
                right = _place(piece, area, right - piece.width) - theme.px(GAP)
            left = area.x + theme.px(PADDING)
            for piece in _lefts(app):
                if left + piece.width > right:
                    break
                _place(piece, area, left)
                left += piece.width + theme.px(GAP)


def _place(piece: Piece, line: Area, left: float) -> float:
    """Draw it, and explain it under the pointer; gives where it begins."""
    imgui.set_cursor_screen_pos((left, line.y))
    imgui.dummy((piece.width, line.height))
    marks.mark(f"status.{piece.name}")
    area = Area(left, line.y, piece.width, line.height)
    piece.draw(area)
    if imgui.is_item_hovered():
        tooltip(piece.help if isinstance(piece.help, str) else piece.help())
    return left


def _text(text: str, color: Color | None = None) -> Callable[[Area], None]:
    ink = color or theme.palette().text_muted
    return lambda area: text_in(area, text, ink, 0.0)


def _words(name: str, text: str, help: Help, color: Color | None = None) -> Piece:
    return Piece(name, imgui.calc_text_size(text).x, _text(text, color), help)


def _figure(name: str, label: str, value: str, widest: str, help: str) -> Piece:
    """A number that takes the same room whatever it is, so that nothing beside it moves."""
    lead = _text_width(f"{label} ") if label else 0.0

    def drawn(area: Area) -> None:
        now = theme.palette()
        text_in(area, label, now.text_muted, 0.0)
        text_in(Area(area.x + lead, area.y, area.width - lead, area.height), value, now.text, 0.0)

    return Piece(name, lead + _text_width(widest), drawn, help)


def _text_width(text: str) -> float:
    return imgui.calc_text_size(text).x


# At the left ------------------------------------------------------------------------------------


def _lefts(app: App) -> list[Piece]:
    """What matters most comes first: the last ones go when there is no room."""
    pieces = [_activity(app)]
    if app.engine.session is not None:
        pieces += [_context(app), *_speeds(app), _first_token(app)]
    return pieces


def _activity(app: App) -> Piece:
    text, color = _doing(app)
    widest = max(map(_text_width, ("Reading 100 %", "Loading 100 %", "Model failed")))
    dot = theme.px(14)

    def drawn(area: Area) -> None:
        middle = (area.x + theme.px(4), area.y + area.height / 2)
        imgui.get_window_draw_list().add_circle_filled(middle, theme.px(3.5), theme.ink(color))
        rest = Area(area.x + dot, area.y, area.width - dot, area.height)
        text_in(rest, text, theme.palette().text, 0.0)

    return Piece("activity", dot + widest, drawn, _activity_help(app))


def _doing(app: App) -> tuple[str, Color]:
    now, engine, talk = theme.palette(), app.engine, app.talk
    if engine.state == FAILED:
        return "Model failed", now.danger
    if engine.state == CLOSED:
        return "No model", now.control
    if engine.state == LOADING:
        share = engine.loading.fraction
        return "Loading" if share is None else f"Loading {share * 100:.0f} %", now.accent
    if talk.is_writing and talk.working is not None:
        return f"Reading {talk.working.done / max(talk.working.total, 1) * 100:.0f} %", now.accent
    return ("Writing", now.accent) if talk.is_writing else ("Ready", now.success)


def _activity_help(app: App) -> str:
    engine = app.engine
    if engine.state == LOADING:
        return f"Loading {engine.name}: {engine.loading.stage}"
    return str(engine.error) if engine.error is not None else ""


def _speeds(app: App) -> list[Piece]:
    speed = app.talk.speed
    live, average = (f"{each:.1f}" if each else "–" for each in (speed.live, speed.average))
    help = (
        f"Tokens per second over the last two seconds: {live}\n"
        f"On average over the answer: {average}\n"
        f"Tokens of the answer: {speed.n_tokens}"
    )
    return [
        _figure("live", "", f"{live} tok/s", "0000.0 tok/s", help),
        _figure("average", "average", average, "0000.0", help),
    ]


def _first_token(app: App) -> Piece:
    seconds = app.talk.speed.first_token_seconds
    value = "–" if seconds is None else f"{seconds:.2f}"
    help = "Seconds from the request to the first token of the last answer"
    return _figure("first", "first token", f"{value} s", "00.00 s", help)


def _context(app: App) -> Piece:
    session = app.engine.session
    assert session is not None
    total = session.model.config.n_positions
    used = app.state.kept("context", ContextUse).of(app.talk, session)
    share = used / total if total else 0.0
    policy = POLICIES[app.generation.context_policy]
    help = f"The model reads {total:,} tokens at once; this chat takes {used:,} of them. {policy}"
    bar = theme.px(BAR)
    width = bar + theme.px(theme.SMALL) + _text_width(f"{total} / {total}")

    def drawn(area: Area) -> None:
        _meter(Area(area.x, area.y, bar, area.height), share)
        left = bar + theme.px(theme.SMALL)
        figures = Area(area.x + left, area.y, area.width - left, area.height)
        text_in(figures, f"{used} / {total}", theme.palette().text, 0.0)

    return Piece("context", width, drawn, help)


def _meter(area: Area, share: float) -> None:
    now, height = theme.palette(), theme.px(4)
    track = Area(area.x, round(area.y + (area.height - height) / 2), area.width, height)
    fill(track, now.pressed, 2)
    if share > 0:
        color = now.warning if share >= NEARLY_FULL else now.accent
        width = max(track.width * min(share, 1.0), height)
        fill(Area(track.x, track.y, width, height), color, 2)


# At the right -----------------------------------------------------------------------------------


def _rights(app: App) -> list[Piece]:
    """From the right end on."""
    pieces = [_renderer(app)]
    if app.engine.session is not None:
        pieces.append(_memory(app))
    failures = app.writer.failures()
    if failures:
        pieces.append(_not_saved(failures))
    return pieces


def _renderer(app: App) -> Piece:
    name = app.window.renderer_name
    if app.window.is_software:
        return _software(lambda: f"{SOFTWARE}\n\n{_frames(app)}")
    return _words("renderer", elided(name, theme.px(LONGEST_NAME)), lambda: _frames(app))


def _frames(app: App) -> str:
    cost, interval = app.loop.stats.cost, app.loop.stats.interval
    return (
        f"{app.window.renderer_name}\nDrawing a frame takes {cost.p50 * 1000:.1f} ms, 95 % are"
        f" under {cost.p95 * 1000:.1f} ms; while busy, frames are {interval.p50 * 1000:.1f} ms"
        " apart."
    )


def _software(help: Help) -> Piece:
    now, text = theme.palette(), f"{icons.WARNING} software rendering"
    inset = theme.px(theme.SMALL)

    def drawn(area: Area) -> None:
        high = theme.px(20)
        box = Area(area.x, round(area.y + (area.height - high) / 2), area.width, high)
        fill(box, mixed(now.surface, now.warning, 0.16), 10)
        text_in(box, text, now.warning)

    return Piece("renderer", _text_width(text) + 2 * inset, drawn, help)


def _memory(app: App) -> Piece:
    session = app.engine.session
    assert session is not None
    pool = session.model.device.pool
    by_use = {use: size for use, size in pool.bytes_by_use.items() if size > 0}
    total = sum(by_use.values())
    lines = [f"{USES.get(use, use.capitalize())}: {_size(size)}" for use, size in by_use.items()]
    help = "\n".join(["Memory on the GPU", *lines, f"Together: {_size(total)}"])
    return _figure("memory", "GPU", _size(total), "0000.0 MB", help)


def _size(n_bytes: int) -> str:
    if n_bytes < 1 << 30:
        return f"{n_bytes / (1 << 20):.1f} MB"
    return f"{n_bytes / (1 << 30):.2f} GB"


def _not_saved(failures: dict[str, str]) -> Piece:
    help = "Not saved yet, tried again and again:\n" + "\n".join(dict.fromkeys(failures.values()))
    danger = theme.palette().danger
    return _words("unsaved", f"{icons.ERROR} Not saved", help, danger)
