"""The inspector between frames: what is captured, drawn, computed and changed."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gpt2gl.errors import Gpt2glError
from gpt2gl.generation import Token
from gpt2gl.session import Session
from gpt2gl_ui.chats.messages import Message
from gpt2gl_ui.engine import READY
from gpt2gl_ui.inspector.changes import Changes
from gpt2gl_ui.inspector.jobs import Jobs
from gpt2gl_ui.inspector.live import Live
from gpt2gl_ui.inspector.spans import Spans, Weights
from gpt2gl_ui.inspector.stepping import Stepper
from gpt2gl_ui.inspector.texts import Text
from gpt2gl_ui.text.painting import Tokens

if TYPE_CHECKING:
    from gpt2gl_ui.app import App

ATTENTION, ACTIVATIONS, LENS = "Attention", "Activations", "Lens"
TOKENS, INTERVENE, STEP = "Tokens", "Intervene", "Step"
# What has to be captured for a tab.
KINDS = {ATTENTION: ("attention",), ACTIVATIONS: ("residual", "mlp")}
WORK_SECONDS = 0.005  # of a frame, for pictures
ENCODE, APPLY = "encode", "apply"


class Inspector:
    """One window's.

    Attributes:
        tab: which is shown.
        text: the tokens that are looked at.
        live: pictures and numbers of them.
        jobs: what is computed aside.
        changes: interventions; they hold for the chat too, and after the panel was closed.
        stepper: the computation that is stepped through, if one is.
        selected: the token that was chosen, None for the last; `hovered` the one pointed at.
        attended: [hovered + 1] weights of the token that is pointed at in the conversation.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self.tab = ATTENTION
        self.text = Text(app)
        self.live = Live()
        self.jobs = Jobs(app.engine)
        self.changes = Changes()
        self.stepper: Stepper | None = None
        self.selected: int | None = None
        self.hovered: int | None = None
        self.attended: Weights | None = None
        self._spans = Spans(self.text)
        self._visited: set[str] = set()
        self._captured: object = None  # tokens and version of the changes
        app.engine.stepped = self._stepped
        app.engine.closing = self._closing

    @property
    def is_open(self) -> bool:
        return self.app.settings.inspector_open or self.app.state.inspector_full

    @property
    def session(self) -> Session | None:
        """The session, if it can be looked into."""
        return self.app.engine.session if self.app.engine.state == READY else None

    @property
    def n_rows(self) -> int:
        """How many of the tokens are captured."""
        session = self.session
        if session is None or session.model.capture is None:
            return 0
        return min(session.model.capture.n_rows, len(self.text.tokens))

    @property
    def position(self) -> int:
        """The token that numbers are shown of: the one chosen, or the last; -1 for none."""
        last = (self.n_rows or len(self.text.tokens)) - 1
        return last if self.selected is None else min(self.selected, last)

    def result(self, name: str, key: Any, make: Any) -> Any:
        """A number that takes a while, of this text under these interventions; see `Jobs`."""
        return self.jobs.result(name, self._key(key), make)

    def failure(self, name: str, key: Any) -> str:
        return self.jobs.failure(name, self._key(key))

    def _key(self, key: Any) -> tuple[Any, ...]:
        return self.text.tokens, self.changes.applied, key

    def begin_frame(self) -> None:
        """Called before the panel is drawn."""
        self.live.begin_frame()
        self.jobs.begin_frame()
        self.hovered, self.attended = self._hovered_in_conversation(), None
        if self.selected is not None and self.selected >= len(self.text.tokens):
            self.selected = None

    def _hovered_in_conversation(self) -> int | None:
        at = self.app.state.hovered_token
        return None if at is None else self.text.position_of(*at)

    def attention_in(self, message: Message) -> Tokens | None:
        """A message's tokens, tinted by how much the one that is pointed at attends to them; None
        unless one is, and the panel shows attention."""
        at = self.app.state.hovered_token
        if at is None or self.attended is None or not self.is_open:
            return None
        span = self._spans.of(message)
        if span is None:
            return None
        selected = at[1] if at[0] == message.id else None
        return span.tinted(self.attended, selected)

    # Between frames ----------------------------------------------------------------------------

    def work(self, deadline: float) -> bool:
        """Everything but the engine's own work; whether there is more to do at once."""
        session = self.session
        if session is None:
            return False
        if not self.is_open:
            self._close(session)
            self._apply_changes()
            return False
        self.text.follow(session)
        self._capture(session)
        more = self._draw(session, min(deadline, time.monotonic() + WORK_SECONDS))
        self._apply_changes()
        self._encode(session)
        self.jobs.work()
        return more

    def _draw(self, session: Session, deadline: float) -> bool:
        busy = self.app.engine.is_busy
        if not self.live.has_work(session, busy):
            return False
        with self.app.engine.held():
            session.model.device.take()
            changed, more = self.live.work(session, deadline, busy)
        if changed:
            self.app.loop.request()
        return more

    def _capture(self, session: Session) -> None:
        """Capture what the tabs that were seen need."""
        self._visited.add(self.tab)
        kinds = [kind for tab in KINDS if tab in self._visited for kind in KINDS[tab]]
        self.live.kinds = tuple(kinds)
        if self.live.wants_switch and not self.app.engine.is_busy:
            self._switch(session)

    def _switch(self, session: Session) -> None:
        self.app.engine.stop_aside()
        self._captured = None
        with self.app.engine.held():
            self.live.switch(session)

    def _close(self, session: Session) -> None:
        """Leave nothing on the GPU; while text is generated this waits for its next token."""
        if self.live.is_closed or self.app.engine.is_busy:
            return
        self._end(session)

    def _end(self, session: Session) -> None:
        self.app.engine.stop_aside()
        self.stepper = None
        self._visited.clear()
        self.jobs.begin_frame()
        with self.app.engine.held():
            self.live.close(session)

    def _stepped(self, step: Any) -> None:
        """After a token no pass is under way, so what is captured can change."""
        session = self.session
        if session is None or not isinstance(step, Token):
            return
        if self.is_open and self.live.wants_switch:
            self._switch(session)
        elif not self.is_open and not self.live.is_closed:
            self._end(session)

    def _encode(self, session: Session) -> None:
        """Encode the text again, as far as what is captured is not it."""
        capture, tokens = session.model.capture, self.text.tokens
        if capture is None or not tokens:
            return
        wanted = (tokens, self.changes.applied)
        if session.encoded:
            self._captured = (session.encoded, self.changes.applied)
        if self.tab in KINDS and self._captured != wanted and self.app.engine.is_idle:
            self.jobs.begin(ENCODE, wanted, lambda session: _encode_steps(session, tokens))

    def _apply_changes(self) -> None:
        """Have the session run under the changes, once nothing is generated."""
        changes = self.changes
        if changes.applied == changes.version or self.app.engine.is_busy:
            return
        if failure := self.jobs.failure(APPLY, changes.version):
            changes.reset()
            self.app.toasts.show(failure, kind="danger")
        if not self.jobs.is_running(APPLY, changes.version):
            self.jobs.begin(APPLY, changes.version, changes.apply_steps)

    def _closing(self) -> None:
        """The model goes, and with it all that was made of it."""
        with suppress(Gpt2glError):
            self.live.forget()
        self.jobs.forget()
        self.text.forget()
        self.changes.forget()
        self.stepper = self.selected = self._captured = None


def _encode_steps(session: Session, tokens: Sequence[int]) -> Generator[None, None, None]:
    yield from session.encode_steps(tokens)
