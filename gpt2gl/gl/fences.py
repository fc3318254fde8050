"""Bounding how far ahead of the device a caller runs.

Draw calls only queue work. A window that queues a whole token blocks its own next frame behind it,
so it marks the end of each step with a fence and waits while too many are under way.
"""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType
from typing import Any

from OpenGL import GL

# What the device works on, and what it finds when that is done.
IN_FLIGHT = 2


class Fences:
    """Fences of steps that may still be under way, oldest first, on the current context."""

    def __init__(self) -> None:
        self._pending: deque[Any] = deque()

    def mark(self) -> None:
        """Note the end of a step, and send off what was queued."""
        self._pending.append(GL.glFenceSync(GL.GL_SYNC_GPU_COMMANDS_COMPLETE, 0))
        GL.glFlush()

    def wait(self, deadline: float, most: int) -> bool:
        """Wait until at most `most` steps are under way; False if they are not by `deadline`, in
        seconds of `time.monotonic`."""
        while len(self._pending) > most:
            left = max(0, int((deadline - time.monotonic()) * 1e9))
            if GL.glClientWaitSync(self._pending[0], 0, left) == GL.GL_TIMEOUT_EXPIRED:
                return False
            GL.glDeleteSync(self._pending.popleft())
        return True

    def close(self) -> None:
        """Forget the fences; safe to call twice."""
        while self._pending:
            GL.glDeleteSync(self._pending.popleft())

    def __enter__(self) -> Fences:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
