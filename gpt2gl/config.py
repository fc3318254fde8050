"""The shape of a GPT-2 model, read from the `config.json` of a Hugging Face checkpoint.

Field names, defaults and aliases are those of `transformers.GPT2Config`. What this engine does
not compute is refused by name; what only matters in training is ignored on purpose.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpt2gl.errors import ConfigError, Gpt2glError

MAX_CONFIG_BYTES = 1 << 24

# Far above any GPT-2, far below what would exhaust memory before a clear error appears.
SIZE_LIMITS: Mapping[str, int] = {
    "vocab_size": 1 << 24,
    "n_positions": 1 << 20,
    "n_embd": 1 << 16,
    "n_layer": 1 << 10,
    "n_head": 1 << 16,
    "n_inner": 1 << 18,
}

# `activation_function` as written -> the name that the rest of the package uses.
ACTIVATIONS: Mapping[str, str] = {
    "gelu_new": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}

# `transformers` reads these as the field on the right; n_ctx is the name of OpenAI's release.
ALIASES: Mapping[str, str] = {
    "n_ctx": "n_positions",
    "max_position_embeddings": "n_positions",
    "hidden_size": "n_embd",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}

# Fields that change what the model computes -> the values that ask for nothing beyond GPT-2.
NEUTRAL_VALUES: Mapping[str, tuple[object, ...]] = {
    "add_cross_attention": (False, None),
    "alibi": (False, None),
    "is_encoder_decoder": (False, None),
    "multi_query": (False, None),
    "position_embedding_type": ("absolute", None),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
    "rope_scaling": (None,),
}

# Training, bookkeeping and defaults of text generation: no effect on logits.
IGNORED_FIELDS = frozenset((
    "_attn_implementation_autoset", "_commit_hash", "_name_or_path", "architectures",
    "attn_pdrop", "chunk_size_feed_forward", "do_sample", "dtype", "embd_pdrop",
    "finetuning_task", "gradient_checkpointing", "id2label", "initializer_range", "is_decoder",
    "label2id", "max_length", "min_length", "model_type", "no_repeat_ngram_size", "num_beams",
    "output_attentions", "output_hidden_states", "output_past", "pad_token_id", "prefix",
    "problem_type", "repetition_penalty", "resid_pdrop", "return_dict", "sep_token_id",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj", "task_specific_params", "temperature", "tie_encoder_decoder",
    "tokenizer_class", "top_k", "top_p", "torch_dtype", "torchscript", "transformers_version",
    "use_bfloat16", "use_cache",
))

# Shapes of the released models: n_embd, n_layer, n_head (Radford et al. 2019, table 2;
# distilgpt2: Sanh et al. 2019).
GPT2_SHAPES: Mapping[str, tuple[int, int, int]] = {
    "gpt2": (768, 12, 12),
    "gpt2-medium": (1024, 24, 16),
    "gpt2-large": (1280, 36, 20),
    "gpt2-xl": (1600, 48, 25),
    "distilgpt2": (768, 6, 12),
}
GPT2_END_OF_TEXT = 50256


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and switches of one GPT-2 model; the defaults are GPT-2 small.

    `n_inner` 0 stands for 4 * n_embd and is replaced by it. `activation_function` is one of
    the values of `ACTIVATIONS`. `reorder_and_upcast_attn` is accepted and changes nothing:
    attention scores are always computed in float32 here. Ids outside the vocabulary are not
    kept by `from_dict`, as the model cannot produce them. `unknown_fields` names what the file
    holds beyond the fields known to this module.

    Raises:
        ConfigError: a size is not positive, is absurdly large, or does not fit another.
    """

    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    n_inner: int = 0
    activation_function: str = "gelu_new"
    layer_norm_epsilon: float = 1e-5
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    reorder_and_upcast_attn: bool = False
    tie_word_embeddings: bool = True
    bos_token_id: int | None = None
    eos_token_ids: tuple[int, ...] = ()
    unknown_fields: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.n_inner == 0:
            object.__setattr__(self, "n_inner", 4 * self.n_embd)
        _check_sizes(self)
        _check_switches(self)

    @property
    def head_dim(self) -> int:
        """Width of one attention head: n_embd / n_head."""
        return self.n_embd // self.n_head

    @property
    def eos_token_id(self) -> int | None:
        """The first end-of-text id, or None where the model has none."""
        return self.eos_token_ids[0] if self.eos_token_ids else None

    @classmethod
    def gpt2(cls, name: str) -> ModelConfig:
        """The config of a released model, by its name in `GPT2_SHAPES`; ConfigError if unknown."""
        if name not in GPT2_SHAPES:
            raise ConfigError(f"no known model {shown(name)}: use one of {', '.join(GPT2_SHAPES)}")
        n_embd, n_layer, n_head = GPT2_SHAPES[name]
        return cls(
            n_embd=n_embd,
            n_layer=n_layer,
            n_head=n_head,
            bos_token_id=GPT2_END_OF_TEXT,
            eos_token_ids=(GPT2_END_OF_TEXT,),
        )

    @classmethod
    def from_file(cls, path: Path) -> ModelConfig:
        """Read a `config.json`; ConfigError names the file, the field and its value."""
        where = str(path)
        return cls.from_dict(parse_json_object(_read_small(path), where, ConfigError), where)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], where: str = "config.json") -> ModelConfig:
        """Build from the parsed JSON object; `where` begins each error message."""
        _check_model_type(raw, where)
        _check_neutral(raw, where)
        values = _read_fields(_without_aliases(raw, where), where)
        _drop_impossible_ids(values)
        try:
            return cls(**values, unknown_fields=_unknown_fields(raw))
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None


