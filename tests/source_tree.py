"""The project's own files and their imports, for the tests that hold rules about the source."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ("build", "dist", "node_modules")


@dataclass(frozen=True)
class Import:
    """One module that a file imports; `nested` is true inside a function."""

    path: Path
    line: int
    module: str
    nested: bool

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line} imports {self.module}"


def project_files(*folders: str) -> list[Path]:
    """All files of the project, or those below some of its folders, sorted; no generated ones."""
    roots = [ROOT / folder for folder in folders] or [ROOT]
    return sorted(path for root in roots for path in _walk(root))


def python_files(*folders: str) -> list[Path]:
    return [path for path in project_files(*folders) if path.suffix == ".py"]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports_of(path: Path) -> list[Import]:
    """Imports by statement and by `import_module("...")`, with relative ones made absolute."""
    return [
        Import(path, node.lineno, module, nested)
        for node, nested in _nodes(parse(path))
        for module in _modules(node, path)
    ]


def _walk(root: Path) -> Iterator[Path]:
    for folder, children, files in os.walk(root):
        children[:] = [name for name in children if _is_ours(name)]
        yield from (Path(folder) / name for name in files if not name.endswith((".pyc", ".lock")))


def _is_ours(folder: str) -> bool:
    hidden = folder.startswith((".", "__pycache__")) and folder != ".ci"
    return not hidden and folder not in GENERATED and not folder.endswith(".egg-info")


def _nodes(node: ast.AST, nested: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, nested
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _nodes(child, nested or function)


def _modules(node: ast.AST, path: Path) -> list[str]:
    """The full dotted names of what one node imports; a name of a module counts as a module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute(node.module or "", node.level, path)
        return [f"{base}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and _is_import_call(node.func) and node.args:
        name = node.args[0]
        return [str(name.value)] if isinstance(name, ast.Constant) else []
    return []


def _absolute(module: str, level: int, path: Path) -> str:
    if level == 0:
        return module
    package = path.relative_to(ROOT).parts[:-level]
    return ".".join([*package, module] if module else package)


def _is_import_call(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__")
