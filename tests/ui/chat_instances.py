"""A running window, as far as its chats are concerned."""

from __future__ import annotations

from pathlib import Path

from gpt2gl_ui.chats.store import Store
from gpt2gl_ui.chats.tree import Chat
from gpt2gl_ui.chats.writer import Writer

LONG = 20.0


class Instance:
    """One of the windows that use a data folder."""

    def __init__(self, root: Path) -> None:
        self.reports: list[tuple[str, str | None]] = []
        self.writer = Writer(lambda key, problem: self.reports.append((key, problem)), 60)
        self.store = Store(self.writer, root)
        self.store.start()

    def save(self, chat: Chat) -> Chat:
        assert self.store.save(chat)
        assert self.writer.flush(LONG), self.reports
        return chat

    def titles(self) -> list[str]:
        return [summary.title for summary in self.store.summaries()]

    def end(self) -> None:
        self.store.close(LONG)
        self.writer.close(LONG)


def only_file(root: Path) -> Path:
    (path,) = (root / "chats").glob("*.jsonl")
    return path
