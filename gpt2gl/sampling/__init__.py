"""Choosing the next token from a model's logits.

`SAMPLERS` lists the steps in the order in which they are applied, which is the order of
`generate` in Hugging Face transformers (`GenerationMixin._get_logits_processor`):

1.  `logit_bias`           add a fixed bias to chosen tokens
2.  `repetition_penalty`   weaken every token of the prompt and of the answer
3.  `presence_penalty`     subtract a constant from every token of the answer
4.  `frequency_penalty`    subtract in proportion to a token's count in the answer
5.  `no_repeat_ngram`      forbid the token that would complete an n-gram a second time
6.  `banned`               forbid the token that would complete a banned sequence
7.  `min_new_tokens`       forbid the end of text until the answer is long enough
8.  `temperature`          divide the logits; 0 keeps only the most likely token (greedy)
9.  `top_k`                keep the k most likely tokens
10. `top_p`                keep the smallest set of tokens that holds probability p (nucleus)
11. `min_p`                drop tokens far less likely than the most likely one
12. `typical_p`            keep the tokens whose information is closest to the entropy

Transformers has no presence and frequency penalty; they stand beside the other penalty. Where
transformers leaves the choice among equal logits to the sort, the rule here is fixed: top-k keeps
every token that equals the k-th, as transformers does; greedy and top-p prefer the lower id.

A new step is one function in `processors` or `warpers`, one row in that module's table, and one
field of `Sampling` with the same name.
"""

from __future__ import annotations

from .chain import SAMPLERS
from .options import SAMPLING_OPTIONS, Number, Option, Sampling, TokenBias, TokenSequences
from .sampler import Alternative, Choice, Sampler, top_alternatives
from .state import Logits, State, Step, TokenIds

__all__ = [
    "SAMPLERS",
    "SAMPLING_OPTIONS",
    "Alternative",
    "Choice",
    "Logits",
    "Number",
    "Option",
    "Sampler",
    "Sampling",
    "State",
    "Step",
    "TokenBias",
    "TokenIds",
    "TokenSequences",
    "top_alternatives",
]
