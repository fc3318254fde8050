"""Where the files that ship with the package lie: shaders, fonts, embedded models.

They belong to sibling packages (`gpt2gl_glsl`, `gpt2gl_assets`), so that one look-up serves a
wheel and an editable install alike.
"""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from gpt2gl.errors import Gpt2glError, ShaderError


def shader_path(name: str) -> Path:
    """The file of a shader, named relative to the shader folder: `linear.frag`, `lib/tensor.glsl`.

    Raises ShaderError when there is no such file inside that folder.
    """
    root = _package_folder("gpt2gl_glsl")
    path = root / name
    if not path.resolve().is_relative_to(root.resolve()) or not path.is_file():
        raise ShaderError(f"no shader named {name!r} in {root}: check the name or reinstall gpt2gl")
    return path


def embedded_models() -> dict[str, Path]:
    """Name -> folder (Hugging Face layout) of each model that ships inside the package."""
    root = _package_folder("gpt2gl_assets") / "models"
    return {config.parent.name: config.parent for config in sorted(root.glob("*/config.json"))}


def font_path(name: str) -> Path:
    """The TrueType file of a shipped font, named without suffix: `Inter-Regular`.

    Raises Gpt2glError, listing the shipped fonts, when there is none of that name.
    """
    root = _package_folder("gpt2gl_assets") / "fonts"
    fonts = {path.stem: path for path in sorted(root.glob("*.ttf"))}
    if name not in fonts:
        raise Gpt2glError(f"no font named {name!r} in {root}: choose one of {', '.join(fonts)}")
    return fonts[name]


def _package_folder(package: str) -> Path:
    try:
        return Path(str(importlib.resources.files(package)))
    except ModuleNotFoundError as error:
        raise Gpt2glError(
            f"the data package {package} is not installed: run `pip install .` in the checkout"
        ) from error
