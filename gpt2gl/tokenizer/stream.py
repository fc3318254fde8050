"""Text of a growing sequence of tokens, one piece per token, never half a character."""

from __future__ import annotations

import codecs
from typing import Protocol


class _TokenBytes(Protocol):
    def token_bytes(self, token_id: int) -> bytes: ...


class StreamDecoder:
    """Turns token ids into text as they come.

    A character whose bytes are spread over several tokens is held back until its last byte has
    come, three bytes at most. Bytes that cannot become UTF-8 any more turn into U+FFFD, as many as
    Python makes of them. All pushes and the flush together are what `Tokenizer.decode` gives for
    the whole sequence.
    """

    def __init__(self, tokenizer: _TokenBytes) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token_id: int) -> str:
        """The text that this token completes; may be empty.

        Raises:
            TokenizerError: the id is outside the vocabulary; the stream is unchanged.
        """
        return self._decoder.decode(self._tokenizer.token_bytes(token_id))

    def flush(self) -> str:
        """The end of the text: U+FFFD if a character was left incomplete; then start anew."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
