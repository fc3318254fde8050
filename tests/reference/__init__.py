"""References that the engine is compared with: GPT-2 in NumPy, and an adapter for transformers."""
