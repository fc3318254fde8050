"""Standard output as bytes."""

from __future__ import annotations

import sys


def write(text: str) -> None:
    """To standard output as UTF-8, whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
