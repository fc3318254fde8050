"""Text of messages: Markdown, wrapping, selection, tinted tokens.

`document` and `markdown` turn a source text into blocks, `flow` and `layout` wrap them,
`selection` knows what is chosen, `painting` and `view` draw and take the pointer. Positions are
indices into the source text throughout.
"""
