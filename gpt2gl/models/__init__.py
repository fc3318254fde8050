"""Model architectures by the `model_type` of their config."""

from __future__ import annotations

from gpt2gl.models.gpt2 import GPT2

ARCHITECTURES = {"gpt2": GPT2}
