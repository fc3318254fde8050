"""Templates: DialoGPT's documented format, transcripts, and how a model's own is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpt2gl.errors import ConfigError, TokenizerError
from gpt2gl.hub.importing import import_model
from gpt2gl.resources import embedded_models
from gpt2gl.templates import (
    ASSISTANT,
    FILE_NAME,
    USER,
    Completion,
    EosSeparated,
    Template,
    Transcript,
    Turn,
    template_for,
    template_of,
)
from gpt2gl.tokenizer import Tokenizer
from tests.checkpoints import write_checkpoint

EOS = "<|endoftext|>"
GPT2_EOS = 50256
TURNS = [
    Turn(USER, "Does money buy happiness?"),
    Turn(ASSISTANT, "Depends how much money you spend on it ."),
    Turn(USER, "What is the best way to buy happiness ?"),
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """GPT-2's, which is DialoGPT's too."""
    return Tokenizer.from_directory(Path(__file__).parent / "data" / "gpt2_bpe")


def test_dialogpt_documented_format(tokenizer: Tokenizer) -> None:
    """The model card encodes `turn + eos_token` for each turn and joins the ids; its chat template
    is `{{ message.content }}{{ eos_token }}` for each message."""
    documented = "".join(f"{turn.text}{EOS}" for turn in TURNS)
    found = EosSeparated().prompt(TURNS, tokenizer)
    assert found == tokenizer.encode_with_special(documented)
    assert found.count(GPT2_EOS) == len(TURNS)
    assert EosSeparated().stops == ()


def test_dialogpt_known_ids(tokenizer: Tokenizer) -> None:
    turns = [Turn(USER, "Hello"), Turn(ASSISTANT, "How are you?")]
    expected = [15496, GPT2_EOS, 2437, 389, 345, 30, GPT2_EOS]
    assert EosSeparated().prompt(turns, tokenizer) == expected


@pytest.mark.parametrize("template", [EosSeparated(), Transcript(), Completion()])
def test_special_tokens_in_messages_are_plain_text(
    template: Template, tokenizer: Tokenizer
) -> None:
    said = f"what does {EOS} mean?"
    found = template.prompt([Turn(USER, said)], tokenizer)
    assert found.count(GPT2_EOS) == (1 if isinstance(template, EosSeparated) else 0)
    assert said in tokenizer.decode(found)


def test_eos_separated_needs_an_end_of_text_token(tokenizer: Tokenizer) -> None:
    class NoEnd:
        eos_id = None
        encode = tokenizer.encode

    with pytest.raises(TokenizerError, match="no end-of-text token"):
        EosSeparated().prompt(TURNS, NoEnd())


def test_transcript(tokenizer: Tokenizer) -> None:
    template = Transcript("Alice", "Bob")
    turns = [Turn(USER, "Hi "), Turn(ASSISTANT, " Hello.\n"), Turn(USER, "Who are you?")]
    expected = "Alice: Hi\nBob: Hello.\nAlice: Who are you?\nBob:"
    assert tokenizer.decode(template.prompt(turns, tokenizer)) == expected
    assert template.stops == ("\nAlice:", "\nBob:")


def test_completion_continues_the_text(tokenizer: Tokenizer) -> None:
    turns = [Turn(USER, "Once"), Turn(ASSISTANT, " upon a time."), Turn(USER, "The king")]
    found = Completion().prompt(turns, tokenizer)
    assert tokenizer.decode(found) == "Once upon a time.\nThe king"
    assert Completion().prompt([], tokenizer) == []


# Which template -----------------------------------------------------------------------------------


def test_storyteller() -> None:
    assert template_for("storyteller") == EosSeparated()
    assert template_for(str(embedded_models()["storyteller"])) == EosSeparated()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("microsoft/DialoGPT-medium", EosSeparated()),
        ("DialoGPT-small", EosSeparated()),
        ("dialogpt-large.Q8_0.gguf", EosSeparated()),
        ("gpt2", Transcript()),
        ("random:gpt2", Transcript()),
        ("dialogpt-experiments/gpt2", Transcript()),
    ],
)
def test_by_name(name: str, expected: Template) -> None:
    assert template_for(name) == expected


def test_by_the_name_of_a_hugging_face_cache(tmp_path: Path) -> None:
    folder = tmp_path / "models--microsoft--DialoGPT-medium" / "snapshots" / "0123"
    folder.mkdir(parents=True)
    assert template_for(str(folder)) == EosSeparated()


def test_a_model_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(tmp_path / "cache"))
    folder = write_checkpoint(tmp_path / "model")
    (folder / FILE_NAME).write_text('{"template": "none"}')
    assert template_for("mine") == Transcript()
    list(import_model(folder, "mine"))
    assert template_for("mine") == Completion()


def test_by_what_the_model_was_tuned_from(tmp_path: Path) -> None:
    config = {"_name_or_path": "microsoft/DialoGPT-small"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert template_for(str(tmp_path)) == EosSeparated()
    assert template_of(tmp_path, config) == EosSeparated()
    assert template_of(tmp_path, {}) == Transcript()


def test_weight_file_takes_the_folders_template(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"template": "none"}')
    weights = tmp_path / "dialogpt.gguf"
    weights.touch()
    assert template_for(str(weights)) == Completion()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"template": "eos-separated"}, EosSeparated()),
        ({"template": "none"}, Completion()),
        ({"template": "transcript"}, Transcript()),
        ({"template": "transcript", "user": "A", "assistant": "B"}, Transcript("A", "B")),
    ],
)
def test_dialogue_file(content: object, expected: Template, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps(content))
    assert template_for(str(tmp_path)) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        b'{"template": "llama"}',
        b'{"template": ["none"]}',
        b'{"template": "none", "user": "A"}',
        b'{"template": "transcript", "user": ""}',
        b'{"template": "transcript", "user": 3}',
        b'{"template": "transcript", "user": "A\\nB"}',
        b'{"template": "transcript", "user": "A", "assistant": "A"}',
        b'{"template": "none", "template": "none"}',
    ],
)
def test_damaged_dialogue_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        template_for(str(tmp_path))
    assert FILE_NAME in str(caught.value)
    assert "\n" not in str(caught.value)


def test_dialogue_file_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(ConfigError, match="not a file"):
        template_for(str(tmp_path))
