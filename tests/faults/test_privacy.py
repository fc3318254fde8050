"""No network but for the hub's commands, no code from files, no shell, and bounds with reasons."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.command_line import write_tiny_model
from tests.source_tree import ROOT, imports_of, parse, python_files

SHIPPED = ("gpt2gl", "glsl", "ui", "assets")
HUB = ROOT / "gpt2gl" / "hub"
# Libraries that open connections, and the one of them that is used.
NETWORK = {
    *("socket", "ssl", "http", "urllib", "ftplib", "smtplib", "xmlrpc", "socketserver", "asyncio"),
    *("requests", "httpx", "httpx2", "aiohttp", "urllib3", "websockets", "huggingface_hub"),
}
# These run what a file says.
CODE_FROM_DATA = {"pickle", "cPickle", "dill", "shelve", "marshal", "joblib", "code", "codeop"}
SPAWNING = {"subprocess", "multiprocessing", "pty", "popen2", "commands"}
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
# What may start a program, why, and nothing else may. None goes through a shell.
MAY_SPAWN = {
    "ui/main.py": "itself again, when the graphics driver was reset",
    "ui/preparing.py": "itself, to compile shaders while the window stays alive",
    "ui/system_theme.py": "the desktop's own tool that tells whether the desktop is dark",
}
OS_CALLS = re.compile(r"system|popen|(exec|spawn|posix_spawn)\w*|fork|forkpty|startfile")


def shipped() -> list[Path]:
    return python_files(*SHIPPED)


def found(path: Path, node: ast.AST, what: str) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'lineno', 0)} {what}"


def is_network(module: str) -> bool:
    # `urllib.parse` takes addresses apart.
    return module.split(".")[0] in NETWORK and not module.startswith("urllib.parse")


def test_only_the_hub_imports_network_code() -> None:
    users = [each for path in shipped() for each in imports_of(path)]
    network = [each for each in users if is_network(each.module)]
    assert any(each.path.is_relative_to(HUB) for each in network)
    assert not [str(each) for each in network if not each.path.is_relative_to(HUB)]


def test_the_hubs_client_is_imported_only_to_pull() -> None:
    """What finds, lists, checks and imports models cannot open a connection."""
    users = {
        each.path.stem
        for path in python_files("gpt2gl/hub")
        for each in imports_of(path)
        if is_network(each.module)
    }
    assert users <= {"download", "failures", "remote"}


def test_no_code_from_files_and_no_shell() -> None:
    wrong = []
    for path in shipped():
        if path.relative_to(ROOT).as_posix() in MAY_SPAWN:
            continue
        for each in imports_of(path):
            if each.module.split(".")[0] in CODE_FROM_DATA | SPAWNING:
                wrong.append(str(each))
        wrong += [found(path, *call) for call in suspicious_calls(parse(path))]
    assert not wrong


def suspicious_calls(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    wrong: list[tuple[ast.AST, str]] = []
    for call in calls:
        function = call.func
        if isinstance(function, ast.Name) and function.id in CALLS:
            wrong.append((call, function.id))
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner, name = function.value.id, function.attr
            if (owner == "os" and OS_CALLS.fullmatch(name)) or (owner, name) == ("torch", "load"):
                wrong.append((call, f"{owner}.{name}"))
        for keyword in call.keywords:
            value = getattr(keyword.value, "value", None)
            if (keyword.arg, value) in {("shell", True), ("allow_pickle", True)}:
                wrong.append((call, str(keyword.arg)))
    return wrong


@pytest.mark.parametrize("name", MAY_SPAWN)
def test_what_may_start_programs_uses_no_shell_and_no_evaluation(name: str) -> None:
    calls = {what for _, what in suspicious_calls(parse(ROOT / name))}
    assert calls <= {"os.execv"}
    modules = {each.module.split(".")[0] for each in imports_of(ROOT / name)}
    assert not modules & (CODE_FROM_DATA | SPAWNING - {"subprocess"})


@pytest.mark.parametrize(
    "line",
    ["eval(x)", "exec(x)", "os.system(x)", "os.execv(x, y)", "run(x, shell=True)", "torch.load(x)"],
)
def test_the_search_finds(line: str) -> None:
    assert suspicious_calls(ast.parse(line))


def test_numpy_reads_no_pickles() -> None:
    """np.load reads them only where it is told to; nobody tells it, see above."""
    assert not suspicious_calls(ast.parse("np.load(x)"))


# Running -----------------------------------------------------------------------------------------

WITHOUT_SOCKETS = """
import socket, sys
def refuse(*arguments, **options):
    raise SystemExit("a socket was opened")
