"""Hostile arguments and input: never a traceback, and one line wherever the exit code is not 0."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from huggingface_hub import constants
from hypothesis import given
from hypothesis import strategies as st

import gpt2gl
from gpt2gl.session import Session
from tests.faults.command_line import Done, Unclosed, call, no_driver, parameters, write_tiny_model
from tests.mutations import SOAK_CASES, cases

ARGUMENT_CASES, INPUT_CASES, CHAT_CASES = 900, 400, 200

COMMANDS = dict(parameters())
LOADERS = ("generate", "interactive", "score")
NO_DRIVER = ("verify", "bench", "inspect")
# Values that are right somewhere, so that cases get past the parser.
GOOD = ("0", "1", "2", "3", "0.5", "none", "stop", "roll", "fp32", "int8", "tiny", "mine", "text")
GOOD += ("prompt.txt", "numpy", "balanced", "5=1", '" a"=-2')
# Command-line bytes that are not UTF-8 arrive as lone surrogates; a zero byte cannot arrive.
HOSTILE = ("", " ", "-", "--", "-1", "nan", "inf", "-inf", "1e999", "1_0", "0x10", "9" * 5000)
HOSTILE += ("\udcff", "a\udc80b", "漢😀", "\n", "a\nb", "\r", "\t", "\x1b[31m", "\u202e", "\ufeff")
HOSTILE += ("=", "=1", "1=", f"{'9' * 5000}=1", '"=1', '"\\ud800"=1', "-1=1", "3=nan", "3=1e999")
HOSTILE += (".", "..", "/", "/dev/null", "/nowhere/x", "~", "~nobody-of-that-name/x", "x" * 5000)
HOSTILE += ("[/b]", "[red]", "{}", "%s", "%", "$(x)", "random:", "random:gpt9", "a/b", "A/B/C")
HOSTILE += ("x" * 300, "../tiny", "tiny/model.safetensors", "tiny/config.json", "[b]", "\udcff.d")
values = st.sampled_from(GOOD) | st.sampled_from(HOSTILE) | st.text(max_size=8)
# What the operating system can hand over.
arguments = values.filter(lambda text: "\0" not in text).map(
    lambda text: text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
)
MOST = ["--max-tokens", "2"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, a prompt, and models of odd names."""
    place = tmp_path_factory.mktemp("place")
    for name in ("tiny", "[b]", "[/b]", "a\nb", os.fsdecode(b"\xff.d")):
        # Some file systems refuse some of these names.
        with suppress(OSError):
            write_tiny_model(place / name)
    (place / "prompt.txt").write_text("abc a")
    return place


@pytest.fixture(scope="module")
def session(module_objects: None, place: Path) -> Iterator[Session]:
    with gpt2gl.load(str(place / "tiny"), tune=False) as session:
        yield session


