"""Text to token ids and back, and the streaming decoder for generated tokens."""

from __future__ import annotations

from gpt2gl.tokenizer.core import Tokenizer
from gpt2gl.tokenizer.stream import StreamDecoder

__all__ = ["StreamDecoder", "Tokenizer"]
