"""The forms in which a model's folder holds its tokenizer."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gpt2gl.tokenizer.added import AddedToken
from gpt2gl.tokenizer.files import present, read_json, read_text, refuse, shown, shown_path
from gpt2gl.tokenizer.special import SpecialTokens, parse_added, read_special_tokens
from gpt2gl.tokenizer.tokenizer_json import read_tokenizer_json
from gpt2gl.tokenizer.vocabulary import Vocabulary, id_table

_ADDED_TOKENS: Final = "added_tokens.json"

# Classes of `transformers` whose vocabulary and merges mean plain GPT-2 tokenization. Others have
# files of the same names with another split pattern or alphabet.
_GPT2_CLASSES: Final = (
    "GPT2Tokenizer",
    "GPT2TokenizerFast",
    "CodeGenTokenizer",
    "CodeGenTokenizerFast",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
)

_OTHER_KINDS: Final = {
    "vocab.txt": "WordPiece",
    "tokenizer.model": "SentencePiece",
    "spiece.model": "SentencePiece",
    "sentencepiece.bpe.model": "SentencePiece",
}


@dataclass(frozen=True)
class _Form:
    """Files that together are a tokenizer, and their reader.

    `says_all` is true where the files themselves tell the kind of tokenizer.
    """

    names: tuple[str, ...]
    read: Callable[..., Vocabulary]
    says_all: bool = False


def read_vocabulary(folder: Path) -> Vocabulary:
    """The vocabulary in a model's folder, in the first form of FORMS that is there.

    Raises:
        TokenizerError: no form is there, or its files are damaged or of an unsupported type.
    """
    where = shown_path(folder)
    if not folder.is_dir():
        refuse(where, "there is no such folder; name a folder that holds a tokenizer")
    for form in FORMS:
        if all(present(folder, name) for name in form.names):
            special = read_special_tokens(folder)
            _check_config(special, form)
            return _complete(form.read(folder, *form.names), special)
    refuse(where, _why_none(folder))


def _check_config(special: SpecialTokens, form: _Form) -> None:
    name = special.config.get("tokenizer_class") or _GPT2_CLASSES[0]
    if not form.says_all and name not in _GPT2_CLASSES:
        reason = f"tokenizer_class {shown(name)} is not implemented"
        refuse(special.where, f"{reason}; without a tokenizer.json only GPT2Tokenizer is")
    if special.config.get("add_prefix_space"):
        refuse(special.where, "add_prefix_space true is not implemented")


def _complete(vocabulary: Vocabulary, special: SpecialTokens) -> Vocabulary:
    added = special.apply(vocabulary.ids, vocabulary.added)
    ids = ChainMap({token.content: token.id for token in added}, dict(vocabulary.ids))
    eos_id, bos_id = (special.role_id(role, ids) for role in ("eos_token", "bos_token"))
    return replace(vocabulary, added=added, eos_id=eos_id, bos_id=bos_id)


def _why_none(folder: Path) -> str:
    for form in FORMS:
        there = [name for name in form.names if present(folder, name)]
        if there:
            missing = next(name for name in form.names if name not in there)
            return f"has {there[0]} but not {missing}, which belongs to it"
    for name, kind in _OTHER_KINDS.items():
        if present(folder, name):
            return f"{name} is a {kind} tokenizer; only byte-level BPE (GPT-2) is supported"
    return f"has no tokenizer; add {' or '.join(' and '.join(form.names) for form in FORMS)}"


def _read_pair(folder: Path, vocab_name: str, merges_name: str) -> Vocabulary:
    vocab_where, merges_where = (shown_path(folder / name) for name in (vocab_name, merges_name))
    return Vocabulary(
        vocab_where,
        merges_where,
        id_table(vocab_where, read_json(folder, vocab_name)),
        _merges(read_text(folder, merges_name), merges_where),
        _added(folder) if present(folder, _ADDED_TOKENS) else (),
    )


def _merges(text: str, where: str) -> list[tuple[str, str]]:
    # Not splitlines(): U+0085 and the like are no line ends here.
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].startswith("#version"):
        lines[0] = ""
    parts = [line.partition(" ") for line in lines if line]
    for left, _, right in parts:
        if not left or not right or " " in right:
            line = shown(f"{left} {right}")
            refuse(where, f"the line {line} is not two tokens; the file is damaged")
    return [(left, right) for left, _, right in parts]


def _added(folder: Path) -> list[AddedToken]:
    where = shown_path(folder / _ADDED_TOKENS)
    entries = read_json(folder, _ADDED_TOKENS).items()
    return [parse_added(content, token_id, where) for content, token_id in entries]


FORMS: Final = (
    _Form(("tokenizer.json",), read_tokenizer_json, says_all=True),
    _Form(("vocab.json", "merges.txt"), _read_pair),
    _Form(("encoder.json", "vocab.bpe"), _read_pair),
)
"""In the order of preference."""
