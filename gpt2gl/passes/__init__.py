"""The passes that models are made of.

A pass is data; `Device` draws it. This package knows which defines a shader file wants and which
texels of its target a step covers, and nothing of models.
"""

from __future__ import annotations

from gpt2gl.passes.calls import Passes
from gpt2gl.passes.table import CHUNK, PART4, PASSES, Dims, Norm

__all__ = ["CHUNK", "PART4", "PASSES", "Dims", "Norm", "Passes"]
