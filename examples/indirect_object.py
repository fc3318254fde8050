"""Where does a model keep the name it is about to say? Patching the indirect-object task.

    python examples/indirect_object.py [MODEL] [PICTURE.png]

"When Mary and John went to the garden, John gave a flower to" is followed by Mary; with Mary and
John swapped in the second clause, by John. The residual stream of the second text, one layer and
one position at a time, is put into a run on the first. Where that turns the answer round, the
model keeps what decides it (Wang et al., "Interpretability in the Wild", 2022; Meng et al.,
"Locating and Editing Factual Associations in GPT", 2022).

Meant for `gpt2` (fetched once, 548 MB). The embedded `storyteller`, which is the default so that
this runs without a network, was trained on small stories and does not solve the task.

Cells are marked by `# %%`, for editors that run them one by one.
"""

from __future__ import annotations

# %% Two texts that differ in one token
import sys

import numpy as np
from matplotlib.figure import Figure

import gpt2gl
from gpt2gl.interventions import patch_from

MODEL, PICTURE = (*sys.argv[1:], *("storyteller", "indirect_object.png")[len(sys.argv) - 1 :])
TEXT = "When Mary and John went to the garden, {} gave a flower to"

model = gpt2gl.load(MODEL)
n_layer = model.model.config.n_layer
encode = model.tokenizer.encode
tokens, other = encode(TEXT.format("John")), encode(TEXT.format("Mary"))
mary, john = (encode(f" {name}")[0] for name in ("Mary", "John"))
assert len(tokens) == len(other)
labels = [model.tokenizer.token_text(token) for token in tokens]


def preference() -> float:
    """How much more the model expects Mary than John, in logits."""
    logits = model.logits(tokens)
    return float(logits[mary] - logits[john])


before = preference()
swapped = model.logits(other)
after = swapped[mary] - swapped[john]
print(f"{MODEL}: Mary over John by {before:.2f} logits; by {after:.2f} in the other text")

# %% Every layer and position from where the texts differ: patch one, ask again
trace = model.trace(other, ["h.*.resid_post"])
first = next(i for i, (a, b) in enumerate(zip(tokens, other, strict=True)) if a != b)
positions = range(first, len(tokens))
change = np.zeros((n_layer, len(positions)))
for layer in range(n_layer):
    for column, position in enumerate(positions):
        with model.intervene(patch_from(trace, f"h.{layer}.resid_post", [position])):
            change[layer, column] = preference() - before

print("change of the preference, layers down, tokens across")
print("       " + "".join(f"{labels[position]:>9}" for position in positions))
for layer in range(n_layer):
    print(f"{layer:5}  " + "".join(f"{value:9.2f}" for value in change[layer]))

# %% A picture
figure = Figure((7, 5), layout="constrained")
axes = figure.subplots()
limit = float(np.abs(change).max()) or 1.0
image = axes.imshow(change, cmap="RdBu", vmin=-limit, vmax=limit, origin="lower", aspect="auto")
axes.set_xticks(range(len(positions)))
axes.set_xticklabels([labels[i] for i in positions], rotation=45, parse_math=False)
axes.set(title="Residual stream patched from the other text", ylabel="layer")
figure.colorbar(image, label="change of logit(Mary) - logit(John)")
figure.savefig(PICTURE)
print(f"\npicture: {PICTURE}")
model.close()
