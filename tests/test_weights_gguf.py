"""GGUF models: every supported type against the `gguf` package, and damaged files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader, TokenType
from gguf.quants import dequantize

from gpt2gl.config import ModelConfig
from gpt2gl.errors import ConfigError, Gpt2glError, WeightError
from gpt2gl.weights import open_checkpoint
from gpt2gl.weights.gguf import PLAIN_TYPES, QUANTISED_TYPES
from gpt2gl.weights.names import TRANSPOSABLE
from tests.checkpoints import tiny_config, tiny_weights
from tests.gguf_files import MERGES, TOKEN_TYPES, TOKENS, gguf_name, write_gguf

CONFIG = tiny_config(bos_token_id=None, eos_token_id=None)
WEIGHTS = tiny_weights(CONFIG)
WIDE = tiny_config(n_embd=256, n_head=4, n_layer=1, n_inner=512)
TOKENIZER = {"model": "gpt2", "tokens": TOKENS, "token_type": TOKEN_TYPES, "merges": MERGES}


def refusal(path: Path, kind: type[Gpt2glError] = WeightError) -> str:
    with pytest.raises(kind) as caught:
        open_checkpoint(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("kind", PLAIN_TYPES)
def test_plain_types(tmp_path: Path, kind: str) -> None:
    path = write_gguf(tmp_path / "m.gguf", CONFIG, WEIGHTS, kind)
    with open_checkpoint(path) as checkpoint:
        assert checkpoint.config == ModelConfig.from_dict(CONFIG)
        assert checkpoint.tokenizer_source is checkpoint.tokenizer_vocab is None
        assert list(checkpoint.tensors) == list(WEIGHTS)
        assert checkpoint.tensors["wte.weight"].dtype == kind
        for name, expected in WEIGHTS.items():
            np.testing.assert_array_equal(checkpoint.tensors[name].read(), expected, err_msg=name)


@pytest.mark.parametrize("kind", QUANTISED_TYPES)
def test_quantised_types(tmp_path: Path, kind: str) -> None:
    path = write_gguf(tmp_path / "m.gguf", WIDE, tiny_weights(WIDE), kind)
    stored = {t.name: t for t in GGUFReader(path).tensors}
    with open_checkpoint(path) as checkpoint:
        assert checkpoint.tensors["h.0.mlp.c_fc.weight"].dtype == kind
        for name, tensor in checkpoint.tensors.items():
            theirs = stored[gguf_name(name)]
            with np.errstate(all="ignore"):
                expected = dequantize(theirs.data, theirs.tensor_type)
            expected = expected.T if name.endswith(TRANSPOSABLE) else expected
            np.testing.assert_array_equal(tensor.read(), expected, err_msg=name)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q6_K"])
def test_quantised_rows_equal_the_whole(tmp_path: Path, kind: str) -> None:
    path = write_gguf(tmp_path / "m.gguf", WIDE, tiny_weights(WIDE), kind)
    with open_checkpoint(path) as checkpoint:
        for name in ("wte.weight", "h.0.attn.c_proj.weight", "h.0.mlp.c_proj.weight"):
            tensor = checkpoint.tensors[name]
            whole, rows = tensor.read(), tensor.shape[0]
            for start, stop in [(0, 1), (1, rows - 1), (rows // 3, rows), (5, 5), (0, 0)]:
                part = tensor.read_rows(start, stop)
                assert part.flags.c_contiguous
                np.testing.assert_array_equal(part, whole[start:stop])


def test_quantised_values_are_near_the_originals(tmp_path: Path) -> None:
    weights = tiny_weights(WIDE)
    path = write_gguf(tmp_path / "m.gguf", WIDE, weights, "Q8_0")
    with open_checkpoint(path) as checkpoint:
        for name, expected in weights.items():
            array = checkpoint.tensors[name].read()
            np.testing.assert_allclose(array, expected, atol=2 / 127 / 2 + 1e-3, err_msg=name)


def test_unsupported_types_are_named(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", CONFIG, WEIGHTS, "I8")
    assert "unsupported dtypes: wte.weight I8" in refusal(path)


def test_head(tmp_path: Path) -> None:
    untied = tiny_weights(CONFIG, untied=True)
    with open_checkpoint(write_gguf(tmp_path / "u.gguf", CONFIG, untied)) as checkpoint:
        head = checkpoint.tensors["lm_head.weight"].read()
        np.testing.assert_array_equal(head, untied["lm_head.weight"])
    copy = WEIGHTS | {"lm_head.weight": WEIGHTS["wte.weight"]}
    with open_checkpoint(write_gguf(tmp_path / "t.gguf", CONFIG, copy)) as checkpoint:
        assert "lm_head.weight" not in checkpoint.tensors


def test_reading_after_close(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write_gguf(tmp_path / "m.gguf", WIDE, tiny_weights(WIDE), "Q8_0"))
    checkpoint.close()
    with pytest.raises(WeightError, match="closed"):
        checkpoint.tensors["wte.weight"].read()


class TestVocabulary:
    def open(self, tmp_path: Path, **changes: Any) -> Any:
        values = {k: v for k, v in (TOKENIZER | changes).items() if v is not None}
        path = write_gguf(tmp_path / "m.gguf", CONFIG, WEIGHTS, tokenizer=values)
        with open_checkpoint(path) as checkpoint:
            return checkpoint

    def refusal(self, tmp_path: Path, **changes: Any) -> str:
        path = write_gguf(tmp_path / "m.gguf", CONFIG, WEIGHTS, tokenizer=TOKENIZER | changes)
        return refusal(path)

    def test_tokens_merges_and_special(self, tmp_path: Path) -> None:
        checkpoint = self.open(tmp_path, pre="gpt-2", eos_token_id=4, bos_token_id=4)
        vocab = checkpoint.tokenizer_vocab
        assert vocab.vocab == {"a": 0, "b": 1, "c": 2, "ab": 3}
        assert vocab.special == {"<|endoftext|>": 4}
        assert vocab.merges == [("a", "b")]
        assert (checkpoint.config.bos_token_id, checkpoint.config.eos_token_ids) == (4, (4,))

    def test_without_token_types_all_are_normal(self, tmp_path: Path) -> None:
        vocab = self.open(tmp_path, token_type=None).tokenizer_vocab
        assert vocab.vocab == {text: i for i, text in enumerate(TOKENS)}
        assert vocab.special == {}

    @pytest.mark.parametrize("changes", [{"model": "llama"}, {"pre": "llama-bpe"}])
    def test_other_kinds_are_not_passed_on(self, tmp_path: Path, changes: Any) -> None:
        assert self.open(tmp_path, **changes).tokenizer_vocab is None

    def test_damaged_lists(self, tmp_path: Path) -> None:
        assert "'a' is given twice" in self.refusal(tmp_path, tokens=["a", "a", *TOKENS[2:]])
        assert "'ab' is not a merge" in self.refusal(tmp_path, merges=["ab"])
        assert "'a b c' is not a merge" in self.refusal(tmp_path, merges=["a b c"])
        assert "merges is missing or not a list" in self.refusal(tmp_path, merges=[1, 2])
        assert "does not fit token_type" in self.refusal(tmp_path, token_type=[TokenType.NORMAL])
        many = [f"t{i}" for i in range(14)]
        message = self.refusal(tmp_path, tokens=many, token_type=[1] * 14)
        assert "or the embedding" in message


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return write_gguf(tmp_path / "m.gguf", CONFIG, WEIGHTS, tokenizer=TOKENIZER)

    def patch(self, path: Path, offset: int, form: str, value: int) -> None:
        raw = bytearray(path.read_bytes())
        struct.pack_into(form, raw, offset, value)
        path.write_bytes(raw)

    def test_other_architectures(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "m.gguf", CONFIG, WEIGHTS, arch="llama")
        assert "architecture is 'llama'" in refusal(path)

    def test_not_gguf(self, tmp_path: Path) -> None:
        path = tmp_path / "m.gguf"
        for raw, reason in [(b"", "empty"), (b"GG", "not a GGUF"), (b"x" * 99, "not a GGUF")]:
            path.write_bytes(raw)
            assert reason in refusal(path)

    @pytest.mark.parametrize("version", [0, 1, 4, 3 << 24])
    def test_other_versions(self, path: Path, version: int) -> None:
        self.patch(path, 4, "<I", version)
        assert f"GGUF version {version} is not supported" in refusal(path)

    @pytest.mark.parametrize("offset", [8, 16, 24])
    @pytest.mark.parametrize("value", [2**40, 2**62, 2**64 - 1])
    def test_absurd_counts_end_at_once(self, path: Path, offset: int, value: int) -> None:
        self.patch(path, offset, "<Q", value)
        refusal(path)

    def test_absurd_array_length_ends_at_once(self, path: Path) -> None:
        raw = path.read_bytes()
        key = b"tokenizer.ggml.tokens"
        self.patch(path, raw.index(key) + len(key) + 8, "<Q", 2**62)
        assert "metadata array is too large" in refusal(path)

    def test_absurd_dimensions(self, path: Path) -> None:
        raw = path.read_bytes()
        key = b"token_embd.weight"
        at = raw.index(key) + len(key)
        self.patch(path, at, "<I", 9)
        assert "a tensor of 9 dimensions" in refusal(path)
        self.patch(path, at, "<I", 2)
        self.patch(path, at + 4, "<Q", 2**63)
        assert "a tensor lies outside the file" in refusal(path)

    def test_truncated_at_every_length(self, path: Path) -> None:
        raw = path.read_bytes()
        end = len(raw) - 16  # the last vector of 48 bytes is padded to 64
        for size in [*range(0, 200, 7), *range(200, end, 997), end - 1]:
            path.write_bytes(raw[:size])
            refusal(path)

    def test_missing_metadata(self, path: Path) -> None:
        raw = path.read_bytes()
        path.write_bytes(raw.replace(b"gpt2.block_count", b"gpt2.block_kount"))
        assert "gpt2.block_count is missing" in refusal(path)

    def test_missing_tensors(self, path: Path) -> None:
        raw = path.read_bytes()
        path.write_bytes(raw.replace(b"token_embd", b"token_ambd"))
        assert "token_embd.weight is missing" in refusal(path)
        path.write_bytes(raw.replace(b"blk.1.attn_norm.bias", b"blk.1.attn_ngrm.bias"))
        message = refusal(path)
        assert "missing tensors: h.1.ln_1.bias" in message
        assert "not part of the model: blk.1.attn_ngrm.bias" in message

    def test_impossible_config(self, path: Path) -> None:
        raw = path.read_bytes()
        key = b"gpt2.attention.head_count"
        self.patch(path, raw.index(key) + len(key) + 4, "<I", 5)
        assert "n_head is 5" in refusal(path, ConfigError)

    def test_metadata_that_is_not_text(self, path: Path) -> None:
        path.write_bytes(path.read_bytes().replace(b"<|end", b"<|\xff\xff\xff"))
        assert "metadata is not UTF-8" in refusal(path)
