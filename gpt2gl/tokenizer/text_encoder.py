"""Byte pair encoding of whole texts, whatever their length and whatever the vocabulary."""

from __future__ import annotations

from functools import cache, cached_property
from itertools import chain

from gpt2gl.tokenizer.bpe import MergeTable, PairBpe, TiktokenBpe
from gpt2gl.tokenizer.long_pieces import WINDOW, encode_long_piece
from gpt2gl.tokenizer.spelling import spells_alike
from gpt2gl.tokenizer.split import has_long_run, split_pieces


class TextEncoder:
    """Encodes text without added tokens: by `tiktoken` where that is exact and safe.

    The encoder proper is made at the first text, so that opening a model does not wait for it.
    """

    def __init__(self, table: MergeTable) -> None:
        self._table = table

    def encode(self, text: str) -> list[int]:
        """The token ids of the text; it holds no surrogates."""
        bpe = self._bpe
        if isinstance(bpe, TiktokenBpe) and not has_long_run(text):
            return bpe.encode_text(text)
        return self._encode_pieces(bpe, text)

    @cached_property
    def _bpe(self) -> TiktokenBpe | PairBpe:
        return (TiktokenBpe if spells_alike(self._table) else PairBpe)(self._table)

    def _encode_pieces(self, bpe: TiktokenBpe | PairBpe, text: str) -> list[int]:
        encode = cache(bpe.encode_piece)

        def encode_any(piece: bytes) -> list[int]:
            if len(piece) <= WINDOW:
                return encode(piece)
            return encode_long_piece(piece, encode, self._table.token_bytes)

        pieces = (piece.encode("utf-8") for piece in split_pieces(text))
        return list(chain.from_iterable(map(encode_any, pieces)))
