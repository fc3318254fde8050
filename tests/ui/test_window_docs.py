"""docs/window.md says what the window does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpt2gl_ui import chords
from gpt2gl_ui.commands import COMMANDS, FIELD_KEYS, GROUPS, WRITING
from tests.source_tree import ROOT

DOCUMENT = ROOT / "docs" / "window.md"
KEYS = re.compile(r"<!-- keys -->\n(.*?)<!-- /keys -->", re.DOTALL)


def rows() -> Iterator[str]:
    """The table of keys; where the document's is another one, this is what it has to be."""
    yield "| Keys | |"
    yield "|---|---|"
    for group in GROUPS:
        yield f"| **{group}** | |"
        for command in COMMANDS.values():
            if command.group == group and command.keys:
                yield f"| {chords.shown(command.keys[0], mac=False)} | {command.label} |"
        if group == WRITING:
            yield from (f"| {each.keys} | {each.label} |" for each in FIELD_KEYS)


def test_keys() -> None:
    found = KEYS.search(DOCUMENT.read_text(encoding="utf-8"))
    assert found is not None
    assert found[1].splitlines() == list(rows())


def test_pictures() -> None:
    names = re.findall(r"\]\(images/([\w.-]+)\)", DOCUMENT.read_text(encoding="utf-8"))
    assert names
    folder = ROOT / "docs" / "images"
    assert not [name for name in names if not (folder / name).is_file()]
    sizes = [path.stat().st_size for path in folder.glob("*.png") if path.name != "attention.png"]
    assert sum(sizes) < 1_500_000
