"""The desktop window, installed as `gpt2gl_ui`; it imports gpt2gl, never the reverse."""
