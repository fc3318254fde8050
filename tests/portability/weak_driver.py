"""A pytest plugin that stands for the weakest driver this engine is made for.

`pytest -p tests.portability.weak_driver tests/layers` runs every device of those tests with
textures of side 2,048 and 256 layers, four draw buffers and uniform blocks of 16 KB, which are the
least that OpenGL ES 3.0 allows.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpt2gl.gl.context import headless

WEAK = {
    "max_side": 2048,
    "max_layers": 256,
    "max_draw_buffers": 4,
    "max_uniform_block": 16384,
    "max_texture_units": 16,
}


def pytest_sessionstart(session: pytest.Session) -> None:
    headless()  # before OpenGL is imported, whose platform it chooses
    from gpt2gl.gl import limits

    query = limits.query

    def weak() -> limits.Limits:
        own = query()
        return replace(own, **{name: min(n, getattr(own, name)) for name, n in WEAK.items()})

    limits.query = weak
