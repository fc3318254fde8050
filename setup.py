"""Which packages to install; everything else is declared in pyproject.toml.

Plain sibling names, because setuptools' editable install cannot map a folder to a dotted name
such as `gpt2gl.glsl`.
"""

from __future__ import annotations

from setuptools import find_packages, setup

FOLDERS = {
    "gpt2gl": "gpt2gl",
    "gpt2gl_glsl": "glsl",
    "gpt2gl_ui": "ui",
    "gpt2gl_assets": "assets",
    "gpt2gl_reference": "tests/reference",
}


def packages_in(name: str, folder: str) -> list[str]:
    """`name` and the dotted names of all packages below `folder`."""
    return [name, *(f"{name}.{child}" for child in find_packages(folder))]


setup(
    package_dir=FOLDERS,
    packages=[package for item in FOLDERS.items() for package in packages_in(*item)],
)
