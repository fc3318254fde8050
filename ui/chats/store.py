"""Chats on the disk: list, open, save, delete, undo.

Several instances may use one folder. Each writes a chat only while its file is still as that
instance read or wrote it; otherwise the chat becomes a copy of its own, so that nobody's work is
lost. The first instance also tidies up.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from gpt2gl.errors import OptionError
from gpt2gl.small_files import shown_path, write_whole

from . import codec, folder
from .codec import Summary
from .folder import VARIABLE, Entry, Folder, Stamp
from .tree import Chat, new_id
from .writer import Report, Writer


class Store:
    """The chats of one data folder. Methods are for one thread, the window's."""

    def __init__(self, writer: Writer, root: Path | None = None) -> None:
        """Use a folder, by default `data_root()`; made with the first save at the latest.

        `problems` names what was found that is no chat, one line each.
        """
        self._writer = writer
        self.folder = Folder(root or folder.data_root())
        self.problems: list[str] = []
        self._summaries: dict[str, tuple[Stamp, Summary | None]] = {}
        # What the list shows of chats on their way to the disk, None for those on the way out.
        self._ahead: dict[str, Summary | None] = {}
        # The content that this instance read or wrote last.
        self._stamps: dict[str, Stamp] = {}
        self._live: weakref.WeakValueDictionary[str, Chat] = weakref.WeakValueDictionary()
        self._saved: weakref.WeakKeyDictionary[Chat, int] = weakref.WeakKeyDictionary()
        self._damaged: set[str] = set()
        # Chat -> the id under which its newest content was saved as a copy.
        self._copies: dict[str, str] = {}
        self._deleted: set[str] = set()
        self.is_owner = False

    def start(self) -> bool:
        """Make the folder and tidy up; whether this is the first instance.

        Raises:
            OptionError: the folder cannot be made.
        """
        self.folder.make()
        self.is_owner = self.folder.become_owner()
        if self.is_owner:
            self.folder.tidy(folder.wall_clock())
        return self.is_owner

    def close(self, timeout: float = 5.0) -> bool:
        """Write what is waiting; whether all of it was written."""
        done = self._writer.flush(timeout)
        self.folder.release()
        return done

    # Listing --------------------------------------------------------------------------------

    def summaries(self) -> list[Summary]:
        """All chats, pinned ones first, then the one changed last; reads new headers only."""
        on_the_way = self._writer.pending()
        self.problems = [
            f"{shown_path(self.folder.chats / name)}: not a chat, left alone: import it"
            for name in self.folder.strangers()
        ]
        entries = self._entries()
        found = {s.id: s for entry in entries if (s := self._summary(entry))}
        here = {entry.path.stem for entry in entries}
        self._summaries = {k: v for k, v in self._summaries.items() if k in here}
        self._ahead = {k: v for k, v in self._ahead.items() if _key(k) in on_the_way}
        found.update({k: v for k, v in self._ahead.items() if v is not None})
        gone = {k for k, v in self._ahead.items() if v is None}
        return sorted(
            (s for s in found.values() if s.id not in gone),
            key=lambda s: (not s.pinned, -s.updated, s.id),
        )

    def _entries(self) -> list[Entry]:
        try:
            return list(self.folder.entries())
        except OSError as error:
            where = shown_path(self.folder.chats)
            self.problems.append(f"{where}: cannot be read ({error.strerror}): set {VARIABLE}")
            return []

    def stamp(self, chat_id: str) -> Stamp | None:
        """Which content `summaries` saw last, for caches."""
        known = self._summaries.get(chat_id)
        return None if known is None else known[0]

    def _summary(self, entry: Entry) -> Summary | None:
        chat_id = entry.path.stem
        known = self._summaries.get(chat_id)
        if known is None or known[0] != entry.stamp:
            known = (entry.stamp, self._read_summary(entry.path))
            self._summaries[chat_id] = known
        if known[1] is None:
            where = shown_path(entry.path)
            self.problems.append(f"{where}: line 1: damaged or not a chat, left alone")
        return known[1]

    def _read_summary(self, path: Path) -> Summary | None:
        try:
            line = folder.read_header_line(path)
            _, summary, _ = codec.decode_header(line, "")
        except (OSError, OptionError):
            return None
        # A file that somebody copied still names the chat that it was copied from.
        return replace(summary, id=path.stem)

    # Opening --------------------------------------------------------------------------------

    def open(self, chat_id: str) -> tuple[Chat, tuple[str, ...]]:
        """A chat, and one line about each part of its file that is damaged.

        It is the very object that is still in use or on its way to the disk, if there is one.

        Raises:
            OptionError: the file is gone or cannot be read; names it.
        """
        live = self._live.get(chat_id)
        if live is not None and self._is_newest(live):
            return live, ()
        path = self.folder.path_of(chat_id)
        data, stamp = folder.read_chat_bytes(path)
        decoded = codec.decode(data, shown_path(path))
        decoded.chat.id = chat_id
        self._stamps[chat_id] = stamp
        self._copies.pop(chat_id, None)
        self._deleted.discard(chat_id)  # another instance may have written it again
        self._saved[decoded.chat] = decoded.chat.revision
        self._live[chat_id] = decoded.chat
        if decoded.notices:
            self._damaged.add(chat_id)
        return decoded.chat, decoded.notices

    def texts(self, chat_id: str) -> Iterator[tuple[str | None, str]]:
        """What `codec.texts_in` finds in a chat's file; nothing where it cannot be read."""
        try:
            data, _ = folder.read_chat_bytes(self.folder.path_of(chat_id))
        except OptionError:
            return iter(())
        return codec.texts_in(data)

    def _is_newest(self, chat: Chat) -> bool:
        unsaved = self._saved.get(chat) != chat.revision or _key(chat.id) in self._writer.pending()
        path = self.folder.path_of(chat.id)
        return unsaved or folder.stamp_of(path) == self._stamps.get(chat.id)

    # Saving ---------------------------------------------------------------------------------

    def save(self, chat: Chat) -> bool:
        """Have the chat written soon; whether there was anything to write.

        Costs the encoding of what changed since the last save. A private, deleted or read-only
        chat is not written, nor a new one without text. A chat whose file another instance
        changed gets a new id, and a title that ends in "(copy)".
        """
        if chat.private or chat.read_only or chat.id in self._deleted:
            return False
        if self._saved.get(chat) == chat.revision or (chat.is_empty and chat not in self._saved):
            return False
        if not self.follow(chat) and self._is_overtaken(chat.id):
            self._become_copy(chat, new_id())
        self._saved[chat] = chat.revision
        self._live[chat.id] = chat
        self._ahead[chat.id] = codec.summary_of(chat)
        self._writer.put(_key(chat.id), self._save_job(chat, codec.encode(chat)))
        return True

    def adopt(self, chat: Chat) -> None:
        """Save a chat that came from elsewhere, under a new id if its own is taken."""
        taken = (self.folder.path_of(chat.id), self.folder.trash_path(chat.id))
        if any(path.exists() for path in taken) or _key(chat.id) in self._writer.pending():
            chat.id = new_id()
        self.save(chat)

    def follow(self, chat: Chat) -> bool:
        """Whether the chat had to be saved as a copy; from now on it is that copy."""
        copy_id = self._copies.pop(chat.id, None)
        if copy_id is None:
            return False
        self._become_copy(chat, copy_id)
        return True

    def _is_overtaken(self, chat_id: str) -> bool:
        if _key(chat_id) in self._writer.pending():
            return False  # the job will look
        on_disk = folder.stamp_of(self.folder.path_of(chat_id))
        return on_disk is not None and on_disk != self._stamps.get(chat_id)

    def _become_copy(self, chat: Chat, chat_id: str) -> None:
        self._live.pop(chat.id, None)
        chat.rename(_copy_title(chat))
        chat.id = chat_id

    def _save_job(self, chat: Chat, data: bytes) -> Callable[[], None]:
        chat_id, title = chat.id, _copy_title(chat)

        def job(kept_alive_in_live: Chat = chat) -> None:
            with self.folder.writing():
                on_disk = folder.stamp_of(self.folder.path_of(chat_id))
                if on_disk is None or on_disk == self._stamps.get(chat_id):
                    self._replace(chat_id, data, on_disk)
                    return
                copy_id = self._copies.get(chat_id) or new_id()
                self._replace(copy_id, codec.copy_of(data, copy_id, title), None)
                self._copies[chat_id] = copy_id

        return job

    def _replace(self, chat_id: str, data: bytes, on_disk: Stamp | None) -> None:
        if chat_id in self._damaged and on_disk is not None:
            self.folder.set_aside(chat_id)
        path = self.folder.path_of(chat_id)
        write_whole(path, data)
        self._damaged.discard(chat_id)
        self._remember(chat_id, path)

    def _remember(self, chat_id: str, path: Path) -> None:
        stamp = folder.stamp_of(path)
        if stamp is not None:
            self._stamps[chat_id] = stamp

    # Deleting -------------------------------------------------------------------------------

    def delete(self, chat_id: str) -> None:
        """Move a chat to the trash, after what is still to be saved of it."""
        self._ahead[chat_id] = None
        self._deleted.add(chat_id)
        self._move(chat_id, self.folder.path_of(chat_id), self.folder.trash_path(chat_id))

    def restore(self, summary: Summary) -> None:
        """Undo `delete`; `summary` is what the list showed of the chat."""
        self._ahead[summary.id] = summary
        self._deleted.discard(summary.id)
        source, target = self.folder.trash_path(summary.id), self.folder.path_of(summary.id)
        self._move(summary.id, source, target)

    def _move(self, chat_id: str, source: Path, target: Path) -> None:
        def job() -> None:
            with self.folder.writing():
                # A chat that was written again since its deletion is newer than that in the trash.
                if source.exists() and not (target.parent == self.folder.chats and target.exists()):
                    os.replace(source, target)
                    os.utime(target)
                    self._remember(chat_id, target)

        self._writer.put(_key(chat_id), job, after_waiting=True)


def open_store(report: Report, root: Path | None = None) -> tuple[Store, Writer]:
    """A store and the writer that it shares with the settings; see `Writer` for `report`."""
    writer = Writer(report)
    return Store(writer, root), writer


def _copy_title(chat: Chat) -> str:
    return f"{chat.title} (copy)"


def _key(chat_id: str) -> str:
    return f"chat {chat_id}"
