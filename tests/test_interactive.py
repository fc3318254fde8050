"""The dialogue, its commands, and the chat loop over pipes and in a terminal."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpt2gl
from gpt2gl.cli import interactive, run
from gpt2gl.dialogue import Dialogue
from gpt2gl.errors import ContextLengthError, OptionError
from gpt2gl.generation import Generation, Trimmed, Working
from gpt2gl.sampling import Sampling
from gpt2gl.session import Session
from gpt2gl.templates import ASSISTANT, USER, EosSeparated, Transcript, Turn
from tests.dialogues import N_POSITIONS, dialogue, said, texts


def test_say_undo_reset() -> None:
    talk, session = dialogue("one", "two")
    assert said(talk.say("a")) == "one"
    assert said(talk.say("b")) == "two"
    assert talk.turns[1] == Turn(ASSISTANT, "one")
    expected = [*b"a", 0, *b"one", 0, *b"b", 0]
    assert session.prompts[1] == expected
    talk.undo()
    assert texts(talk) == ["a", "one"]
    talk.reset()
    assert talk.turns == []
    for use in (talk.undo, lambda: list(talk.retry())):
        with pytest.raises(OptionError, match="say something first"):
            use()


def test_retry_replaces_the_answer_and_moves_the_seed() -> None:
    talk, session = dialogue("one", "two", seed=2**63 - 1)
    said(talk.say("a"))
    assert said(talk.retry()) == "two"
    assert texts(talk) == ["a", "two"]
    assert session.prompts[0] == session.prompts[1]
    assert [o.sampling.seed for o in session.options] == [2**63 - 1, 0]


def test_options_of_an_answer() -> None:
    talk, session = dialogue(" x", template=Transcript("A", "B"), min_new_tokens=3)
    assert said(talk.say("a")) == "x"
    assert texts(talk) == ["a", "x"]
    assert session.options[0].stop == ("END", "\nA:", "\nB:")
    assert session.options[0].sampling.min_new_tokens == 3
    assert talk.options.stop == ("END",)


def test_an_answer_that_is_given_up_counts_as_far_as_it_got() -> None:
    talk, _ = dialogue("long answer")
    events = talk.say("a")
    next(events)
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert texts(talk) == ["a", "lo"]


def test_no_text_is_no_turn() -> None:
    talk, _ = dialogue("", "now")
    assert said(talk.say("a")) == ""
    assert texts(talk) == ["a"]
    assert said(talk.retry()) == "now"


def test_a_message_that_fails_is_not_kept() -> None:
    talk, _ = dialogue("one", "two")
    said(talk.say("a"))
    with pytest.raises(ContextLengthError):
        said(talk.say("x" * 100))
    assert texts(talk) == ["a", "one"]
    assert said(talk.say("b")) == "two"


def test_oldest_turns_leave_a_full_context() -> None:
    talk, session = dialogue(*(f"answer{i}" for i in range(9)))
    trims = [e for i in range(9) for e in talk.say(f"say{i}") if isinstance(e, Trimmed)]
    assert len(talk.turns) == 18
    assert 0 < len(trims) < 9
    for prompt in session.prompts:
        assert len(prompt) + 5 <= N_POSITIONS
        assert bytes(prompt).startswith(b"say")
    assert all(trim.kept <= N_POSITIONS // 2 for trim in trims)
    talk.undo()
    assert len(talk.turns) == 16


# The embedded model -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with gpt2gl.load("storyteller") as loaded:
        yield loaded


def test_a_dialogue_reuses_what_is_encoded(session: Session) -> None:
    options = Generation(Sampling(temperature=0), max_tokens=12)
    talk = Dialogue(session, EosSeparated(), options)
    first = said(talk.say("Hello, how are you?"))
    assert first
    known = session.n_encoded
    events = list(talk.say("What do you like?"))
    working = [e for e in events if isinstance(e, Working)]
    prompt = EosSeparated().prompt(talk.turns[:3], session.tokenizer)
    assert working[0].total == len(prompt)
    # The cache held the first prompt and most of the answer when the second began.
    assert working[0].done >= known - 1
    fresh = Dialogue(session, EosSeparated(), options)
    fresh.turns = talk.turns[:3]
    session.logits([0])
    assert said(fresh.retry()) == talk.turns[3].text


def test_end_of_text_in_the_prompt_ends_nothing(session: Session) -> None:
    talk = Dialogue(session, EosSeparated(), Generation(Sampling(temperature=0), max_tokens=4))
    assert said(talk.say("Hi <|endoftext|> there")).strip()


@pytest.fixture
def chat(session: Session, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command in this process with some bytes as its input; returns its exit code."""

    class Kept:
        def __enter__(self) -> Session:
            return session

        def __exit__(self, *error: object) -> None:
            pass

    def converse(lines: bytes, *arguments: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
        options = ["--max-tokens", "8", "--greedy", *arguments]
        return run(["generate", "--interactive", *options])

    monkeypatch.setattr(interactive, "load_with_progress", lambda model, precision, tune: Kept())
    return converse


def test_piped(chat: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dialogue.json"
    assert chat(f"hello\n\r\n  \n//b\r\n/save {path}\n/quit\nmore\n".encode()) == 0
    output, notices = capfd.readouterr()
    saved = json.loads(path.read_text("utf-8"))
    assert [m["role"] for m in saved["messages"]] == [USER, ASSISTANT] * 2
    assert [m["content"] for m in saved["messages"][::2]] == ["hello", "/b"]
    assert output.splitlines() == [m["content"] for m in saved["messages"][1::2]]
    assert saved["model"] == "storyteller"
    assert saved["max_tokens"] == 8
    assert notices == f"saved 4 turns in {path}\n"
    assert list(tmp_path.iterdir()) == [path]


def test_retry_undo_reset_and_the_first_message(
    chat: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dialogue.md"
    lines = f"/retry\n/undo\nagain\n/reset\nonce\n/save {path}"
    assert chat(lines.encode(), "hello") == 0
    answers = capfd.readouterr().out.splitlines()
    assert len(answers) == 4
    assert answers[0] == answers[1]
    text = path.read_text("utf-8")
    assert text.count("## You") == text.count("## Model") == 1
    assert answers[3] in text
    assert "again" not in text


def test_settings(chat: Any, capfd: pytest.CaptureFixture[str]) -> None:
    numbers = ("temperature 0.5", "--top-k 3", "seed 7", "seed none", "max-tokens 1")
    words = ("banned the", "logit_bias 5=1 the=-2", "banned none", "")
    assert chat("".join(f"/set {each}\n" for each in numbers + words).encode()) == 0
    notices = capfd.readouterr().err.splitlines()
    expected = ["temperature is 0.5", "top_k is 3", "seed is 7", "seed is None", "max_tokens is 1"]
    assert notices[:5] == expected
    assert notices[5].startswith("banned is ((")
    assert notices[6].startswith("logit_bias is {5: 1.0, ")
    assert notices[7] == "banned is ()"
    assert "min_p              0.0" in notices


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("/bogus", "no command /bogus: /help lists them"),
        ("/", "no command /: /help lists them"),
        ("/undo", "nothing to take back"),
        ("/retry", "nothing to answer again"),
        ("/reset now", "/reset takes nothing after it"),
        ("/set heat 1", "no option 'heat'"),
        ("/set temperature", "--temperature is ''"),
        ("/set temperature -1", "--temperature is -1"),
        ("/set top_p 0", "--top-p is 0"),
        ("/set top_k 1.5", "--top-k is '1.5'"),
        ("/set max_tokens nan", "--max-tokens is 'nan'"),
        ("/set logit_bias 5", "--logit-bias"),
        ("/set logit_bias 99999=1", "names token 99999"),
        ("/set banned 'x", "close the quotation"),
        ("/save", "/save needs a file name"),
        ("/save dialogue.txt", "unknown suffix"),
        ("/save no/such/folder/d.md", "cannot be written"),
    ],
)
def test_mistakes_cost_a_line(
    line: str, problem: str, chat: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    assert chat(f"{line}\n/help\n".encode()) == 0
    output, notices = capfd.readouterr()
    first, *helped = notices.splitlines()
    assert first.startswith("gpt2gl: ")
    assert problem in first
    assert helped[0].startswith("/help")
    assert output == ""


def test_input_that_is_not_utf8(chat: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert chat(b"/help\n\xff\n") == 2
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.startswith("gpt2gl: line 2 of standard input is not UTF-8 text (byte 0)")


@pytest.mark.parametrize("other", [["--json"], ["--file", "x"]])
def test_options_that_do_not_go_together(
    other: list[str], chat: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    assert chat(b"", *other) == 2
    assert f"both --interactive and {other[0]} are given" in capfd.readouterr().err


def test_a_model_without_tokenizer(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    model = Path(__file__).parent / "data" / "gpt_nano_sort" / "model"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"hello\n")))
    assert run(["generate", "-i", "--model", str(model)]) == 2
    message = capfd.readouterr().err
    assert "has no tokenizer" in message
    assert message.count("\n") == 1


# A terminal -------------------------------------------------------------------------------------

# The child makes the terminal its own, so that Ctrl-C in it is a signal.
CHILD = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from gpt2gl.cli import main
main(sys.argv[1:])
"""
PATIENCE_SECONDS = 60.0
# A terminal is told to mark pasted text while a line is typed.
PROMPT, ENTERED = b"\x1b[?2004h", b"\x1b[?2004l"


class Terminal:
    """A child process behind a pseudo-terminal."""

    def __init__(self, *arguments: str) -> None:
        # Only where there are such terminals.
        import fcntl
        import pty
        import termios

        self.fd, child_fd = pty.openpty()
        fcntl.ioctl(child_fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, *arguments],
            stdin=child_fd,
            stdout=child_fd,
            stderr=child_fd,
            env=environment,
            start_new_session=True,
        )
        os.close(child_fd)
        os.set_blocking(self.fd, False)
        self.seen = b""

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def wait_for(self, text: bytes) -> bytes:
        """What is shown up to a text; what comes after it is kept for the next call."""
        end = time.monotonic() + PATIENCE_SECONDS
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            try:
                self.seen += os.read(self.fd, 65536)
            except BlockingIOError:
                time.sleep(0.02)
        shown, _, self.seen = self.seen.partition(text)
        return shown

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal("generate", "-i", "--max-tokens", "5000", "--context-policy", "roll")
    yield made
    made.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_terminal(terminal: Terminal) -> None:
    """Ctrl-C stops an answer and clears a line, the arrow brings a line back, Ctrl-D ends."""
    terminal.wait_for(PROMPT)
    terminal.type(b"/set min_new_tokens 5000\r")
    terminal.wait_for(b"min_new_tokens is 5000")
    terminal.wait_for(PROMPT)
    terminal.type(b"hello\r")
    terminal.wait_for(ENTERED)
    terminal.wait_for(b" ")
    terminal.type(b"\x03")
    terminal.wait_for(PROMPT)
    terminal.type(b"half a line\x03")
    terminal.wait_for(PROMPT)
    terminal.type(b"/bogus\r")
    terminal.wait_for(b"no command /bogus")
    terminal.wait_for(PROMPT)
    terminal.type(b"\x1b[A\r")
    terminal.wait_for(b"no command /bogus")
    terminal.wait_for(PROMPT)
    terminal.type(b"\x04")
    assert terminal.process.wait(PATIENCE_SECONDS) == 0