socket.socket.__init__ = socket.create_connection = socket.getaddrinfo = refuse
from gpt2gl.cli import run
model = sys.argv[1]
for arguments in (
    ["generate", "abc", "-m", model, "--max-tokens", "1"],
    ["generate", "-i", "abc", "-m", model, "--max-tokens", "1"],
    ["score", model + "/text.txt", "-m", model],
    ["verify", "-m", model, "--prompt", "abc a"],
    ["presets"], ["presets", "save", "mine", "--top-k", "3"], ["presets", "remove", "mine"],
    ["models"], ["models", "info", "gpt2"], ["models", "import", model, "--name", "copy"],
    ["models", "verify", "copy"], ["generate", "a", "-m", "copy", "--max-tokens", "1"],
    ["models", "remove", "copy"], ["--help"], ["--version"],
    # Longer than the model's context.
    ["verify", "-m", model],
    # A short name that is no model is no reason to ask the hub.
    ["generate", "x", "-m", "nosuchmodel"],
):
    print("code", run(arguments), arguments[0])
print("network", sorted({"httpx", "requests", "urllib3", "ssl"} & set(sys.modules)))
"""


def test_commands_open_no_socket(tmp_path: Path) -> None:
    """Nor do they import what could; `models pull` and the first use of a hub's model would."""
    model = write_tiny_model(tmp_path / "tiny")
    (model / "text.txt").write_text("abc a")
    folders = {name: str(tmp_path / name) for name in ("GPT2GL_CACHE_DIR", "GPT2GL_CONFIG_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SOCKETS, str(model)],
        cwd=ROOT,
        env={**os.environ, **folders},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    codes = re.findall(r"^code (\d)", done.stdout, re.MULTILINE)
    assert codes == ["0"] * 15 + ["2"] * 2, done.stderr
    assert "a socket was opened" not in done.stderr
    assert "network []" in done.stdout


def test_this_suite_has_no_network() -> None:
    with pytest.raises(AssertionError, match="without the marker"):
        socket.socket(socket.AF_INET)
    with pytest.raises(AssertionError, match=r"reaches for example\.org"):
        socket.getaddrinfo("example.org", 443)


@pytest.mark.loopback
def test_with_the_marker_there_is_the_loopback_only() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    with (
        socket.socket(socket.AF_INET) as outwards,
        pytest.raises(AssertionError, match=r"reaches for 192\.0\.2\.1"),
    ):
        outwards.connect(("192.0.2.1", 443))


# Dependencies ------------------------------------------------------------------------------------


def test_dependencies_have_bounds_with_reasons() -> None:
    """A lower bound each; an upper bound, an exclusion or a pin has a comment above it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    first, last = lines.index("dependencies = ["), lines.index("[project.scripts]")
    checked = 0
    for number in range(first, last):
        match = re.fullmatch(r'"([\w.-]+)([^"]*)",', lines[number])
        if match is None:
            continue
        checked += 1
        name, bounds = match.groups()
        assert re.search(r">=\d", bounds), f"{name} has no lower bound"
        if re.search(r"<|==|!=|~=", bounds):
            assert lines[number - 1].startswith("#"), f"{name}: why {bounds}?"
    assert checked > 15
