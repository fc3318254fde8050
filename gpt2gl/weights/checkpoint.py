"""Fitting the tensors of any file format to one GPT-2 model: every key is accounted for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType

from gpt2gl.config import ModelConfig
from gpt2gl.errors import WeightError
from gpt2gl.weights.arrays import LazyTensor, StoredArray, ZeroArray, listed, same_values
from gpt2gl.weights.names import (
    EMBEDDING,
    HEAD,
    Shape,
    absent_bias_kinds,
    bias_kind,
    canonical,
    expected_shapes,
    is_buffer,
    is_transposable,
)


def _nothing() -> None:
    """Sources without a file have nothing to close."""


@dataclass(frozen=True)
class TokenizerVocab:
    """A byte-level BPE vocabulary that came inside the weight file.

    `vocab` maps a token in GPT-2's printable byte form to its id, and `merges` are in order of
    rank. `special` holds control and user-defined tokens (not in `vocab`), as plain text.
    """

    vocab: Mapping[str, int]
    merges: list[tuple[str, str]]
    special: Mapping[str, int]


@dataclass(frozen=True)
class StoredCheckpoint:
    """What a format's reader returns: tensors as stored, under the names of the file."""

    config: ModelConfig
    arrays: Mapping[str, StoredArray]
    tokenizer_source: Path | None = None
    tokenizer_vocab: TokenizerVocab | None = None
    close: Callable[[], None] = field(default=_nothing, repr=False)


@dataclass(frozen=True)
class Checkpoint:
    """An open model: its config and its weights by canonical name.

    `tensors` holds exactly the weights of the config; `lm_head.weight` [vocab_size, n_embd] is
    among them only where the output matrix is not the embedding `wte.weight`. Tokenizer files
    are looked for in the folder `tokenizer_source`; a vocabulary inside the weight file is
    `tokenizer_vocab`. After `close` no tensor can be read; arrays that were read stay valid.
    """

    config: ModelConfig
    tensors: Mapping[str, LazyTensor]
    source: Path
    tokenizer_source: Path | None = None
    tokenizer_vocab: TokenizerVocab | None = None
    close: Callable[[], None] = field(default=_nothing, repr=False)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def fit(stored: StoredCheckpoint, source: Path) -> Checkpoint:
    """Match stored tensors to the model that the config describes.

    Raises:
        WeightError: lists the keys that are missing, not part of the model, of another shape,
            or of a dtype that cannot be converted.
    """
    arrays = _by_canonical_name(stored.arrays, source)
    expected = _expected(stored.config, HEAD in arrays)
    absent = absent_bias_kinds(expected, arrays)
    for name, shape in expected.items():
        if bias_kind(name) in absent:
            arrays[name] = ZeroArray(shape)
    linear = _is_linear(expected, arrays)
    _check(_problems(expected, arrays, linear), source)
    tensors = {
        name: LazyTensor(name, arrays[name], linear and is_transposable(name)) for name in expected
    }
    _drop_tied_head(tensors, stored.config)
    return Checkpoint(
        stored.config,
        MappingProxyType(tensors),
        source,
        stored.tokenizer_source,
        stored.tokenizer_vocab,
        stored.close,
    )


def _by_canonical_name(arrays: Mapping[str, StoredArray], source: Path) -> dict[str, StoredArray]:
    result: dict[str, StoredArray] = {}
    twice = []
    for stored_name, array in arrays.items():
        name = canonical(stored_name)
        if is_buffer(name):
            continue
        if name in result:
            twice.append(stored_name)
        result[name] = array
    if twice:
        problem = f"tensors given twice under different prefixes: {listed(twice)}"
        raise WeightError(f"{source}: {problem}: remove one of each")
    return result


def _expected(config: ModelConfig, head_present: bool) -> dict[str, Shape]:
    expected = expected_shapes(config)
    if head_present or not config.tie_word_embeddings:
        expected[HEAD] = expected[EMBEDDING]
    return expected


def _is_linear(expected: Mapping[str, Shape], arrays: Mapping[str, StoredArray]) -> bool:
    # attn.c_proj is square and c_fc may be; c_attn [n_embd, 3 n_embd] never is, so it decides.
    return any(
        name.endswith("attn.c_attn.weight") and name in arrays and arrays[name].shape == shape[::-1]
        for name, shape in expected.items()
    )


def _problems(
    expected: Mapping[str, Shape], arrays: Mapping[str, StoredArray], linear: bool
) -> dict[str, list[str]]:
    misshapen, unreadable = [], []
    for name, shape in expected.items():
        if name not in arrays:
            continue
        array = arrays[name]
        needed = shape[::-1] if linear and is_transposable(name) else shape
        if array.shape != needed:
            misshapen.append(f"{name} {list(array.shape)} instead of {list(needed)}")
        if not array.convertible:
            unreadable.append(f"{name} {array.dtype}")
    return {
        "missing tensors": [name for name in expected if name not in arrays],
        "tensors that are not part of the model": sorted(set(arrays) - set(expected)),
        "wrong shapes": misshapen,
        "unsupported dtypes": unreadable,
    }


def _check(problems: Mapping[str, list[str]], source: Path) -> None:
    parts = [f"{kind}: {listed(names)}" for kind, names in problems.items() if names]
    if parts:
        advice = "use weights and config of the same GPT-2 model"
        raise WeightError(f"{source}: {'; '.join(parts)}: {advice}")


def _drop_tied_head(tensors: dict[str, LazyTensor], config: ModelConfig) -> None:
    if HEAD not in tensors or not config.tie_word_embeddings:
        return
    # Some writers save the tied matrix twice, and some leave tie_word_embeddings at its default
    # for models that are not tied: only the values can tell.
    if same_values(tensors[HEAD], tensors[EMBEDDING]):
        del tensors[HEAD]
