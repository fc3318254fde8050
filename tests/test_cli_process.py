"""The `gpt2gl` command as a process: signals, pipes and locales."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.source_tree import ROOT

PROMPT = "Once upon a time"
GENERATE = (sys.executable, "-m", "gpt2gl", "generate")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and locales of POSIX")


def start(*command: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@posix
def test_ctrl_c_ends_with_what_was_made():
    with start(*GENERATE, PROMPT, "--max-tokens", "1000", "--logit-bias", "0=-100") as process:
        begun = process.stdout.read(len(PROMPT) + 6)
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=60)
    text = (begun + rest).decode("utf-8")
    assert process.returncode == 130, err
    assert text.startswith(PROMPT)
    assert text.endswith("\n")
    assert len(text) > len(PROMPT) + 6
    assert b"Traceback" not in err
    assert b"ended by cancelled" in err


# Ctrl-C at the first tensor, which no test could time from outside.
INTERRUPTED_LOADING = """
import os, signal
from gpt2gl.cli import loader, main
loader._Bar.update = lambda self, fraction: os.kill(os.getpid(), signal.SIGINT)
main(["generate", "Once"])
"""


@posix
def test_ctrl_c_while_loading():
    process = start(sys.executable, "-c", INTERRUPTED_LOADING)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"gpt2gl: interrupted\n")


def test_a_reader_that_leaves_early():
    with start(*GENERATE, PROMPT, "--max-tokens", "1000", "--logit-bias", "0=-100") as process:
        assert process.stdout.read(10) == b"Once upon "
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")
def test_a_full_disk():
    with open("/dev/full", "wb") as full:
        command = (*GENERATE, PROMPT, "--max-tokens", "1")
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"gpt2gl: standard output: No space left on device: make room for it\n"


@posix
@pytest.mark.parametrize("utf8_mode", ["0", "1"])
def test_the_locale_does_not_matter(utf8_mode):
    locale = {"LC_ALL": "C", "PYTHONUTF8": utf8_mode, "PYTHONCOERCECLOCALE": "0"}
    process = start(*GENERATE, "né 漢 😀", "--max-tokens", "3", "--seed", "1", **locale)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.decode("utf-8").startswith("né 漢 😀")
    assert b"3 tokens" in err


def test_version_imports_no_library_of_the_engine():
    program = (
        "import sys; from gpt2gl.cli import run; run(['--version']);"
        "print(sorted({'numpy', 'OpenGL', 'pyglet', 'tiktoken', 'rich'} & set(sys.modules)))"
    )
    out, _ = start(sys.executable, "-c", program).communicate(timeout=60)
    assert out.decode().splitlines()[1:] == ["[]"]


def test_a_bad_option_is_refused_before_the_driver_is_asked():
    program = (
        "import sys; from gpt2gl.cli import run; run(['generate', 'x', '--top-p', '0']);"
        "print(sorted({'OpenGL', 'pyglet', 'rich'} & set(sys.modules)))"
    )
    out, _ = start(sys.executable, "-c", program).communicate(timeout=60)
    assert out.decode().strip() == "[]"
