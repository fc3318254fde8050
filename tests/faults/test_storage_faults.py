"""Files when the process is killed, the disk is full, or there is no home to keep them in."""

from __future__ import annotations

import errno
import os
import re
import resource
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpt2gl
from gpt2gl import small_files
from gpt2gl.errors import CacheError, Gpt2glError, OptionError
from gpt2gl.hub.importing import import_model
from gpt2gl.hub.paths import cache_root, make_folder
from gpt2gl.presets import Preset, config_folder, save_preset
from gpt2gl.quantised_file import PART, Reader
from gpt2gl.small_files import LEFTOVER_SECONDS, TEMPORARY, write_whole
from tests.faults import killed
from tests.faults.command_line import write_tiny_model
from tests.source_tree import ROOT

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPT2GL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GPT2GL_CONFIG_DIR", str(tmp_path / "saved"))


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


# Killed ------------------------------------------------------------------------------------------


def make_old(paths: list[Path]) -> None:
    before = time.time() - LEFTOVER_SECONDS - 60
    for path in paths:
        os.utime(path, (before, before))


@posix
@pytest.mark.parametrize("kind", ["preset", "transcript"])
def test_a_save_that_is_killed_leaves_the_old_file_or_the_new(tmp_path: Path, kind: str) -> None:
    save = killed.KINDS[kind]
    versions = []
    for version in (2, 1):
        path = save(tmp_path, version)
        versions.append(path.read_bytes().hex())
    command = [sys.executable, "-m", "tests.faults.killed", kind, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert len(found) >= 4
    assert set(found) == set(versions)
    left = [each for each in files(tmp_path) if each != path]
    assert left, "no kill left a temporary file"
    assert all(each.name.endswith(TEMPORARY) for each in left)
    # Another process may be writing it.
    save(tmp_path, 3)
    assert set(left) <= set(files(tmp_path))
    make_old(left)
    save(tmp_path, 3)
    assert files(tmp_path) == [path]


@posix
def test_a_killed_quantised_cache_is_whole_or_not_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.killed", "quantised", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"none"}
    left = [path for path in files(tmp_path) if path.suffix == PART]
    path = killed.quantised(tmp_path, 2)
    assert set(left) < set(files(tmp_path))
    make_old(left)
    path.unlink()
    killed.quantised(tmp_path, 2)
    assert files(tmp_path) == [path]
    reader = Reader(path)
    assert [piece.texels.max() for piece in reader.pieces("w")] == [2]
    reader.close()


def test_temporary_files_of_others_stay(tmp_path: Path) -> None:
    others = [tmp_path / f".other.json.x{TEMPORARY}", tmp_path / ".talk.json.original"]
    for path in others:
        path.write_text("x")
    make_old(others)
    write_whole(tmp_path / "talk.json", b"{}")
    assert len(files(tmp_path)) == 3


# Full --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace", "fdopen"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_disk_that_refuses_a_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int
) -> None:
    path = tmp_path / "talk.json"
    write_whole(path, b"old")

    def refuse(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(small_files.os, step, refuse)
        with pytest.raises(OptionError, match=f"talk.json: cannot be written .{os.strerror(code)}"):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert files(tmp_path) == [path]


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """The system itself refuses files beyond 4 KB, as a full disk does."""
    import signal

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    signal.signal(signal.SIGXFSZ, handler)


@posix
def test_a_file_that_the_system_cuts_short(tmp_path: Path, small_files_only: None) -> None:
    path = tmp_path / "talk.json"
    write_whole(path, b"old")
    with pytest.raises(OptionError, match=r"talk\.json: cannot be written \(File too large\)"):
        write_whole(path, b"x" * 100_000)
    assert path.read_bytes() == b"old"
    assert files(tmp_path) == [path]
    big = tmp_path / "quantised" / "key-int8-digest.bin"
    for _ in range(2):
        killed.quantised(tmp_path, 1)
    assert big.stat().st_size < 4096


@posix
def test_an_import_that_the_system_cuts_short(tmp_path: Path, small_files_only: None) -> None:
    with pytest.raises(CacheError, match=r"cannot be written \(File too large\)"):
        list(import_model(ROOT / "assets" / "models" / "storyteller", "copy"))
    assert not [path for path in files(tmp_path / "cache") if path.suffix != ".lock"]


# No home -----------------------------------------------------------------------------------------

# Root too cannot make folders here.
NOWHERE = ("/proc/no/such/home", "/dev/null/home")


@pytest.mark.skipif(sys.platform != "linux", reason="folders that even root cannot write")
@pytest.mark.parametrize("home", NOWHERE)
def test_a_home_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    """The model loads and runs; what has to be kept is refused with a line."""
    for name in ("GPT2GL_CACHE_DIR", "GPT2GL_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", home)
    with gpt2gl.load(str(write_tiny_model(tmp_path / "tiny"))) as session:
        assert len(session.logits([1, 2])) > 0
    with pytest.raises(OptionError, match=r"presets: cannot be made .*: set GPT2GL_CONFIG_DIR"):
        save_preset(Preset("mine", {"top_k": 3}))
    with pytest.raises(CacheError, match=r"cannot be written .*: set GPT2GL_CACHE_DIR"):
        list(import_model(tmp_path / "tiny", "tiny"))


def test_no_home_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made in the current folder in place of a home that nobody knows."""
    for name in ("GPT2GL_CACHE_DIR", "GPT2GL_CONFIG_DIR"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    for folder in (cache_root(), config_folder()):
        assert folder.is_absolute()
    with pytest.raises(Gpt2glError, match="set GPT2GL_CONFIG_DIR"):
        save_preset(Preset("mine", {"top_k": 3}))
    with pytest.raises(CacheError):
        make_folder(cache_root())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("place", "message"), [
    ("~no-such-user/x", "GPT2GL_CACHE_DIR is '~no-such-user/x' and there is no such home folder"),
    ("x" * 300, "cannot be written .File name too long"),
])  # fmt: skip
def test_a_cache_folder_that_cannot_be(
    monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    monkeypatch.setenv("GPT2GL_CACHE_DIR", place)
    with pytest.raises(Gpt2glError, match=message) as caught:
        make_folder(cache_root() / "models")
    assert caught.value.exit_code == 2


# Private -----------------------------------------------------------------------------------------


@posix
def test_everything_that_is_kept_is_private(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        save_preset(Preset("mine", {"top_k": 3}))
        list(import_model(write_tiny_model(tmp_path / "tiny"), "copy"))
        killed.quantised(cache_root(), 1)
        with gpt2gl.load(str(tmp_path / "tiny")) as session:
            session.logits([1])
    finally:
        os.umask(mask)
    kept = [p for top in ("cache", "saved") for p in (tmp_path / top, *(tmp_path / top).rglob("*"))]
    assert len([path for path in kept if path.is_file()]) >= 6
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in kept}
    wanted = {path: 0o700 if path.is_dir() else 0o600 for path in kept}
    assert {str(p): oct(m) for p, m in modes.items()} == {str(p): oct(m) for p, m in wanted.items()}


# The process's own ----------------------------------------------------------------------------

IN_A_DELETED_FOLDER = """
import os, sys, tempfile
gone = tempfile.mkdtemp()
os.chdir(gone)
os.rmdir(gone)
from gpt2gl.cli import run
for arguments in (["presets"], ["models"], ["models", "import", "."], ["models", "import", "x"],
                  ["score", "x"], ["generate", "a", "-m", "./x"], ["models", "info", "x"]):
    print("code", run(arguments))
os.environ["GPT2GL_CACHE_DIR"] = "relative"
print("code", run(["models"]))
"""


@posix
def test_a_current_folder_that_was_deleted() -> None:
    command = [sys.executable, "-c", IN_A_DELETED_FOLDER]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    codes = re.findall(r"^code (\d)$", done.stdout, re.MULTILINE)
    assert codes == ["0", "0", "2", "2", "2", "2", "2", "0"], done
    assert done.stderr.count("\n") == 5
    assert all(line.startswith("gpt2gl: ") for line in done.stderr.splitlines())


CLOSED: dict[str, tuple[str, int]] = {
    "0<&-": ("run(['score', '-']), run(['generate', '-i', '-m', 'no/t/hing'])", 2),
    "1>&-": ("write('x'), run(['presets']), run(['--help'])", 0),
    "2>&-": ("run(['presets']), run(['generate', '--top-k', 'x'])", 2),
}


@posix
@pytest.mark.parametrize("closing", CLOSED)
def test_closed_streams(tmp_path: Path, closing: str) -> None:
    """What a closed stream's number would be is no other file's."""
    calls, code = CLOSED[closing]
    program = (
        "import os, sys; from gpt2gl.cli import _open_missing_streams, run;"
        "from gpt2gl.cli.output import write; _open_missing_streams();"
        f"found = {calls}; assert os.open({str(tmp_path)!r}, 0) > 2; sys.exit(found[-1])"
    )
    command = ["sh", "-c", f'exec "$0" -c "$1" {closing}', sys.executable, program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")
@pytest.mark.parametrize("arguments", [["generate", "--help"], ["presets"]])
def test_output_on_a_full_disk(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "gpt2gl", *arguments]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"gpt2gl: standard output: No space left on device: make room for it\n"


