"""Every error a user can cause, each with the exit code the command line ends with.

A message is one line that says what is wrong, where, and what to do about it.
"""

from __future__ import annotations


class Gpt2glError(Exception):
    """Base of all errors this package raises on purpose; `exit_code` is the process's."""

    exit_code = 2


class OptionError(Gpt2glError):
    """An option has a value outside its range."""


class ConfigError(Gpt2glError):
    """A model's config.json is unreadable, inconsistent, or asks for something not implemented."""


class WeightError(Gpt2glError):
    """A weight file is damaged, or its tensors do not fit the model's config."""


class ModelNotFound(Gpt2glError):
    """No model of that name or at that path."""


class DownloadError(Gpt2glError):
    """A model cannot be fetched: no network, no permission, or a server that misbehaves."""


class CacheError(Gpt2glError):
    """The folder that keeps downloaded models cannot be written, is full or in use."""


class TokenizerError(Gpt2glError):
    """Tokenizer files are missing, damaged or of an unknown type, or text cannot be encoded."""


class ContextLengthError(Gpt2glError):
    """More tokens than the model has positions for."""


class DeviceError(Gpt2glError):
    """The OpenGL driver is missing, too old, or computes wrong results."""

    exit_code = 3


class ContextLost(DeviceError):
    """The driver was reset or the GPU removed: everything on the GPU is gone."""


class ShaderError(DeviceError):
    """A shader does not compile or link; names pass, file, line and the driver's log."""


class VerificationError(Gpt2glError):
    """A comparison against a reference exceeded its limit."""

    exit_code = 1