def shown(value: object, limit: int = 60) -> str:
    """`repr` of a value from a file, in one line of printable ASCII, cut to `limit` characters."""
    text = ascii(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def parse_json_object(raw: bytes, where: str, error: type[Gpt2glError]) -> dict[str, Any]:
    """Parse bytes that must hold one JSON object without repeated keys; else raise `error`."""
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique_keys)
    except RecursionError:
        raise error(f"{where}: JSON is nested too deeply: use an undamaged file") from None
    except ValueError as problem:
        message = shown(str(problem), 120)[1:-1]
        raise error(f"{where}: not valid JSON ({message}): use an undamaged file") from None
    if not isinstance(value, dict):
        raise error(f"{where}: a JSON object is needed, found {shown(value)}")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"key {shown(key)} is given twice")
        seen.add(key)
    return result


def _read_small(path: Path) -> bytes:
    if not os.path.isfile(path):
        raise ConfigError(f"{path}: no such file: a model folder needs its config.json")
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        reason = error.strerror
        raise ConfigError(f"{path}: cannot be read ({reason}): check its permissions") from None
    if len(raw) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{path}: over {MAX_CONFIG_BYTES} bytes: not a model's config.json")
    return raw


def _check_model_type(raw: Mapping[str, Any], where: str) -> None:
    if "model_type" not in raw:
        raise ConfigError(f'{where}: model_type is missing: a GPT-2 model has "model_type": "gpt2"')
    if raw["model_type"] != "gpt2":
        found = shown(raw["model_type"])
        raise ConfigError(f"{where}: model_type is {found}: only 'gpt2' models can be run")


def _check_neutral(raw: Mapping[str, Any], where: str) -> None:
    for name, accepted in NEUTRAL_VALUES.items():
        if name in raw and raw[name] not in accepted:
            found = shown(raw[name])
            problem = "not implemented, use a plain GPT-2 model"
            raise ConfigError(f"{where}: {name} is {found}: {problem}")


def _without_aliases(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    values = {name: value for name, value in raw.items() if name not in ALIASES}
    for alias, name in ALIASES.items():
        if alias not in raw:
            continue
        if name in values and values[name] != raw[alias]:
            both = f"{alias} is {shown(raw[alias])} but {name} is {shown(values[name])}"
            raise ConfigError(f"{where}: {both}: they must be equal, remove the wrong one")
        values[name] = raw[alias]
    return values


def _read_fields(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    ids = {"bos_token_id": GPT2_END_OF_TEXT, "eos_token_id": GPT2_END_OF_TEXT}
    values: dict[str, Any] = {}
    for name, value in {**ids, **raw}.items():
        if name not in _READERS:
            continue
        try:
            values[name] = _READERS[name](value)
        except ValueError as problem:
            raise ConfigError(f"{where}: {name} is {shown(value)}: {problem}") from None
    values["eos_token_ids"] = values.pop("eos_token_id")
    return values


def _drop_impossible_ids(values: dict[str, Any]) -> None:
    possible = range(values.get("vocab_size", ModelConfig.vocab_size))
    if values["bos_token_id"] not in possible:
        values["bos_token_id"] = None
    values["eos_token_ids"] = tuple(i for i in values["eos_token_ids"] if i in possible)


def _unknown_fields(raw: Mapping[str, Any]) -> tuple[str, ...]:
    known = IGNORED_FIELDS.union(_READERS, ALIASES, NEUTRAL_VALUES)
    return tuple(sorted(set(raw) - known))


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("an integer is needed")
    return value


def _inner(value: object) -> int:
    if value == 0:
        raise ValueError("it must be positive, or null for 4 * n_embd")
    return 0 if value is None else _integer(value)


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("a number is needed")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("it is too large") from None


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is needed")
    return value


def _activation(value: object) -> str:
    if not isinstance(value, str) or value not in ACTIVATIONS:
        raise ValueError(f"not implemented, the known ones are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[value]


def _token_id(value: object) -> int | None:
    return None if value is None else _integer(value)


def _token_ids(value: object) -> tuple[int, ...]:
    if value is None:
        return ()
    return tuple(_integer(item) for item in (value if isinstance(value, list) else [value]))


_READERS: Mapping[str, Callable[[object], Any]] = {
    "vocab_size": _integer,
    "n_positions": _integer,
    "n_embd": _integer,
    "n_layer": _integer,
    "n_head": _integer,
    "n_inner": _inner,
    "activation_function": _activation,
    "layer_norm_epsilon": _number,
    "scale_attn_weights": _boolean,
    "scale_attn_by_inverse_layer_idx": _boolean,
    "reorder_and_upcast_attn": _boolean,
    "tie_word_embeddings": _boolean,
    "bos_token_id": _token_id,
    "eos_token_id": _token_ids,
}


def _check_sizes(config: ModelConfig) -> None:
    for name, limit in SIZE_LIMITS.items():
        value = getattr(config, name)
        if not 1 <= value <= limit:
            raise ConfigError(f"{name} is {shown(value)}: it must be from 1 to {limit}")
    if config.n_embd % config.n_head:
        sizes = f"n_embd is {config.n_embd} and n_head is {config.n_head}"
        raise ConfigError(f"{sizes}: n_embd must be a multiple of n_head")


def _check_switches(config: ModelConfig) -> None:
    if not 0 < config.layer_norm_epsilon < 1:
        value = shown(config.layer_norm_epsilon)
        raise ConfigError(f"layer_norm_epsilon is {value}: it must be above 0 and below 1")
    if config.activation_function not in ACTIVATIONS.values():
        known = ", ".join(sorted(set(ACTIVATIONS.values())))
        value = shown(config.activation_function)
        raise ConfigError(f"activation_function is {value}: it must be one of {known}")
