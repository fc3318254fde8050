"""The chats of this user: which there are, which is open, what is deleted and brought back."""

from __future__ import annotations

from collections.abc import Callable

from gpt2gl.errors import Gpt2glError
from gpt2gl_ui.chats.codec import Summary, summary_of
from gpt2gl_ui.chats.store import Store
from gpt2gl_ui.chats.tree import CHAT, Chat
from gpt2gl_ui.toasts import Toasts


class Shelf:
    """The list of chats, over the store.

    Attributes:
        chat: the one that is open.
        private: chats of this run that are not saved, by id.
    """

    def __init__(self, store: Store, toasts: Toasts, shown: Callable[[Chat], None]) -> None:
        """`shown` is called with each chat that is opened."""
        self.store = store
        self._toasts = toasts
        self._shown = shown
        self._summaries: list[Summary] | None = None
        self.private: dict[str, Chat] = {}
        self.chat = Chat()

    def summaries(self) -> list[Summary]:
        """All chats, pinned ones first, then by when they were changed last."""
        if self._summaries is None:
            self._summaries = self.store.summaries()
        return self._summaries

    def listed(self) -> list[Summary]:
        """What the window lists: private chats, then all others."""
        return [*map(summary_of, self.private.values()), *self.summaries()]

    def refresh(self) -> None:
        """Look again what there is, e.g. after another instance had the time to write."""
        self._summaries = None

    def save(self, chat: Chat) -> None:
        """Have a chat written soon, if it is to be written at all."""
        chat_id = chat.id
        if not self.store.save(chat):
            return
        if chat.id == chat_id:
            self._note(summary_of(chat))
        else:  # it became a copy, and the list knows neither what it was nor what it is
            self._summaries = None

    def _note(self, summary: Summary) -> None:
        """Put a chat into the list without looking at the others, of which there may be many."""
        if self._summaries is not None:
            others = [each for each in self._summaries if each.id != summary.id]
            self._summaries = sorted(
                [*others, summary], key=lambda s: (not s.pinned, -s.updated, s.id)
            )

    # Opening -----------------------------------------------------------------------------------

    def new(self, *, private: bool = False, mode: str = CHAT) -> None:
        """Open a chat of no messages; it is in the list once something is said."""
        self.show(Chat(private=private, mode=mode))

    def show(self, chat: Chat) -> None:
        """Open a chat; the one that was open is saved."""
        self.save(self.chat)
        if self.chat.private and self.chat.is_empty:
            self.private.pop(self.chat.id, None)
        self.chat = chat
        if chat.private:
            self.private[chat.id] = chat
        self.save(chat)
        self._shown(chat)

    def open(self, chat_id: str) -> bool:
        """Open a chat of the list; whether that went well."""
        if chat_id == self.chat.id:
            return True
        if chat_id in self.private:
            self.show(self.private[chat_id])
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

    def chat_of(self, chat_id: str) -> Chat:
        """A chat of the list, without opening it.

        Raises:
            OptionError: its file is gone or cannot be read.
        """
        known = self.chat if chat_id == self.chat.id else self.private.get(chat_id)
        return known or self.store.open(chat_id)[0]

    def adopt(self, chat: Chat) -> None:
        """Take in a chat that came from elsewhere."""
        self.store.adopt(chat)
        self._note(summary_of(chat))

    # Changing ----------------------------------------------------------------------------------

    def change(self, chat_id: str, action: Callable[[Chat], None]) -> None:
        """Rename, pin, ...: do something to a chat of the list and save it."""
        try:
            chat = self.chat_of(chat_id)
        except Gpt2glError as error:
            self._toasts.show(str(error), kind="danger")
            return
        action(chat)
        self.save(chat)

    def delete(self, chat_id: str) -> None:
        """Delete a chat; a notice offers to bring it back."""
        found = next((s for s in self.listed() if s.id == chat_id), None)
        if found is None:
            return
        undo = self._take_out(found)
        if chat_id == self.chat.id:
            self.chat = Chat()
            self._shown(self.chat)
        self._toasts.show(f"Deleted “{found.title}”", action="Undo", on_action=undo)

    def _take_out(self, summary: Summary) -> Callable[[], None]:
        """Gives what undoes it."""
        private = self.private.pop(summary.id, None)
        if private is not None:
            return lambda: self.private.update({summary.id: private})
        self.store.delete(summary.id)
        if self._summaries is not None:
            self._summaries = [each for each in self._summaries if each.id != summary.id]
        return lambda: self._restore(summary)

    def _restore(self, summary: Summary) -> None:
        self.store.restore(summary)
        self._note(summary)
        self._toasts.show(f"“{summary.title}” is back", kind="success")
