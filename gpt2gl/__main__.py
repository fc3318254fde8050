"""`python -m gpt2gl` is the same as the `gpt2gl` command."""

from __future__ import annotations

from gpt2gl.cli import main

if __name__ == "__main__":
    main()
