"""The embedded model and the fonts, installed as `gpt2gl_assets`; see `gpt2gl.resources`."""
