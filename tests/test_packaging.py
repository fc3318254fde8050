"""The distributions: what is inside, and that an installed copy works away from the checkout.

Nothing here needs a network: building uses the setuptools of the test environment, and the fresh
environments see its libraries through a .pth file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOT_COPIED = (".venv*", ".git", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")
PACKAGE_FOLDERS = {
    "gpt2gl": "gpt2gl",
    "gpt2gl_glsl": "glsl",
    "gpt2gl_ui": "ui",
    "gpt2gl_assets": "assets",
    "gpt2gl_reference": "tests/reference",
}
ONLY_IN_SDIST = ("README.md", "run", "run.cmd", "test", "tools/setup.sh", "tests/constraints.txt")
PRINT_RESOURCES = """
from pathlib import Path
from gpt2gl.resources import embedded_models, font_path, shader_path
import gpt2gl_reference
print(shader_path({shader!r}))
print(font_path("Inter-Regular"))
print(embedded_models()["storyteller"])
print(Path(gpt2gl_reference.__file__).parent)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that must end with 0, free of this process's Python paths."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def shipped_files(folder: str) -> set[str]:
    """Files below a folder of the checkout, relative to it."""
    root = ROOT / folder
    names = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {
        name.as_posix()
        for name in names
        if not any(part.startswith((".", "__pycache__")) for part in name.parts)
    }


def project_version() -> str:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith("version = "))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, so that building leaves nothing behind and finds nothing stale."""
    copy = tmp_path_factory.mktemp("source") / "gpt2gl"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
    return copy


@pytest.fixture(scope="module")
def distributions(source: Path, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The sdist of the checkout, and the wheel that is built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, cwd=source)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return SimpleNamespace(sdist=sdist, wheel=wheel)


def fresh_environment(folder: Path, *install: str | Path) -> Path:
    """Install into a new environment that sees this one's libraries; returns its bin folder."""
    builder = venv.EnvBuilder(symlinks=os.name != "nt")
    context = builder.ensure_directories(folder)
    builder.create(folder)
    python = Path(context.env_exe)
    site_packages = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    )
    libraries = Path(site_packages.strip()) / "libraries.pth"
    libraries.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps")
    run(*pip, "--no-index", "--no-build-isolation", *install, cwd=folder)
    return python.parent


@pytest.fixture(scope="module", params=["wheel", "editable"])
def installed(
    request: pytest.FixtureRequest,
    source: Path,
    distributions: SimpleNamespace,
    tmp_path_factory: pytest.TempPathFactory,
) -> SimpleNamespace:
    """An environment outside the checkout with gpt2gl as its users install it."""
    folder = tmp_path_factory.mktemp(request.param)
    target = (distributions.wheel,) if request.param == "wheel" else ("--editable", source)
    home = source if request.param == "editable" else folder
    return SimpleNamespace(bin=fresh_environment(folder / "env", *target), home=home)


@pytest.fixture
def wheel_names(distributions: SimpleNamespace) -> set[str]:
    with zipfile.ZipFile(distributions.wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize(("package", "folder"), PACKAGE_FOLDERS.items())
def test_wheel_holds_every_file_of_each_package(
    wheel_names: set[str], package: str, folder: str
) -> None:
    expected = {f"{package}/{name}" for name in shipped_files(folder)}
    assert f"{package}/__init__.py" in expected
    assert expected == {name for name in wheel_names if name.startswith(f"{package}/")}


def test_wheel_holds_shaders_fonts_model_and_type_marker(wheel_names: set[str]) -> None:
    assert any(name.startswith("gpt2gl_glsl/") and name.endswith(".frag") for name in wheel_names)
    model = "gpt2gl_assets/models/storyteller"
    assert {
        "gpt2gl/py.typed",
        "gpt2gl_assets/fonts/Inter-Regular.ttf",
        "gpt2gl_assets/fonts/Inter-OFL.txt",
        "gpt2gl_reference/gpt2_numpy.py",
        f"{model}/config.json",
        f"{model}/tokenizer.json",
        f"{model}/model-00001-of-00002.safetensors",
        f"{model}/model-00002-of-00002.safetensors",
        f"{model}/README.md",
    } <= wheel_names


def test_wheel_holds_nothing_but_the_packages(wheel_names: set[str]) -> None:
    dist_info = f"gpt2gl-{project_version()}.dist-info"
    assert {name.split("/")[0] for name in wheel_names} == {*PACKAGE_FOLDERS, dist_info}
    assert not [name for name in wheel_names if name.endswith((".pyc", ".DS_Store"))]


def test_wheel_metadata(distributions: SimpleNamespace, wheel_names: set[str]) -> None:
    dist_info = f"gpt2gl-{project_version()}.dist-info"
    with zipfile.ZipFile(distributions.wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"{dist_info}/METADATA").decode("utf-8"))
    assert metadata["Version"] == project_version()
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "MIT AND ISC AND OFL-1.1"
    assert f"{dist_info}/licenses/LICENSE" in wheel_names
    required = metadata.get_all("Requires-Dist", [])
    at_run_time = [line for line in required if "extra ==" not in line]
    assert not [line for line in at_run_time if line.startswith(("torch", "transformers"))]


def test_sdist_holds_what_building_and_testing_need(distributions: SimpleNamespace) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    folders = ("gpt2gl", "glsl", "ui", "assets", "tests")
    expected = {f"{folder}/{name}" for folder in folders for name in shipped_files(folder)}
    assert {*expected, *ONLY_IN_SDIST, "LICENSE", "pyproject.toml", "setup.py"} <= names
    assert not [name for name in names if name.endswith(".pyc")]


def test_version_away_from_the_checkout(installed: SimpleNamespace, tmp_path: Path) -> None:
    assert project_version() in run(installed.bin / "gpt2gl", "--version", cwd=tmp_path)
    assert project_version() in run(
        installed.bin / "python", "-m", "gpt2gl", "--version", cwd=tmp_path
    )


def test_resources_are_files_of_the_installed_copy(
    installed: SimpleNamespace, tmp_path: Path
) -> None:
    shader = min(name for name in shipped_files("glsl") if name.endswith(".frag"))
    program = PRINT_RESOURCES.format(shader=shader)
    paths = run(installed.bin / "python", "-c", program, cwd=tmp_path).splitlines()
    assert len(paths) == 4
    for path in map(Path, paths):
        assert path.exists()
        assert path.resolve().is_relative_to(installed.home.resolve())


def test_generate_away_from_the_checkout(installed: SimpleNamespace, tmp_path: Path) -> None:
    options = ("--max-tokens", "3", "--greedy", "--quiet")
    text = run(installed.bin / "gpt2gl", "generate", "Once", *options, cwd=tmp_path)
    assert text.strip()
