"""The chats of this user: which there are, which is open, what is deleted and brought back."""

from __future__ import annotations

from collections.abc import Callable

from gpt2gl.errors import Gpt2glError
from gpt2gl_ui.chats.codec import Summary
from gpt2gl_ui.chats.store import Store
from gpt2gl_ui.chats.tree import CHAT, Chat
from gpt2gl_ui.toasts import Toasts


class Shelf:
    """The list of chats, over the store.

    Attributes:
        chat: the one that is open.
        notices: about what is damaged on the disk, each to be shown once.
    """

    def __init__(self, store: Store, toasts: Toasts, shown: Callable[[Chat], None]) -> None:
        """`shown` is called with each chat that is opened."""
        self.store = store
        self._toasts = toasts
        self._shown = shown
        self._summaries: list[Summary] | None = None
        self.chat = Chat()

    def summaries(self) -> list[Summary]:
        """All chats, pinned ones first, then by when they were changed last."""
        if self._summaries is None:
            self._summaries = self.store.summaries()
        return self._summaries

    def refresh(self) -> None:
        """Look again what there is, e.g. after another instance had the time to write."""
        self._summaries = None

    def save(self, chat: Chat) -> None:
        """Have a chat written soon, if it is to be written at all."""
        if self.store.save(chat):
            self._summaries = None

    # Opening -----------------------------------------------------------------------------------

    def new(self, *, private: bool = False, mode: str = CHAT) -> None:
        """Open a chat of no messages; it is in the list once something is said."""
        self.show(Chat(private=private, mode=mode))

    def show(self, chat: Chat) -> None:
        """Open a chat; the one that was open is saved."""
        self.save(self.chat)
        self.chat = chat
        self.save(chat)
        self._shown(chat)

    def open(self, chat_id: str) -> bool:
        """Open a chat of the list; whether that went well."""
        if chat_id == self.chat.id:
            return True
        try:
            chat, notices = self.store.open(chat_id)
        except Gpt2glError as error:
            self._toasts.show(str(error), kind="danger")
            self._summaries = None
            return False
        for notice in notices:
            self._toasts.show(notice, kind="warning")
        self.show(chat)
        return True

    # Changing ----------------------------------------------------------------------------------

    def change(self, chat_id: str, action: Callable[[Chat], None]) -> None:
        """Rename, pin, ...: do something to a chat of the list and save it."""
        if chat_id == self.chat.id:
            action(self.chat)
            self.save(self.chat)
            return
        try:
            chat, _ = self.store.open(chat_id)
        except Gpt2glError as error:
            self._toasts.show(str(error), kind="danger")
            return
        action(chat)
        self.save(chat)

    def delete(self, chat_id: str) -> None:
        """Delete a chat; a notice offers to bring it back."""
        found = next((s for s in self.summaries() if s.id == chat_id), None)
        if found is None:
            return
        self.store.delete(chat_id)
        self._summaries = None
        if chat_id == self.chat.id:
            self.chat = Chat()
            self._shown(self.chat)
        self._toasts.show(
            f"Deleted “{found.title}”", action="Undo", on_action=lambda: self._restore(found)
        )

    def _restore(self, summary: Summary) -> None:
        self.store.restore(summary)
        self._summaries = None
        self._toasts.show(f"“{summary.title}” is back", kind="success")
