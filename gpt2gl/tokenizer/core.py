"""The tokenizer: text to token ids and back."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from gpt2gl.errors import TokenizerError
from gpt2gl.tokenizer.added import AddedToken, AddedTokenSplitter
from gpt2gl.tokenizer.display import printable
from gpt2gl.tokenizer.formats import read_vocabulary
from gpt2gl.tokenizer.special import END_OF_TEXT
from gpt2gl.tokenizer.text_encoder import TextEncoder
from gpt2gl.tokenizer.vocabulary import Vocabulary


class Tokenizer:
    """Byte-level BPE of GPT-2 (Radford et al. 2019, section 2.2) over files of the model's own.

    Ids equal those of `transformers`' GPT2Tokenizer with `add_special_tokens=False`; nothing is
    put before or after a text. Texts are Unicode strings; two surrogates that form a pair count as
    the character they mean, and a lone surrogate as U+FFFD. Nothing is ever downloaded.

    Attributes:
        special_ids: content -> id of the special tokens, such as `<|endoftext|>`.
        eos_id: the token that ends a text; None if the vocabulary has none.
        bos_id: the token that starts a text; None if the vocabulary has none.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Make a tokenizer of what a vocabulary's files say; see the two constructors below.

        Raises:
            TokenizerError: the vocabulary is inconsistent or incomplete.
        """
        table = vocabulary.merge_table()
        self._bytes = vocabulary.entry_bytes(table.token_bytes)
        self._vocab_size = max(self._bytes) + 1
        self._encoder = TextEncoder(table)
        self._splitter = AddedTokenSplitter(vocabulary.added)
        self.special_ids: Mapping[str, int] = MappingProxyType(
            {token.content: token.id for token in vocabulary.added if token.special}
        )
        self.eos_id = vocabulary.eos_id
        self.bos_id = vocabulary.bos_id

    @classmethod
    def from_directory(cls, path: Path) -> Tokenizer:
        """Read the tokenizer in a model's folder.

        The folder holds tokenizer.json, or vocab.json and merges.txt, or encoder.json and
        vocab.bpe, looked for in this order; added_tokens.json, special_tokens_map.json and
        tokenizer_config.json are read where they are there.

        Raises:
            TokenizerError: files are missing or damaged, or of an unsupported kind of tokenizer.
        """
        return cls(read_vocabulary(Path(path)))

    @classmethod
    def from_vocab(
        cls,
        vocab: Mapping[str, int],
        merges: Sequence[tuple[str, str]],
        special: Mapping[str, int],
        *,
        eos_id: int | None = None,
        bos_id: int | None = None,
        where: str = "the vocabulary",
    ) -> Tokenizer:
        """Make a tokenizer of a vocabulary from elsewhere, for example a GGUF file.

        Args:
            vocab: token in byte-level spelling -> id; it may contain the special tokens.
            merges: pairs of tokens in byte-level spelling, first rank first.
            special: content -> id of the special tokens.
            eos_id: the token that ends a text; by default that of `<|endoftext|>`.
            bos_id: the token that starts a text; by default that of `<|endoftext|>`.
            where: what to name in messages.

        Raises:
            TokenizerError: the vocabulary is inconsistent or incomplete.
        """
        added = [AddedToken(content, at, special=True) for content, at in special.items()]
        end_of_text = {**vocab, **special}.get(END_OF_TEXT)
        ends = (end_of_text if end is None else end for end in (eos_id, bos_id))
        return cls(Vocabulary(where, where, vocab, merges, added, *ends))

    @property
    def vocab_size(self) -> int:
        """Number of ids: one more than the largest, or what `padded_to` set."""
        return self._vocab_size

    def padded_to(self, vocab_size: int) -> Tokenizer:
        """The same tokenizer for a model whose embedding has `vocab_size` rows.

        Rows past the vocabulary are padding: their ids stand for no text.

        Raises:
            TokenizerError: the vocabulary has ids that the model has no row for.
        """
        if vocab_size < self._vocab_size:
            need = f"the tokenizer has ids up to {self._vocab_size - 1}"
            raise TokenizerError(
                f"{need}, the model only {vocab_size} rows; use the tokenizer of this model"
            )
        padded = copy.copy(self)
        padded._vocab_size = vocab_size
        return padded

    def encode(self, text: str) -> list[int]:
        """Token ids of a text in which special tokens are plain text, as in all user input."""
        return self._encode(text, special=False)

    def encode_with_special(self, text: str) -> list[int]:
        """Token ids of a text in which the special tokens mean themselves."""
        return self._encode(text, special=True)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of a sequence of tokens; bytes that are no UTF-8 become U+FFFD.

        Raises:
            TokenizerError: an id is outside the vocabulary.
        """
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of a sequence of tokens.

        Raises:
            TokenizerError: an id is outside the vocabulary.
        """
        return b"".join(map(self.token_bytes, ids))

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one token; none for an id that is padding.

        Raises:
            TokenizerError: the id is outside the vocabulary.
        """
        found = self._bytes.get(token_id)
        if found is None and not 0 <= token_id < self._vocab_size:
            ids = f"ids are 0 to {self._vocab_size - 1}"
            raise TokenizerError(f"token id {token_id} is outside the vocabulary; {ids}")
        return found or b""

    def token_text(self, token_id: int) -> str:
        """One token for a table: printable, a space as `␣`, other escapes as in Python.

        Raises:
            TokenizerError: the id is outside the vocabulary.
        """
        return printable(self.token_bytes(token_id))

    def _encode(self, text: str, *, special: bool) -> list[int]:
        ids: list[int] = []
        for part in self._splitter.split(_without_surrogates(text), special=special):
            ids += [part] if isinstance(part, int) else self._encoder.encode(part)
        return ids


def _without_surrogates(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
