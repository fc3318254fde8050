"""Chats: the tree of a conversation, its file, search, and exchange with other programs."""
