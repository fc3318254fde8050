"""`ModelConfig`: what is read, what is refused by name, and that each refusal is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpt2gl.config import GPT2_SHAPES, NEUTRAL_VALUES, ModelConfig, shown
from gpt2gl.errors import ConfigError
from tests.checkpoints import tiny_config


def read(**changes: Any) -> ModelConfig:
    return ModelConfig.from_dict(tiny_config(**changes), "folder/config.json")


def refusal(**changes: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read(**changes)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("folder/config.json: ")
    return message


def test_reads_the_sizes() -> None:
    config = read()
    assert (config.vocab_size, config.n_positions, config.n_embd) == (13, 7, 12)
    assert (config.n_layer, config.n_head, config.head_dim) == (2, 3, 4)


def test_defaults_are_those_of_transformers() -> None:
    from transformers import GPT2Config

    ours, theirs = ModelConfig.from_dict({"model_type": "gpt2"}), GPT2Config()
    for name in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "activation_function",
                 "layer_norm_epsilon", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
                 "reorder_and_upcast_attn", "tie_word_embeddings", "bos_token_id",
                 "eos_token_id"):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.n_inner == 4 * theirs.n_embd


def test_reads_all_that_transformers_writes(tmp_path: Path) -> None:
    from transformers import GPT2Config

    GPT2Config(n_embd=60, n_head=4, n_inner=100).save_pretrained(tmp_path)
    config = ModelConfig.from_file(tmp_path / "config.json")
    assert (config.n_embd, config.n_head, config.n_inner) == (60, 4, 100)
    assert config.unknown_fields == ()


@pytest.mark.parametrize(("name", "shape"), GPT2_SHAPES.items())
def test_released_models(name: str, shape: tuple[int, int, int]) -> None:
    config = ModelConfig.gpt2(name)
    assert (config.n_embd, config.n_layer, config.n_head) == shape
    assert (config.vocab_size, config.n_positions, config.head_dim) == (50257, 1024, 64)
    assert (config.n_inner, config.eos_token_id) == (4 * shape[0], 50256)


def test_unknown_released_model_names_the_known() -> None:
    with pytest.raises(ConfigError, match=r"'gpt3'.*gpt2-xl"):
        ModelConfig.gpt2("gpt3")


def test_other_model_types_are_refused_by_name() -> None:
    assert "'llama'" in refusal(model_type="llama")
    with pytest.raises(ConfigError, match="model_type is missing"):
        ModelConfig.from_dict({"n_embd": 12})


@pytest.mark.parametrize(
    ("written", "used"),
    [
        ("gelu_new", "gelu_new"),
        ("gelu_pytorch_tanh", "gelu_new"),
        ("gelu", "gelu"),
        ("relu", "relu"),
        ("silu", "silu"),
        ("swish", "silu"),
    ],
)
def test_activations(written: str, used: str) -> None:
    assert read(activation_function=written).activation_function == used


@pytest.mark.parametrize("value", ["gelu_fast", "quick_gelu", "", None, 3, ["relu"]])
def test_other_activations_are_refused_by_name(value: object) -> None:
    message = refusal(activation_function=value)
    assert f"activation_function is {value!r}" in message


def test_n_inner() -> None:
    assert read(n_inner=None).n_inner == 48
    assert read(n_inner=20).n_inner == 20
    for value in (0, -4, 1.5, True):
        assert "n_inner" in refusal(n_inner=value)


def test_aliases_are_read() -> None:
    raw = {"model_type": "gpt2", "n_ctx": 5, "hidden_size": 8, "num_attention_heads": 2}
    config = ModelConfig.from_dict({**raw, "num_hidden_layers": 3})
    assert (config.n_positions, config.n_embd, config.n_head, config.n_layer) == (5, 8, 2, 3)
    assert read(n_ctx=7).n_positions == 7


def test_alias_in_conflict_is_refused() -> None:
    assert "n_ctx is 8 but n_positions is 7" in refusal(n_ctx=8)
    assert "hidden_size is 8 but n_embd is 12" in refusal(hidden_size=8)


@pytest.mark.parametrize("name", ["vocab_size", "n_positions", "n_embd", "n_layer", "n_head"])
@pytest.mark.parametrize("value", [0, -1, 2**62, 10**4000, 12.0, "12", None, True, [12]])
def test_impossible_sizes_are_refused(name: str, value: object) -> None:
    message = refusal(**{name: value})
    assert name in message
    assert len(message) < 200


def test_heads_must_divide_the_width() -> None:
    assert "n_embd is 12 and n_head is 5" in refusal(n_head=5)


@pytest.mark.parametrize("value", [0, -1e-5, 1, 1e400, float("nan"), "1e-5", True, 10**4000])
def test_impossible_epsilon_is_refused(value: object) -> None:
    assert "layer_norm_epsilon" in refusal(layer_norm_epsilon=value)


@pytest.mark.parametrize(
    "name",
    [
        "scale_attn_weights",
        "scale_attn_by_inverse_layer_idx",
        "reorder_and_upcast_attn",
        "tie_word_embeddings",
    ],
)
def test_switches(name: str) -> None:
    assert getattr(read(**{name: True}), name) is True
    assert getattr(read(**{name: False}), name) is False
    assert f"{name} is 1" in refusal(**{name: 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("add_cross_attention", True),
        ("is_encoder_decoder", True),
        ("multi_query", True),
        ("position_embedding_type", "rotary"),
        ("pruned_heads", {"0": [1]}),
        ("quantization_config", {"bits": 4}),
    ],
)
def test_what_changes_the_computation_is_refused(name: str, value: object) -> None:
    assert f"{name} is " in refusal(**{name: value})


def test_neutral_values_are_accepted() -> None:
    assert read(**{name: values[0] for name, values in NEUTRAL_VALUES.items()}) == read()


def test_other_fields_are_ignored_and_named() -> None:
    assert read(attn_pdrop=0.5, use_cache=False).unknown_fields == ()
    config = read(zebra=1, apple={})
    assert config.unknown_fields == ("apple", "zebra")
    assert config == read()


@pytest.mark.parametrize(
    ("written", "ids"), [(3, (3,)), ([3, 5], (3, 5)), (None, ()), (50256, ()), ([12, 13], (12,))]
)
def test_end_ids_that_the_model_can_produce(written: object, ids: tuple[int, ...]) -> None:
    config = read(eos_token_id=written)
    assert config.eos_token_ids == ids
    assert config.eos_token_id == (ids[0] if ids else None)


def test_begin_id() -> None:
    assert read(bos_token_id=0).bos_token_id == 0
    assert read(bos_token_id=13).bos_token_id is None
    assert read().bos_token_id is None
    assert "bos_token_id is '0'" in refusal(bos_token_id="0")
    assert "eos_token_id is [[0]]" in refusal(eos_token_id=[[0]])


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[1]", "a JSON object is needed"),
        (b'{"a": 1, "a": 2}', "key 'a' is given twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "not valid JSON"),
    ],
)
def test_damaged_files(tmp_path: Path, raw: bytes, reason: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        ModelConfig.from_file(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert reason in message
    assert "\n" not in message


def test_missing_and_oversized_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        ModelConfig.from_file(tmp_path / "config.json")
    with pytest.raises(ConfigError, match="no such file"):
        ModelConfig.from_file(tmp_path)
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate((1 << 24) + 1)
    with pytest.raises(ConfigError, match="over 16777216 bytes"):
        ModelConfig.from_file(path)


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(tiny_config()))
    assert ModelConfig.from_file(path) == read()


def test_direct_construction_is_checked() -> None:
    with pytest.raises(ConfigError, match=r"^n_layer is 0"):
        ModelConfig(n_layer=0)
    with pytest.raises(ConfigError, match=r"^activation_function is 'swish'"):
        ModelConfig(activation_function="swish")


def test_shown_is_one_short_line() -> None:
    assert shown("a\nb\u2028\ud800") == "'a\\nb\\u2028\\ud800'"
    assert len(shown("x" * 1000)) == 60
