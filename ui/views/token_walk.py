"""Going through an answer's tokens with the keyboard, as the pointer does by resting on them."""

from __future__ import annotations

from dataclasses import dataclass

from imgui_bundle import imgui

from gpt2gl_ui.chats.messages import Message
from gpt2gl_ui.widgets import Area

_OWNER = 0x67705457  # whose the keys are meanwhile, so that imgui does not leave the message
_KEY = imgui.Key
_SIDEWAYS = (_KEY.left_arrow, _KEY.right_arrow)
_CHOOSING = (_KEY.up_arrow, _KEY.down_arrow, _KEY.enter, _KEY.keypad_enter, _KEY.escape)


@dataclass
class TokenWalk:
    """Left and Right go from token to token of the message that has the keyboard; then Up and
    Down choose among a token's alternatives, Enter takes the chosen one, Escape ends it.

    Attributes:
        token: the message and the number of its token; None while nobody walks.
        choice: which alternative is chosen, None for none.
        taken: whether Enter was pressed in this frame.
        escaped: whether Escape ended the walk in this frame.
        moved: whether another token was reached in this frame.
    """

    token: tuple[str, int] | None = None
    choice: int | None = None
    taken: bool = False
    escaped: bool = False
    moved: bool = False

    def begin_frame(self, focused: str | None) -> None:
        """`focused` is the message that had the keyboard in the frame before."""
        self.taken = self.escaped = self.moved = False
        if self.token is not None and self.token[0] != focused:
            self.end()

    def end(self) -> None:
        """Walk no more."""
        self.token = self.choice = None

    def token_of(self, message: Message, pointed: int | None) -> int | None:
        """The token of a message that the keyboard stands on, or else the pointer."""
        if self.token is None:
            return pointed
        return self.token[1] if self.token[0] == message.id else None

    def take_keys(self, message: Message) -> bool:
        """Use the keys for the message that has the keyboard; whether its tokens are walked."""
        tokens = message.answer.tokens if message.answer is not None else ()
        if not tokens:
            return False
        _own(_SIDEWAYS)
        left, right = (imgui.is_key_pressed(key) for key in _SIDEWAYS)
        if self.token is not None:
            _own(_CHOOSING)
        if left or right:
            self._step(message.id, right - left, len(tokens))
        elif self.token is not None and imgui.is_key_pressed(_KEY.escape, False):
            self.end()
            self.escaped = True
        elif self.token is not None:
            self._choose(len(tokens[min(self.token[1], len(tokens) - 1)].alternatives))
        return self.token is not None

    def _step(self, message: str, step: int, count: int) -> None:
        start = -1 if step > 0 else count
        number = (start if self.token is None else self.token[1]) + step
        self.token, self.choice, self.moved = (message, min(max(number, 0), count - 1)), None, True

    def _choose(self, alternatives: int) -> None:
        down = imgui.is_key_pressed(_KEY.down_arrow) - imgui.is_key_pressed(_KEY.up_arrow)
        if down and alternatives:
            at = self.choice if self.choice is not None else (-1 if down > 0 else 0)
            self.choice = (at + down) % alternatives
        enter = (_KEY.enter, _KEY.keypad_enter)
        self.taken = self.choice is not None and any(
            imgui.is_key_pressed(key, False) for key in enter
        )


def bring_into_view(area: Area) -> None:
    """Scroll the window that is being built until an area of it can be seen."""
    top, height = imgui.get_window_pos().y, imgui.get_window_height()
    if area.y < top or area.bottom > top + height:
        imgui.set_scroll_y(imgui.get_scroll_y() + area.y - top - height / 2)


def _own(keys: tuple[imgui.Key, ...]) -> None:
    """Keep keys from imgui's own navigation in the next frame."""
    for key in keys:
        imgui.internal.set_key_owner(key, _OWNER)
