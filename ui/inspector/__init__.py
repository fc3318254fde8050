"""The inspector: what happens inside the model, drawn from its textures."""