@pytest.fixture
def machine(place: Path, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands have the tiny model, folders of their own, no network and no driver."""
    monkeypatch.chdir(place)
    for name in ("GPT2GL_CACHE_DIR", "GPT2GL_CONFIG_DIR"):
        monkeypatch.setenv(name, str(place / name.lower()))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for module in LOADERS:
        monkeypatch.setattr(
            f"gpt2gl.cli.{module}.load_with_progress", lambda *_: Unclosed(session)
        )
    for module in NO_DRIVER:
        monkeypatch.setattr(f"gpt2gl.cli.{module}.load_with_progress", no_driver)
    monkeypatch.setattr("gpt2gl.cli.doctor.headless", no_driver)


def check(done: Done, codes: tuple[int, ...] = (0, 1, 2, 3)) -> None:
    assert done.code in codes, done
    assert "Traceback" not in done.err
    if done.code:
        *before, last, end = done.err.split("\n")
        assert end == ""
        assert last.startswith("gpt2gl: "), done.err
        assert last.isprintable(), done.err
        # Once a process the software renderer is announced.
        notices = [line for line in before if not line.endswith("the CPU draws")]
        assert all(line.startswith("gpt2gl: ") for line in notices), done.err


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    words, known = draw(st.sampled_from(sorted(COMMANDS.items(), key=lambda each: each[0])))
    line = list(words)
    options = [p for p in known if p.param_type_name == "option" and "--help" not in p.opts]
    for option in draw(st.lists(st.sampled_from(options), max_size=4)) if options else ():
        line.append(draw(st.sampled_from([*option.opts, *option.secondary_opts])))
        if not option.is_flag:
            line.append(draw(arguments))
    line += draw(st.lists(arguments, max_size=2))
    if draw(st.integers(0, 9)) == 0:
        line.insert(draw(st.integers(0, len(line))), draw(arguments))
    # The last of an option counts.
    return [*line, *MOST] if words == ("generate",) and "--" not in line else line


@cases(max_examples=ARGUMENT_CASES)
@given(line=command_lines(), stdin=st.binary(max_size=20))
def test_arguments(machine: None, line: list[str], stdin: bytes) -> None:
    check(call(line, stdin))


@pytest.mark.soak
@cases(max_examples=5 * SOAK_CASES)
@given(line=command_lines(), stdin=st.binary(max_size=20))
def test_many_more_arguments(machine: None, line: list[str], stdin: bytes) -> None:
    check(call(line, stdin))


# Prompts: any bytes, UTF-8 with lone surrogates, megabytes.
prompts = st.binary(max_size=40) | st.text(max_size=20).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
READERS = {
    "generate": ["generate", "--max-tokens", "2"],
    "generate -": ["generate", "-", "--max-tokens", "1", "--json"],
    "num": ["generate", "--num", "2", "--max-tokens", "1"],
    "roll": ["generate", "--context-policy", "roll", "--max-tokens", "1"],
    "score": ["score", "-"],
    "score json": ["score", "-", "--json"],
}


@cases(max_examples=INPUT_CASES)
@given(reader=st.sampled_from(sorted(READERS)), data=prompts, times=st.sampled_from([1, 1, 1, 9]))
def test_standard_input(machine: None, reader: str, data: bytes, times: int) -> None:
    done = call(READERS[reader], data * times)
    check(done, (0, 2))
    with suppress(UnicodeDecodeError):
        text = (data * times).decode("utf-8-sig")
        # Whatever is text is a prompt, or too long for the context, or too short to be scored.
        assert done.code == 0 or "context" in done.err or reader.startswith("score")
        assert reader != "generate" or done.code or done.out.startswith(text)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("data", [b"a" * (4 << 20), b"\0" * (1 << 20), b"\xff" * (4 << 20)])
def test_megabytes(machine: None, reader: str, data: bytes) -> None:
    if reader.startswith("score") and data[0] != 0xFF:
        # Scored window by window: as much as a person would wait for.
        data = data[:300]
    check(call(READERS[reader], data), (0, 2))


lines = st.lists(
    st.sampled_from(["/help", "/reset", "/retry", "/undo", "/set", "/save", "/quit x", "//", "/"])
    | st.builds(
        "/{} {} {}".format,
        st.sampled_from(["set", "save", "retry", "no"]),
        st.sampled_from(["top_p", "seed", "logit_bias", "banned", "keep"]) | arguments,
        arguments,
    )
    | st.text(max_size=9),
    max_size=4,
)


@cases(max_examples=CHAT_CASES)
@given(lines=lines, rest=st.binary(max_size=6))
def test_chat(machine: None, lines: list[str], rest: bytes) -> None:
    """A mistake costs a line, and the conversation goes on; bytes that are not text end it."""
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    done = call(["generate", "--interactive", *MOST], text + rest)
    assert done.code in (0, 2), done
    assert "Traceback" not in done.err
    if done.code:
        assert done.err.splitlines()[-1].startswith("gpt2gl: line ")
