"""The Python examples in README.md run as they stand there, one after the other."""

from __future__ import annotations

import re

import pytest

from tests.source_tree import ROOT

README = ROOT / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_python_examples_run(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = README.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks, "README.md has no ```python block"
    monkeypatch.chdir(tmp_path)  # what an example writes
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        # Line numbers in a traceback are those of the README.
        lines = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(lines + block[1], str(README), "exec"), names)
    assert capsys.readouterr().out, "the examples print nothing"
