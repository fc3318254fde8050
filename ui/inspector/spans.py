"""Where the messages of the conversation stand among the tokens that are looked at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from gpt2gl_ui import theme
from gpt2gl_ui.chats.messages import Answer, Message
from gpt2gl_ui.inspector.texts import Text
from gpt2gl_ui.text.painting import Tokens
from gpt2gl_ui.views.tint import weight_tint

Weights = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Span:
    """Tokens of a message: token i is text[starts[i]:ends[i]], and stands at `first` + i."""

    first: int
    starts: Sequence[int]
    ends: Sequence[int]

    def tinted(self, weights: Weights, selected: int | None) -> Tokens:
        """The tokens with colours, for as many as there are weights."""
        own = weights[self.first : self.first + len(self.starts)]
        colours = [theme.ink(weight_tint(float(weight))) for weight in own]
        return Tokens(self.starts, self.ends, colours, selected)


class Spans:
    """Found when first asked for, and kept until the conversation or the tokens change."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self._basis: object = None
        self._spans: dict[str, Span] = {}

    def of(self, message: Message) -> Span | None:
        """A message's tokens, None for one that the model does not see."""
        chat = self.text.app.talk.chat
        basis = (chat.id, chat.revision, self.text.tokens, self.text.own)
        if basis != self._basis:
            self._basis, self._spans = basis, self._found(chat.path())
        return self._spans.get(message.id)

    def _found(self, path: Sequence[Message]) -> dict[str, Span]:
        """From the last message back, until one is no longer among the tokens."""
        if self.text.own is not None:
            return {}
        pieces = self.text.pieces()
        offsets, whole = [0, *accumulate(map(len, pieces))], b"".join(pieces)
        found: dict[str, Span] = {}
        end = len(whole)
        for message in reversed(path):
            span = self._answered(message)
            if span is None:
                start = last_place(whole, message.text.strip().encode(), end)
                if start < 0:
                    break
                # An answer's own tokens are what the pointer finds: others would mislead it.
                span = None if message.answer else _written(message.text, whole, offsets, start)
            else:
                start = offsets[span.first]
            if span is not None:
                found[message.id] = span
            end = start
        return found

    def _answered(self, message: Message) -> Span | None:
        first = self.text.position_of(message.id, 0) if message.answer else None
        if first is None or message.answer is None:
            return None
        return Span(first, *answer_places(message.answer))


def answer_places(answer: Answer) -> tuple[list[int], list[int]]:
    """Where the characters of an answer's tokens begin and end."""
    ends = list(accumulate(len(token.text) for token in answer.tokens))
    return [0, *ends[:-1]], ends


def last_place(whole: bytes, text: bytes, end: int) -> int:
    """Where a text stands last before `end`; -1 for nowhere.

    It ends its line, or at `end`, so that it is not found within what stands around it.
    """
    at = whole.rfind(text, 0, end) if text else -1
    while at >= 0:
        after = at + len(text)
        if after == end or whole[after : after + 1] in (b"", b"\n", b"<"):
            return at
        at = whole.rfind(text, 0, after - 1)
    return -1


def _written(text: str, whole: bytes, offsets: Sequence[int], start: int) -> Span:
    """The tokens that a text's characters are in, from `start` of the tokens' bytes on."""
    lead, data = len(text) - len(text.lstrip()), text.strip().encode()
    first = bisect_right(offsets, start) - 1
    last = bisect_left(offsets, start + len(data))
    characters = list(accumulate((byte & 0xC0 != 0x80 for byte in data), initial=lead))
    places = [
        characters[min(max(offset - start, 0), len(data))] for offset in offsets[first : last + 1]
    ]
    return Span(first, places[:-1], places[1:])
