"""The tree of a conversation: a machine against a simple model, and each operation by example."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gpt2gl.errors import OptionError
from gpt2gl.templates import ASSISTANT, USER, Turn
from gpt2gl_ui.chats.messages import NO_TOKEN, Answer, TokenInfo
from gpt2gl_ui.chats.tree import NOTEBOOK, UNTITLED, Chat, Removed
from tests.ui.chat_values import dialogue, finished


class Node:
    """The model: a node with its children, and which of them is shown."""

    def __init__(self, id: str | None, text: str = "") -> None:
        self.id, self.text = id, text
        self.children: list[Node] = []
        self.shown: Node | None = None

    def every(self) -> list[tuple[Node, Node]]:
        """Pairs of parent and child below this node."""
        return [(self, c) for c in self.children] + [p for c in self.children for p in c.every()]

    def path(self) -> list[Node]:
        return [] if self.shown is None else [self.shown, *self.shown.path()]

    def put(self, node: Node, place: int) -> None:
        self.children.insert(place, node)
        self.shown = node


class TreeMachine(RuleBasedStateMachine):
    """Random operations on a chat and on the model; deletions are undone in reverse order."""

    def __init__(self) -> None:
        super().__init__()
        self.chat, self.root = Chat(), Node(None)
        self.deleted: list[tuple[Removed, Node, Node, int, Node | None]] = []

    def pick(self, data: st.DataObject) -> tuple[Node, Node]:
        return data.draw(st.sampled_from(self.root.every()))

    @rule(data=st.data(), text=st.text(max_size=3))
    def add(self, data: st.DataObject, text: str) -> None:
        parents = [self.root, *(node for _, node in self.root.every())]
        parent = data.draw(st.sampled_from(parents))
        made = self.chat.add(parent.id, USER, text)
        parent.put(Node(made.id, text), len(parent.children))

    @precondition(lambda self: self.root.children)
    @rule(data=st.data(), text=st.text(max_size=3))
    def edit(self, data: st.DataObject, text: str) -> None:
        parent, node = self.pick(data)
        assert node.id is not None
        made = self.chat.edit(node.id, text)
        assert made.edited
        parent.put(Node(made.id, text), len(parent.children))

    @precondition(lambda self: self.root.children)
    @rule(data=st.data())
    def select(self, data: st.DataObject) -> None:
        parent, node = self.pick(data)
        assert node.id is not None
        self.chat.select_version(node.id)
        parent.shown = node

    @precondition(lambda self: self.root.children)
    @rule(data=st.data(), piece=st.text(max_size=3))
    def append(self, data: st.DataObject, piece: str) -> None:
        _, node = self.pick(data)
        assert node.id is not None
        self.chat.append_text(node.id, piece)
        node.text += piece

    @precondition(lambda self: self.root.children)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        parent, node = self.pick(data)
        assert node.id is not None
        place = parent.children.index(node)
        self.deleted.append((self.chat.delete(node.id), parent, node, place, parent.shown))
        parent.children.remove(node)
        if parent.shown is node:
            left = parent.children
            parent.shown = left[min(place, len(left) - 1)] if left else None

    @precondition(lambda self: self.deleted)
    @rule()
    def undo(self) -> None:
        removed, parent, node, place, shown = self.deleted.pop()
        self.chat.restore(removed)
        parent.put(node, min(place, len(parent.children)))
        if shown in parent.children:
            parent.shown = shown

    @precondition(lambda self: self.root.children)
    @rule(data=st.data())
    def branch(self, data: st.DataObject) -> None:
        _, node = self.pick(data)
        assert node.id is not None
        self.chat.show(node.id)
        turns = self.chat.turns(node.id)
        branch = self.chat.branch_from(node.id)
        assert branch.turns() == turns
        assert len(branch) == len(turns)
        for parent, child in self.root.every():
            below = [c for _, c in child.every()]
            if child is node or node in below:
                parent.shown = child

    @invariant()
    def same(self) -> None:
        path = self.root.path()
        assert [(m.id, m.text) for m in self.chat.path()] == [(n.id, n.text) for n in path]
        pairs = self.root.every()
        assert {m.id for m in self.chat} == {node.id for _, node in pairs}
        assert len(self.chat) == len(pairs)
        for parent, node in pairs:
            index, versions = self.chat.versions(node.id or "")
            assert [each.id for each in versions] == [each.id for each in parent.children]
            assert versions[index].id == node.id


TestTree = TreeMachine.TestCase
TestTree.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_new_chat() -> None:
    chat = Chat()
    assert (chat.title, chat.is_empty, chat.last, chat.path(), chat.turns()) == (
        *(UNTITLED, True, None),
        *([], []),
    )


def test_title() -> None:
    chat = dialogue("  Tell me\na story ", "Once")
    assert chat.title == "Tell me a story"
    chat.rename(" My  title\n")
    assert chat.title == "My title"
    chat.rename(" ")
    assert chat.title == "Tell me a story"
    assert dialogue("word " * 50).title == f"{('word ' * 12)[:59].rstrip()}…"
    notebook = Chat(mode=NOTEBOOK)
    notebook.notebook.apply_edit("Chapter 1\n")
    assert notebook.title == "Chapter 1"
    assert not notebook.is_empty


def test_an_answer_grows_ends_and_goes_on() -> None:
    chat = dialogue("Hi")
    answer = chat.begin_answer(chat.path()[-1].id, "small")
    chat.append_text(answer.id, "He", TokenInfo(1, "He", -0.5, 0.6))
    chat.append_text(answer.id, "llo", TokenInfo(2, "llo", -0.5, 0.6))
    chat.finish(answer.id, finished(" you"), "small")
    chat.append_text(answer.id, "!", TokenInfo(3, "!", -0.5, 0.6))
    chat.finish(answer.id, finished(new_tokens=1), "large")
    made = chat[answer.id]
    assert made.text == "Hello you!"
    assert made.answer is not None
    assert [(t.id, t.text) for t in made.answer.tokens] == [
        *((1, "He"), (2, "llo")),
        *((NO_TOKEN, " you"), (3, "!")),
    ]
    assert (made.answer.new_tokens, made.answer.model, chat.model) == (3, "large", "large")
    assert (made.answer.reason, made.answer.seed) == ("stop", 7)
    assert (made.answer.first_token_seconds, made.answer.tokens_per_second) == (0.25, 0)


def test_an_answer_changed_by_hand_keeps_the_tokens_before_the_change() -> None:
    chat = dialogue("Hi")
    answer = chat.begin_answer(chat.path()[-1].id, "small")
    for i, piece in enumerate(("One", " two", " three")):
        chat.append_text(answer.id, piece, TokenInfo(i, piece, -1, 0.5))
    chat.replace_text(answer.id, "One two, three")
    made = chat[answer.id]
    assert made.edited
    assert made.answer is not None
    assert [token.text for token in made.answer.tokens] == ["One", " two"]
    fork = chat.version_from_token(answer.id, 1)
    assert (fork.text, fork.answer and fork.answer.new_tokens) == ("One", 1)
    assert chat.versions(fork.id) == (1, (made, fork))


def test_regenerating_adds_a_version() -> None:
    chat = dialogue("Hi", "First")
    question = chat.path()[0]
    chat.begin_answer(question.id, "small")
    assert chat.turns() == [Turn(USER, "Hi"), Turn(ASSISTANT, "")]
    first = chat.versions(chat.path()[1].id)[1][0]
    chat.select_version(first.id)
    assert chat.turns() == [Turn(USER, "Hi"), Turn(ASSISTANT, "First")]
    assert chat.turns(question.id) == [Turn(USER, "Hi")]


def test_undo_in_the_wrong_order_is_refused() -> None:
    chat = dialogue("Hi", "First")
    question, answer = chat.path()
    inner, outer = chat.delete(answer.id), chat.delete(question.id)
    with pytest.raises(OptionError, match="undo the later deletion first"):
        chat.restore(inner)
    chat.restore(outer)
    chat.restore(inner)
    assert chat.path() == [question, answer]


def test_a_branch_stands_by_itself_and_stays_private() -> None:
    chat = dialogue("Hi", "Hello", "Bye")
    chat.private = True
    branch = chat.branch_from(chat.path()[1].id)
    assert branch.private
    assert branch.title == "Hi (branch)"
    assert not {m.id for m in chat} & {m.id for m in branch}
    branch.say("More")
    assert len(chat) == 3


def test_a_conversation_deeper_than_pythons_stack() -> None:
    chat = dialogue(*("word" for _ in range(1500)))
    assert len(chat.path()) == len(list(chat)) == 1500
    removed = chat.delete(chat.path()[1].id)
    chat.restore(removed)
    assert len(chat.path()) == 1500


def test_every_change_is_seen_and_only_texts_count_as_new() -> None:
    chat = dialogue("Hi", "Hello")
    chat.updated = before = chat.created - 1000
    seen = [chat.revision]
    for change in (
        *(lambda: chat.rename("x"), lambda: chat.pin(True), lambda: chat.set_mode(NOTEBOOK)),
        lambda: chat.select_version(chat.path()[1].id),
    ):
        change()
        seen.append(chat.revision)
    assert chat.updated == before
    chat.append_text(chat.path()[1].id, "!")
    seen.append(chat.revision)
    assert chat.updated > before
    assert sorted(set(seen)) == seen


def test_refusals() -> None:
    chat = Chat()
    with pytest.raises(KeyError):
        chat.add("nobody", USER, "Hi")
    with pytest.raises(KeyError):
        chat.select_version("nobody")
    with pytest.raises(OptionError, match=r"mode is 'poem'; allowed: chat \| notebook"):
        chat.set_mode("poem")
    assert len(chat) == 0


def test_numbers_are_kept_short_and_finite() -> None:
    token = TokenInfo(1, "a", float("-inf"), 1 / 3, float("nan"))
    assert (token.logprob, token.probability, token.entropy) == (-3.4e38, 0.333333, 0.0)
    assert Answer(tokens_per_second=float("inf")).tokens_per_second == 3.4e38
