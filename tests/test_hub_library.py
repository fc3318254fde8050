"""Models in the cache: found, listed, imported, checked, removed, without any network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpt2gl.config import GPT2_SHAPES, ModelConfig
from gpt2gl.errors import Gpt2glError, ModelNotFound, OptionError, VerificationError, WeightError
from gpt2gl.hub import library
from gpt2gl.hub.events import Pulled
from gpt2gl.hub.importing import import_model
from gpt2gl.hub.known import KNOWN, hub_id, is_local_name
from gpt2gl.hub.manifest import MANIFEST_NAME, FileRecord
from gpt2gl.hub.paths import cache_root, model_folder
from gpt2gl.loading import find_checkpoint
from gpt2gl.weights.names import expected_shapes
from tests.checkpoints import write_checkpoint


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "my-model")


def imported(path: Path, name: str | None = None) -> str:
    *_, last = import_model(path, name)
    assert isinstance(last, Pulled)
    return last.model


def test_the_cache_is_where_the_environment_says(cache, monkeypatch):
    assert cache_root() == cache
    monkeypatch.delenv("GPT2GL_CACHE_DIR")
    assert cache_root().name == "gpt2gl"


@pytest.mark.parametrize("name", [n for n in KNOWN if n in GPT2_SHAPES])
def test_parameters_of_known_models(name):
    config = ModelConfig.gpt2(name)
    sizes = (n for n in map(_size, expected_shapes(config).values()))
    assert KNOWN[name].parameters == sum(sizes)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def test_known_models_are_complete():
    assert {"gpt2", "gpt2-xl", "distilgpt2", "microsoft/DialoGPT-small"} <= KNOWN.keys()
    for model in KNOWN.values():
        assert hub_id(model.id) == model.id
        # Some are stored as float16, with masks and a copy of the embedding.
        assert 2 * model.parameters < model.download_bytes < 5 * model.parameters


def test_names():
    assert hub_id("gpt2") == "openai-community/gpt2"
    assert hub_id("a/b-c.d_e") == "a/b-c.d_e"
    assert hub_id("a/model.gguf") is None
    assert is_local_name("my-model_1.5")
    assert not any(map(is_local_name, ("", "a/b", "a--b", "..", ".x", "x.gguf", "a b", "x" * 65)))


def test_an_imported_folder_is_found_by_name(folder):
    assert imported(folder) == "my-model"
    for path in folder.iterdir():
        path.unlink()
    with find_checkpoint("my-model") as checkpoint:
        assert checkpoint.source == model_folder("my-model")
    assert [model.id for model in library.installed()] == ["my-model"]


def test_only_what_belongs_to_a_model_is_imported(folder):
    (folder / "notes.txt").write_text("mine")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    imported(folder)
    names = {path.name for path in model_folder("my-model").iterdir()}
    assert names == {"config.json", "model.safetensors", MANIFEST_NAME}


def test_one_file_or_shards_are_imported(folder, tmp_path):
    assert imported(folder / "model.safetensors", "single") == "single"
    sharded = write_checkpoint(tmp_path / "parts", shards=2)
    assert imported(sharded) == "parts"
    for name in ("single", "parts"):
        find_checkpoint(name).close()


@pytest.mark.parametrize("name", ["gpt2", "storyteller", "a/b", "../x", "a--b", ""])
def test_names_that_an_import_cannot_have(folder, name):
    with pytest.raises(OptionError, match="--name is"):
        imported(folder, name)
    assert library.installed() == []


def test_a_name_that_is_taken(folder):
    imported(folder)
    with pytest.raises(OptionError, match="in the cache already"):
        imported(folder)
    assert list(library.verify("my-model"))


def test_what_cannot_be_opened_is_not_imported(folder):
    (folder / "model.safetensors").write_bytes(b"short")
    with pytest.raises(WeightError):
        imported(folder)
    assert library.installed() == []


def test_a_cancelled_import_leaves_nothing(folder, cache):
    events = import_model(folder)
    next(events)
    events.close()
    assert not [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert imported(folder) == "my-model"


def test_verify_names_what_is_damaged(folder):
    imported(folder)
    assert list(library.verify("my-model"))
    path = model_folder("my-model") / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(VerificationError, match=r"model\.safetensors") as caught:
        list(library.verify("my-model"))
    assert caught.value.exit_code == 1
    # The size is right: only reading all of it tells.
    assert library.find("my-model") is not None


@pytest.mark.parametrize("damage", ["missing", "short", "manifest", "no manifest"])
def test_an_incomplete_model_is_not_found(folder, damage):
    imported(folder)
    place = model_folder("my-model")
    if damage == "missing":
        (place / "config.json").unlink()
    elif damage == "short":
        os.truncate(place / "model.safetensors", 10)
    elif damage == "manifest":
        (place / MANIFEST_NAME).write_text('{"id": "my-model", "files": [{"name": "../x"}]}')
    else:
        (place / MANIFEST_NAME).unlink()
    assert library.find("my-model") is None
    with pytest.raises(ModelNotFound, match="no model 'my-model'"):
        find_checkpoint("my-model")
    assert library.remove("my-model") > 0


def test_remove_frees_everything(folder):
    imported(folder)
    size = library.find("my-model").manifest.nbytes
    assert library.remove("my-model") > size
    assert not model_folder("my-model").exists()
    with pytest.raises(ModelNotFound, match="not in the cache"):
        library.remove("my-model")


@pytest.mark.parametrize("name", ["nope", "../..", "/", "", "gpt2", "a/b"])
def test_remove_and_verify_of_what_is_not_there(name, cache):
    (cache / "models").mkdir(parents=True)
    for act in (library.remove, lambda name: list(library.verify(name))):
        with pytest.raises(ModelNotFound):
            act(name)
    assert (cache / "models").is_dir()


@pytest.mark.parametrize(
    ("name", "size", "digest"),
    [
        ("../x", 1, "sha256:" + "0" * 64),
        ("a/b", 1, "sha256:" + "0" * 64),
        ("x", -1, "sha256:" + "0" * 64),
        ("x", True, "sha256:" + "0" * 64),
        ("x", 1, "md5:" + "0" * 32),
        (".hidden", 1, "git-sha1:" + "0" * 40),
    ],
)
def test_impossible_records(name, size, digest):
    with pytest.raises(ValueError, match="impossible"):
        FileRecord(name, size, digest)


def test_local_names_need_no_client(folder):
    """What is on this machine is found without the hub's client, let alone a network."""
    import subprocess
    import sys

    imported(folder)
    program = (
        "import sys; from gpt2gl.loading import find_checkpoint;"
        f"[find_checkpoint(n).close() for n in ('storyteller', 'my-model', {str(folder)!r})];"
        "print([m for m in sys.modules if m.startswith(('huggingface_hub', 'httpx'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_errors_are_one_line():
    for name in ("nope", "a\nb", "x" * 500):
        with pytest.raises(Gpt2glError) as caught:
            find_checkpoint(name)
        assert "\n" not in str(caught.value)
