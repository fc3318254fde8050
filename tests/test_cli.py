"""`gpt2gl generate` in this process: options, input, output, and one line for every error."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

import gpt2gl
from gpt2gl.cli import COMMANDS, run
from gpt2gl.session import Session
from tests.checkpoints import TINY, tiny_weights, write_checkpoint

PROMPT = "Once upon a time there was a king"
GREEDY = ("--greedy", "--max-tokens", "8")


@pytest.fixture(scope="module")
def story() -> Iterator[Session]:
    with gpt2gl.load() as session:
        yield session


@pytest.fixture
def generate(story, monkeypatch, capfdbinary) -> Callable[..., SimpleNamespace]:
    """Runs `generate` on a model that is loaded already; no model is closed by it."""
    monkeypatch.setattr(
        "gpt2gl.cli.generate.load_with_progress", lambda model, precision, tune: nullcontext(story)
    )

    def call(*arguments: str) -> SimpleNamespace:
        code = run(["generate", *arguments])
        out, err = capfdbinary.readouterr()
        return SimpleNamespace(code=code, out=out.decode("utf-8"), err=err.decode("utf-8"))

    return call


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Puts bytes on standard input."""

    def put(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


def api_text(session: Session, prompt: str = PROMPT, **options: object) -> str:
    settings = gpt2gl.Generation(gpt2gl.Sampling(temperature=0), 8, **options)
    events = session.generate(prompt, settings)
    return "".join(e.text for e in events if isinstance(e, gpt2gl.Token | gpt2gl.Finished))


# What is printed --------------------------------------------------------------------------------


def test_text_on_stdout_and_summary_on_stderr(generate, story):
    done = generate(PROMPT, *GREEDY, "--seed", "7")
    assert done.code == 0
    assert done.out == f"{PROMPT}{api_text(story)}\n"
    assert re.fullmatch(
        r"8 tokens, [\d.]+ tokens/s, first after [\d.]+ s, ended by length, seed 7,"
        r" storyteller fp32, .+\n",
        done.err,
    )


def test_quiet_and_no_echo(generate, story):
    done = generate(PROMPT, *GREEDY, "--quiet", "--no-echo")
    assert (done.out, done.err) == (f"{api_text(story)}\n", "")


def test_json_is_one_object(generate, story):
    done = generate(PROMPT, *GREEDY, "--json", "--seed", "3")
    found = json.loads(done.out)
    assert done.err == ""
    assert found["text"] == api_text(story)
    assert (found["prompt"], found["seed"], found["reason"]) == (PROMPT, 3, "length")
    assert story.tokenizer.decode(token["id"] for token in found["tokens"]) == found["text"]
    assert all(token["logprob"] <= 0 for token in found["tokens"])
    assert found["trimmed"] == []


def test_no_tokens(generate):
    done = generate(PROMPT, "--max-tokens", "0")
    assert (done.code, done.out) == (0, f"{PROMPT}\n")
    assert done.err.startswith("0 tokens, 0.0 tokens/s, ended by length, seed ")


def test_an_empty_prompt_starts_from_end_of_text(generate, story):
    end = story.tokenizer.eos_id
    events = story.generate([end], gpt2gl.Generation(gpt2gl.Sampling(temperature=0), 8))
    text = "".join(e.text for e in events if isinstance(e, gpt2gl.Token | gpt2gl.Finished))
    assert generate("", *GREEDY, "-q").out == f"{text}\n"


def test_the_same_seed_gives_the_same_text(generate):
    texts = [generate(PROMPT, "--seed", seed, "--max-tokens", "12").out for seed in "556"]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_stop(generate, story):
    text = api_text(story)
    stop = text[len(text) // 2 :][:5]
    done = generate(PROMPT, *GREEDY, "--no-echo", "--stop", stop)
    assert done.out == f"{text[: text.index(stop)]}\n"
    assert "ended by stop" in done.err


def test_a_long_prompt_is_trimmed_with_one_line(generate, monkeypatch):
    monkeypatch.setattr("gpt2gl.run.CONTEXT_POLICIES", {"roll": lambda t, n, k: t[-9:]})
    done = generate("word " * 1100, "--max-tokens", "1", "--context-policy", "roll", "--no-echo")
    notice, summary = done.err.splitlines()
    assert re.fullmatch(
        r"gpt2gl: the prompt is longer than the model's context: \d+ of its tokens are left out,"
        r" 9 are kept",
        notice,
    )
    assert "context full 1 times" in summary


# Options that name tokens -----------------------------------------------------------------------


def first_token(story: Session) -> int:
    return int(story.logits(story.prompt_tokens(PROMPT)).argmax())


def ids(done: SimpleNamespace) -> list[int]:
    return [token["id"] for token in json.loads(done.out)["tokens"]]


@pytest.mark.parametrize("named", ["{id}", "{text}", "{quoted}"])
def test_logit_bias_by_id_and_by_text(generate, story, named):
    token = first_token(story)
    text = story.tokenizer.decode([token])
    name = named.format(id=token, text=text, quoted=json.dumps(text))
    assert ids(generate(PROMPT, *GREEDY, "--json"))[0] == token
    assert ids(generate(PROMPT, *GREEDY, "--json", "--logit-bias", f"{name}=-100"))[0] != token


def test_logit_bias_forces(generate, story):
    (comma,) = story.tokenizer.encode(",")
    biases = ("--logit-bias", f"{comma}=1", "--logit-bias", ",=100")
    assert ids(generate(PROMPT, *GREEDY, "--json", *biases)) == [comma] * 8


def test_banned_words(generate, story):
    word = story.tokenizer.decode([first_token(story)])
    words = ("--banned", word.strip(), "--banned", "zebra fish")
    done = generate(PROMPT, *GREEDY, "--no-echo", *words)
    assert not done.out.startswith(word)


# Where the prompt comes from --------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("-",), ("--file", "-")])
def test_standard_input(generate, say, arguments):
    say("né 漢\n".encode())
    assert generate(*arguments, "--max-tokens", "0").out == "né 漢\n\n"


def test_closed_standard_input(generate, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert generate("--max-tokens", "0").out == "\n"


def test_a_file_with_a_byte_order_mark(generate, tmp_path):
    (tmp_path / "prompt.txt").write_bytes(b"\xef\xbb\xbfOnce")
    assert generate("--file", str(tmp_path / "prompt.txt"), "--max-tokens", "0").out == "Once\n"


def test_an_argument_that_is_not_utf8(generate):
    assert generate("a\udcff\udce2\udc82\udcac", "--max-tokens", "0").out == "a\ufffd€\n"
    assert generate("a\ud800", "--max-tokens", "0").out == "a?\n"


# Bad input --------------------------------------------------------------------------------------

BAD_OPTIONS = {
    "--temperature": (["-1", "101", "nan", "x"], "a number from 0 to 100"),
    "--top-k": (["-1", "1.5", "x"], "a whole number of 0 or more"),
    "--top-p": (["0", "-0.1", "1.1", "nan", "x"], "a number above 0, at most 1"),
    "--min-p": (["-0.1", "1.1"], "a number from 0 to 1"),
    "--typical-p": (["0", "1.1"], "a number above 0, at most 1"),
    "--repetition-penalty": (["0", "101"], "a number from 0.01 to 100"),
    "--presence-penalty": (["-2.1", "inf"], "a number from -2 to 2"),
    "--frequency-penalty": (["2.1"], "a number from -2 to 2"),
    "--no-repeat-ngram": (["-1"], "a whole number of 0 or more"),
    "--min-new-tokens": (["-1"], "a whole number of 0 or more"),
    "--seed": (["-1", "1e3", str(2**63)], f"a whole number from 0 to {2**63 - 1}, or none"),
    "--max-tokens": (["-1", "1.5"], "a whole number of 0 or more"),
    "--keep": (["-1"], "a whole number of 0 or more"),
    "--time-limit": (["0", "-1", "inf"], "a number above 0, at most 1000000, or none"),
    "--context-policy": (["x"], "stop | roll | keep-head"),
    "--stop": ([""], "texts that are not empty"),
    "--banned": ([""], "texts that are not empty"),
    "--logit-bias": (
        ["", "5", "=5", "5=", "5=x", "5=101", "5=nan", '"a=1', '""=1'],
        'TOKEN_ID=BIAS or "text"=BIAS with a bias from -100 to 100',
    ),
}
CASES = [
    (option, value, allowed)
    for option, (values, allowed) in BAD_OPTIONS.items()
    for value in values
]


def one_line(capfd: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """The one line that a command with bad input ends with."""
    assert run(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("gpt2gl: ")
    assert err.count("\n") == 1
    return err.removeprefix("gpt2gl: ").rstrip("\n")


@pytest.mark.parametrize(("option", "value", "allowed"), CASES)
def test_bad_options(capfd, option, value, allowed):
    message = one_line(capfd, ["generate", "x", option, value])
    assert message.startswith(f"{option} is ")
    assert message.endswith(f"; allowed: {allowed}")
    # The value as it was typed or as Python writes the number.
    assert value in message.replace(".0;", ";") or str(float(value)) in message


def missing_tensor(folder: Path) -> Path:
    weights = tiny_weights(TINY)
    del weights["h.1.mlp.c_fc.weight"]
    return write_checkpoint(folder, arrays=weights)


def misshapen_tensor(folder: Path) -> Path:
    weights = tiny_weights(TINY)
    weights["wpe.weight"] = weights["wpe.weight"][:-1]
    return write_checkpoint(folder, arrays=weights)


def truncated(folder: Path) -> Path:
    path = write_checkpoint(folder) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    return folder


BAD_MODELS = {
    "missing tensor": (missing_tensor, r"missing tensors: h\.1\.mlp\.c_fc\.weight"),
    "misshapen tensor": (misshapen_tensor, r"wrong shapes: wpe\.weight \[6, 12\] instead of"),
    "truncated": (truncated, r"model\.safetensors"),
    "no tokenizer": (write_checkpoint, r"has no tokenizer: add tokenizer\.json"),
    "empty folder": (lambda folder: folder, r"config\.json|no weights"),
}


@pytest.mark.parametrize(("make", "message"), BAD_MODELS.values(), ids=BAD_MODELS)
def test_bad_models(capfd, tmp_path, make, message):
    folder = make(tmp_path)
    assert re.search(message, one_line(capfd, ["generate", "x", "--model", str(folder)]))


@pytest.mark.parametrize("name", ["nope", "", "n" * 5000, "no\nsuch", "random:nope"])
def test_unknown_models(capfd, name):
    line = one_line(capfd, ["generate", "x", "-m", name])
    assert line.startswith("no ")
    # What there is.
    assert re.search("storyteller$|gpt2, ", line)
    assert len(line) < 200


def test_unknown_precision(capfd):
    line = one_line(capfd, ["generate", "x", "--precision", "fp64"])
    assert line.startswith("--precision is fp64; allowed: ")


def test_unreadable_files(capfd, tmp_path):
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    for name, reason in {
        "none": "No such file or directory: give a file that can be read",
        ".": "Is a directory: give a file that can be read",
        "latin": "is not UTF-8 text (byte 3): convert it",
    }.items():
        assert reason in one_line(capfd, ["generate", "--file", str(tmp_path / name)])


def test_standard_input_that_is_not_utf8(capfd, say):
    say(b"ab\xff")
    line = one_line(capfd, ["generate", "-"])
    assert line == "standard input is not UTF-8 text (byte 2): convert it"


@pytest.mark.parametrize("prompt", ["text", "-"])
def test_two_prompts(capfd, prompt):
    line = one_line(capfd, ["generate", prompt, "--file", "f"])
    assert line == "both a prompt and --file are given: choose one"


TOO_MUCH = [
    ((), "the prompt has 1[0-9]{3} tokens and the model's context holds 1024: shorten it, or"),
    (("--logit-bias", "king of kings=5"), "'king of kings', which is [0-9]+ tokens "),
    (("--logit-bias", "8192=5"), "--logit-bias names token 8192; allowed: .* 0 to 8191"),
]


@pytest.mark.parametrize(("arguments", "message"), TOO_MUCH)
def test_what_this_model_refuses(generate, arguments, message):
    prompt = "x" if arguments else "word " * 1100
    done = generate(prompt, *arguments)
    assert (done.code, done.out) == (2, "")
    assert re.search(message, done.err)
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["generate", "--nope"], ["nope"], ["generate", "a", "b"], ["generate", "x", "--top-k"]],
)
def test_usage_errors(capfd, arguments):
    assert one_line(capfd, arguments).endswith(": see 'gpt2gl --help'")


# The command itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_debug_shows_the_traceback_wherever_it_stands(capfd, place):
    arguments = ["generate", "x", "-m", "nope"]
    assert run([*arguments[:place], "--debug", *arguments[place:]]) == 2
    err = capfd.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert err.splitlines()[-1].startswith("gpt2gl: no model 'nope'")


def test_a_prompt_may_look_like_an_option(generate):
    assert generate("--max-tokens", "0", "--", "--debug").out == "--debug\n"


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_lists_the_commands(capfd, arguments):
    assert run(arguments) == 0
    out = capfd.readouterr().out
    assert "Exit codes: 0 done; 1 a verification failed; 2 bad input;" in " ".join(out.split())
    assert all(re.search(rf"^  {name}  ", out, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capfd, name):
    assert run([name, "--help"]) == 0
    assert f"gpt2gl {name}" in capfd.readouterr().out
