"""Find induction heads: heads that look for what came after the last time they saw this token.

    python examples/induction_heads.py [MODEL] [PICTURE.png]

A text that is random tokens, twice, has no grammar to go by: whatever a model gets right in the
second half it has from the first. The heads that carry it over attend from each token to the one
after its previous occurrence (Olsson et al., "In-context Learning and Induction Heads", 2022).

Meant for `gpt2` (fetched once, 548 MB). The embedded `storyteller`, which is the default so that
this runs without a network, is small and shows weaker ones.

Cells are marked by `# %%`, for editors that run them one by one.
"""

from __future__ import annotations

# %% A model, and random tokens twice
import sys

import numpy as np
from matplotlib.figure import Figure

import gpt2gl
from gpt2gl.analysis import (
    attention_of,
    induction_scores,
    previous_token_scores,
    probabilities,
    repeated_tokens,
)
from gpt2gl.interventions import ablate_heads

MODEL, PICTURE = (*sys.argv[1:], *("storyteller", "induction_heads.png")[len(sys.argv) - 1 :])

model = gpt2gl.load(MODEL)
config = model.model.config
LENGTH = min(40, config.n_positions // 2)
tokens = repeated_tokens(config.vocab_size, LENGTH)

# %% Attention of every head: [n_layer, n_head, query, key], and its score
trace = model.trace(tokens, ["h.*.attn.probs"])
attention = attention_of(trace, config.n_layer)
scores = induction_scores(attention, LENGTH)  # [n_layer, n_head]
previous = previous_token_scores(attention)

order = np.argsort(-scores, axis=None)
heads = [divmod(int(i), config.n_head) for i in order]
print(f"{MODEL}: {LENGTH} random tokens, twice")
print("layer  head  induction  previous token")
for layer, head in heads[:8]:
    print(f"{layer:5}  {head:4}  {scores[layer, head]:9.3f}  {previous[layer, head]:14.3f}")


# %% Does the model need them? Switch off the best, and as many of the worst
def second_half() -> float:
    """Mean log-probability of the tokens of the second half, in nats."""
    logits = np.concatenate(list(model.row_logits(tokens)))  # [2 * LENGTH, vocab_size]
    p = probabilities(logits[LENGTH - 1 : -1])
    return float(np.log(p[np.arange(LENGTH), tokens[LENGTH:]]).mean())


COUNT = max(1, len(heads) // 10)
print(f"\nlog-probability of the second half: {second_half():.3f}")
for name, chosen in (("strongest", heads[:COUNT]), ("weakest", heads[-COUNT:])):
    with model.intervene(*ablate_heads(chosen)):
        print(f"  without the {COUNT} {name} heads: {second_half():.3f}")

# %% A picture: the scores, and the strongest head's attention with its stripe
layer, head = heads[0]
figure = Figure((11, 5), layout="constrained")
left, right = figure.subplots(1, 2)
image = left.imshow(scores, vmin=0, vmax=1, origin="lower")
left.set(title="Induction score", xlabel="head", ylabel="layer")
figure.colorbar(image, ax=left)
right.imshow(attention[layer, head], vmin=0, vmax=1)
right.set(title=f"Attention of layer {layer}, head {head}", xlabel="key", ylabel="query")
figure.savefig(PICTURE)
print(f"\npicture: {PICTURE}")
model.close()
