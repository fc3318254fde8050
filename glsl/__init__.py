"""The fragment shaders, installed as `gpt2gl_glsl`; `gpt2gl.resources` finds the files."""
