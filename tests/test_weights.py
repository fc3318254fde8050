"""`open_checkpoint`: every variant of a GPT-2 checkpoint gives the same canonical tensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpt2gl.config import ModelConfig
from gpt2gl.errors import ConfigError, Gpt2glError, ModelNotFound, WeightError
from gpt2gl.weights import Checkpoint, open_checkpoint
from tests.checkpoints import (
    Arrays,
    linear,
    prefixed,
    save_arrays,
    tiny_config,
    tiny_weights,
    without_biases,
    write_checkpoint,
)

CONFIG = tiny_config()
WEIGHTS = tiny_weights(CONFIG)
UNTIED = tiny_weights(CONFIG, untied=True)
C_PROJ = "h.0.attn.c_proj.weight"


def assert_holds(checkpoint: Checkpoint, weights: Arrays) -> None:
    assert list(checkpoint.tensors) == list(weights)
    for name, expected in weights.items():
        tensor = checkpoint.tensors[name]
        array = tensor.read()
        assert tensor.name == name
        assert tensor.shape == array.shape == expected.shape
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, expected, err_msg=name)


def refusal(path: Path, kind: type[Gpt2glError] = WeightError) -> str:
    with pytest.raises(kind) as caught:
        open_checkpoint(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def refused(tmp_path: Path, arrays: Arrays, config: dict[str, Any] = CONFIG) -> str:
    return refusal(write_checkpoint(tmp_path, config, arrays))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("orient", [dict, linear])
@pytest.mark.parametrize("shards", [1, 3])
def test_dtypes_orientations_and_shards(
    tmp_path: Path, dtype: str, orient: Any, shards: int
) -> None:
    folder = write_checkpoint(tmp_path, CONFIG, orient(WEIGHTS), dtype=dtype, shards=shards)
    with open_checkpoint(folder) as checkpoint:
        assert_holds(checkpoint, WEIGHTS)
        assert checkpoint.config == ModelConfig.from_dict(CONFIG)
        assert checkpoint.source == checkpoint.tokenizer_source == folder
        assert checkpoint.tokenizer_vocab is None
        short = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}[dtype]
        assert {t.dtype for t in checkpoint.tensors.values()} == {short}


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "transformer.",
        "_orig_mod.transformer.",
        "module.transformer.",
        "module._orig_mod.transformer.",
        "_orig_mod.module.transformer.",
    ],
)
def test_prefixes(tmp_path: Path, prefix: str) -> None:
    folder = write_checkpoint(tmp_path, CONFIG, prefixed(UNTIED, prefix))
    with open_checkpoint(folder) as checkpoint:
        assert_holds(checkpoint, UNTIED)


def test_a_single_file_takes_the_config_beside_it(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, CONFIG, WEIGHTS)
    path = (tmp_path / "model.safetensors").rename(tmp_path / "Other.SafeTensors")
    with open_checkpoint(path) as checkpoint:
        assert_holds(checkpoint, WEIGHTS)
        assert checkpoint.source == path
        assert checkpoint.tokenizer_source == tmp_path


def test_an_index_can_be_opened_itself(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, CONFIG, WEIGHTS, shards=2)
    with open_checkpoint(tmp_path / "model.safetensors.index.json") as checkpoint:
        assert_holds(checkpoint, WEIGHTS)


@pytest.mark.parametrize("orient", [dict, linear])
def test_square_matrices_follow_c_attn(tmp_path: Path, orient: Any) -> None:
    config = tiny_config(n_inner=12)  # c_fc and mlp.c_proj are square as well
    weights = tiny_weights(config)
    with open_checkpoint(write_checkpoint(tmp_path, config, orient(weights))) as checkpoint:
        assert_holds(checkpoint, weights)


def test_mixed_orientations_are_refused(tmp_path: Path) -> None:
    mixed = WEIGHTS | {n: a for n, a in linear(WEIGHTS).items() if n.startswith("h.1.")}
    message = refused(tmp_path, mixed)
    assert "h.0.attn.c_attn.weight [12, 36] instead of [36, 12]" in message
    assert "h.0.mlp.c_fc.weight [12, 48] instead of [48, 12]" in message


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("orient", [dict, linear])
def test_rows_equal_the_whole(tmp_path: Path, dtype: str, orient: Any) -> None:
    folder = write_checkpoint(tmp_path, CONFIG, orient(WEIGHTS), dtype=dtype)
    with open_checkpoint(folder) as checkpoint:
        for tensor in checkpoint.tensors.values():
            rows = tensor.shape[0]
            for start, stop in [(0, 1), (1, rows), (rows // 2, rows), (3, 3), (0, rows)]:
                part = tensor.read_rows(start, stop)
                assert part.flags.c_contiguous
                np.testing.assert_array_equal(part, tensor.read()[start:stop])
            with pytest.raises(IndexError, match=tensor.name):
                tensor.read_rows(0, rows + 1)
            with pytest.raises(IndexError, match=tensor.name):
                tensor.read_rows(-1, 1)


def test_plain_float32_is_a_view_of_the_file(tmp_path: Path) -> None:
    with open_checkpoint(write_checkpoint(tmp_path, CONFIG, WEIGHTS)) as checkpoint:
        first, second = (checkpoint.tensors["wte.weight"].read() for _ in range(2))
        assert np.shares_memory(first, second)
        assert not first.flags.writeable


def test_arrays_outlive_the_checkpoint_and_tensors_do_not(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write_checkpoint(tmp_path, CONFIG, WEIGHTS))
    array = checkpoint.tensors["wte.weight"].read()
    checkpoint.close()
    checkpoint.close()
    np.testing.assert_array_equal(array, WEIGHTS["wte.weight"])
    with pytest.raises(WeightError, match="closed"):
        checkpoint.tensors["wte.weight"].read()


def test_unaligned_data_is_read(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, CONFIG, WEIGHTS)
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    spaced = raw[8 : 8 + length] + b" "
    path.write_bytes(len(spaced).to_bytes(8, "little") + spaced + raw[8 + length :])
    with open_checkpoint(folder) as checkpoint:
        assert_holds(checkpoint, WEIGHTS)
        assert checkpoint.tensors["wte.weight"].read().flags.aligned


def test_float64_beyond_float32_is_refused(tmp_path: Path) -> None:
    huge = WEIGHTS | {"ln_f.bias": np.full(12, 1e300)}
    folder = write_checkpoint(tmp_path, CONFIG, huge, dtype="float64")
    with open_checkpoint(folder) as checkpoint, pytest.raises(WeightError, match="beyond float32"):
        checkpoint.tensors["ln_f.bias"].read()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_special_values_survive(tmp_path: Path, dtype: str) -> None:
    values = np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0, 2**-14, 2**-24, 1, -1, 0.5, 2, 3])
    folder = write_checkpoint(tmp_path, CONFIG, WEIGHTS | {"ln_f.bias": values}, dtype=dtype)
    with open_checkpoint(folder) as checkpoint:
        array = checkpoint.tensors["ln_f.bias"].read()
    np.testing.assert_array_equal(array, values)
    numbers = ~np.isnan(values)  # the sign of a NaN means nothing, and writers change it
    np.testing.assert_array_equal(np.signbit(array)[numbers], np.signbit(values)[numbers])


def test_saved_masks_are_ignored(tmp_path: Path) -> None:
    mask = np.tril(np.ones((1, 1, 7, 7), bool))
    masks: Arrays = {f"h.{i}.attn.bias": mask for i in range(2)}
    masks |= {f"h.{i}.attn.masked_bias": np.array(-1e4, np.float32) for i in range(2)}
    with open_checkpoint(write_checkpoint(tmp_path, CONFIG, WEIGHTS | masks)) as checkpoint:
        assert_holds(checkpoint, WEIGHTS)


def test_a_model_without_biases_has_zeros(tmp_path: Path) -> None:
    bare = without_biases(linear(WEIGHTS))
    zeros = {n: np.zeros_like(a) for n, a in WEIGHTS.items() if n.endswith(".bias")}
    with open_checkpoint(write_checkpoint(tmp_path, CONFIG, bare)) as checkpoint:
        assert_holds(checkpoint, WEIGHTS | zeros)
        assert checkpoint.tensors["ln_f.bias"].read_rows(2, 5).shape == (3,)


def test_one_kind_of_bias_may_be_absent(tmp_path: Path) -> None:
    norms = {n: np.zeros_like(a) for n, a in WEIGHTS.items() if "ln_" in n and n.endswith("bias")}
    rest = {n: a for n, a in WEIGHTS.items() if n not in norms}
    with open_checkpoint(write_checkpoint(tmp_path, CONFIG, rest)) as checkpoint:
        assert_holds(checkpoint, WEIGHTS | norms)


def test_one_missing_bias_is_refused(tmp_path: Path) -> None:
    rest = {n: a for n, a in WEIGHTS.items() if n != "h.1.attn.c_attn.bias"}
    assert "missing tensors: h.1.attn.c_attn.bias:" in refused(tmp_path, rest)


class TestHead:
    """`lm_head.weight` is kept only where it is not the embedding."""

    def test_equal_copy_is_tied(self, tmp_path: Path) -> None:
        copy = WEIGHTS | {"lm_head.weight": WEIGHTS["wte.weight"]}
        with open_checkpoint(write_checkpoint(tmp_path, CONFIG, copy)) as checkpoint:
            assert_holds(checkpoint, WEIGHTS)

    def test_other_values_are_untied_whatever_the_config_says(self, tmp_path: Path) -> None:
        for tied in (True, False):
            config = tiny_config(tie_word_embeddings=tied)
            with open_checkpoint(write_checkpoint(tmp_path, config, UNTIED)) as checkpoint:
                assert_holds(checkpoint, UNTIED)

    def test_one_differing_bit_is_untied(self, tmp_path: Path) -> None:
        head = WEIGHTS["wte.weight"].copy()
        head[-1, -1] = np.nextafter(head[-1, -1], np.float32(9))
        nearly = WEIGHTS | {"lm_head.weight": head}
        with open_checkpoint(write_checkpoint(tmp_path, CONFIG, nearly)) as checkpoint:
            assert_holds(checkpoint, nearly)

    def test_untied_by_config_is_kept_even_if_equal(self, tmp_path: Path) -> None:
        config = tiny_config(tie_word_embeddings=False)
        copy = WEIGHTS | {"lm_head.weight": WEIGHTS["wte.weight"]}
        with open_checkpoint(write_checkpoint(tmp_path, config, copy)) as checkpoint:
            assert_holds(checkpoint, copy)

    def test_untied_by_config_must_be_there(self, tmp_path: Path) -> None:
        config = tiny_config(tie_word_embeddings=False)
        assert "missing tensors: lm_head.weight:" in refused(tmp_path, WEIGHTS, config)

    def test_shape(self, tmp_path: Path) -> None:
        wide = WEIGHTS | {"lm_head.weight": np.zeros((14, 12), np.float32)}
        assert "lm_head.weight [14, 12] instead of [13, 12]" in refused(tmp_path, wide)


def test_missing_and_extra_tensors_are_listed(tmp_path: Path) -> None:
    changed = {n: a for n, a in WEIGHTS.items() if n not in ("wpe.weight", "ln_f.weight")}
    message = refused(tmp_path, changed | {"h.0.rotary": np.zeros(3, np.float32)})
    assert "missing tensors: wpe.weight, ln_f.weight;" in message
    assert "not part of the model: h.0.rotary:" in message


def test_long_lists_are_cut_with_a_count(tmp_path: Path) -> None:
    message = refused(tmp_path, WEIGHTS, tiny_config(n_layer=4))
    assert "h.2.ln_1.weight" in message
    assert "... (24 in all)" in message
    assert message.count("h.") <= 9


@pytest.mark.parametrize("name", list(WEIGHTS))
def test_each_wrong_shape_is_named(tmp_path: Path, name: str) -> None:
    wrong = np.zeros((*WEIGHTS[name].shape, 1), np.float32)
    assert f"{name} {list(wrong.shape)} instead of" in refused(tmp_path, WEIGHTS | {name: wrong})


@pytest.mark.parametrize(("dtype", "short"), [("int8", "I8"), ("int32", "I32"), ("bool", "BOOL")])
def test_integer_weights_are_refused(tmp_path: Path, dtype: str, short: str) -> None:
    message = refused(tmp_path, WEIGHTS | {C_PROJ: np.ones((12, 12), dtype)})
    assert f"unsupported dtypes: {C_PROJ} {short}:" in message


def test_float8_weights_are_refused(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    write_checkpoint(tmp_path, CONFIG, WEIGHTS)
    tensors = {n: torch.from_numpy(a) for n, a in WEIGHTS.items()}
    tensors[C_PROJ] = tensors[C_PROJ].to(torch.float8_e4m3fn)
    save_file(tensors, tmp_path / "model.safetensors")
    assert f"unsupported dtypes: {C_PROJ} F8_E4M3:" in refusal(tmp_path)


def test_a_tensor_given_twice_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, WEIGHTS | {"transformer.ln_f.bias": WEIGHTS["ln_f.bias"]})
    assert "given twice under different prefixes: transformer.ln_f.bias" in message


def test_odd_names_stay_one_line(tmp_path: Path) -> None:
    message = refused(tmp_path, WEIGHTS | {"a\nb\x1b[31m\u2028": np.zeros(1, np.float32)})
    assert r"a\nb\x1b[31m\u2028" in message


class TestPaths:
    def test_nothing_there(self, tmp_path: Path) -> None:
        refusal(tmp_path / "no-model", ModelNotFound)
        refusal(tmp_path / ("x" * 5000), ModelNotFound)
        refusal(tmp_path / "nul\0", ModelNotFound)

    def test_folder_without_weights(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(json.dumps(CONFIG))
        assert "no weights" in refusal(tmp_path)

    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            ("pytorch_model.bin", "convert them to safetensors"),
            ("model-q8.gguf", "give the path of that file"),
            ("other.safetensors", "give the path of that file"),
        ],
    )
    def test_folder_with_other_files(self, tmp_path: Path, name: str, advice: str) -> None:
        (tmp_path / name).write_bytes(b"x")
        message = refusal(tmp_path)
        assert name in message
        assert advice in message

    @pytest.mark.parametrize("name", ["model.onnx", "pytorch_model.bin", "model", "weights.PT"])
    def test_unknown_formats(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"x")
        message = refusal(tmp_path / name)
        assert ".safetensors, .safetensors.index.json, .gguf" in message

    def test_config_is_needed(self, tmp_path: Path) -> None:
        save_arrays(tmp_path / "model.safetensors", WEIGHTS)
        with pytest.raises(ConfigError, match=r"config\.json: no such file"):
            open_checkpoint(tmp_path)

    def test_a_folder_in_place_of_the_file(self, tmp_path: Path) -> None:
        write_checkpoint(tmp_path, CONFIG, WEIGHTS)
        (tmp_path / "model.safetensors").unlink()
        (tmp_path / "model.safetensors").mkdir()
        assert "no such file" in refusal(tmp_path)
