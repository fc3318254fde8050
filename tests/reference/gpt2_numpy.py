"""GPT-2 in NumPy, written to be read: the oracle that every pass of the engine is compared with.

The model is that of Radford et al., "Language Models are Unsupervised Multitask Learners" (2019),
with the tensor names and the options of the Hugging Face implementation (`modeling_gpt2.py`).
At run time this file needs NumPy and nothing else.

Letters in shape comments: T tokens of this call, P tokens in the cache before it, S = P + T,
E = n_embd, H = n_head, D = E / H, F = n_inner, V = vocabulary size.

Weights are a mapping of canonical names to arrays; matrices are [in, out], as in GPT-2 checkpoints:

    wte.weight [V, E]                 wpe.weight [n_positions, E]
    h.{i}.ln_1.weight, .bias [E]      h.{i}.ln_2.weight, .bias [E]
    h.{i}.attn.c_attn.weight [E, 3E]  h.{i}.attn.c_attn.bias [3E]
    h.{i}.attn.c_proj.weight [E, E]   h.{i}.attn.c_proj.bias [E]
    h.{i}.mlp.c_fc.weight [E, F]      h.{i}.mlp.c_fc.bias [F]
    h.{i}.mlp.c_proj.weight [F, E]    h.{i}.mlp.c_proj.bias [E]
    ln_f.weight, .bias [E]            lm_head.weight [V, E], absent when it is wte.weight
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Array = npt.NDArray[np.floating[Any]]
DType = type[np.float64] | type[np.float32]

BLOCK_WEIGHTS = tuple(
    f"{module}.{kind}"
    for module in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
    for kind in ("weight", "bias")
)


class Config(Protocol):
    """The hyperparameters that the forward pass reads, named as in a GPT-2 `config.json`."""

    @property
    def n_layer(self) -> int: ...
    @property
    def n_head(self) -> int: ...
    @property
    def n_embd(self) -> int: ...
    @property
    def activation_function(self) -> str: ...
    @property
    def layer_norm_epsilon(self) -> float: ...
    @property
    def scale_attn_weights(self) -> bool: ...
    @property
    def scale_attn_by_inverse_layer_idx(self) -> bool: ...


def layernorm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """Layer normalisation of each row: x [T, E], weight [E], bias [E] -> [T, E].

    Ba, Kiros and Hinton, "Layer Normalization" (2016): biased variance, eps inside the root.
    """
    centred = x - x.mean(axis=-1, keepdims=True)  # [T, E] - [T, 1] -> [T, E]
    variance = (centred * centred).mean(axis=-1, keepdims=True)  # [T, E] -> [T, 1]
    y: Array = centred / np.sqrt(variance + eps) * weight + bias
    return y


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x [T, in] @ weight [in, out] + bias [out] -> [T, out]."""
    y: Array = x @ weight  # [T, in] @ [in, out] -> [T, out]
    return y if bias is None else y + bias


def softmax(x: Array) -> Array:
    """Softmax over the last axis, any shape. The maximum is subtracted: exp stays finite."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    y: Array = e / e.sum(axis=-1, keepdims=True)
    return y


def split_heads(x: Array, n_head: int) -> Array:
    """x [T, E] -> [H, T, D]."""
    heads: Array = x.reshape(len(x), n_head, -1).transpose(1, 0, 2)  # -> [T, H, D] -> [H, T, D]
    return heads


def join_heads(x: Array) -> Array:
    """x [H, T, D] -> [T, E]."""
    joined: Array = x.transpose(1, 0, 2).reshape(x.shape[1], -1)  # -> [T, H, D] -> [T, E]
    return joined


def attention_scores(q: Array, k: Array, n_head: int, scale: float) -> Array:
    """Scaled dot products before masking: q [T, E], k [S, E] -> [H, T, S]."""
    queries = split_heads(q, n_head)  # [T, E] -> [H, T, D]
    keys = split_heads(k, n_head)  # [S, E] -> [H, S, D]
    scores: Array = queries @ keys.transpose(0, 2, 1) * scale  # [H, T, D] @ [H, D, S] -> [H, T, S]
    return scores


def causal_softmax(scores: Array) -> Array:
    """Softmax over the keys that a query may see: scores [H, T, S] -> [H, T, S], 0 for the others.

    The last query is the last key's own position, so query t sees the keys up to S - T + t.
    """
    n_query, n_key = scores.shape[1:]
    visible = np.tri(n_query, n_key, n_key - n_query, dtype=bool)  # [T, S]
    masked = scores.copy()
    masked[:, ~visible] = -np.inf
    return softmax(masked)


def attention_mix(probs: Array, v: Array) -> Array:
    """Weighted sums of the values, heads joined: probs [H, T, S], v [S, E] -> [T, E]."""
    values = split_heads(v, len(probs))  # [S, E] -> [H, S, D]
    return join_heads(probs @ values)  # [H, T, S] @ [H, S, D] -> [H, T, D] -> [T, E]


def attention(
    q: Array, k: Array, v: Array, n_head: int, scale: float
) -> tuple[Array, Array, Array]:
    """Causal multi-head attention: q [T, E], k [S, E], v [S, E] -> (scores, probs, z).

    scores [H, T, S] are scaled and not masked, probs [H, T, S], z [T, E] with the heads joined.
    Vaswani et al., "Attention Is All You Need" (2017), section 3.2.
    """
    scores = attention_scores(q, k, n_head, scale)
    probs = causal_softmax(scores)
    return scores, probs, attention_mix(probs, v)


def attention_scale(config: Config, layer: int) -> float:
    """The factor on q·k in a layer: 1/sqrt(D) times 1/(layer + 1), each if the config says so."""
    scale = (config.n_embd // config.n_head) ** -0.5 if config.scale_attn_weights else 1.0
    return scale / (layer + 1) if config.scale_attn_by_inverse_layer_idx else scale


def erf(x: Array) -> Array:
    """The error function of each element, exact to about 1e-15 relative in float64.

    |x| < 2: the series of Abramowitz and Stegun 7.1.6, whose terms all have the sign of x.
    Beyond: 1 - erfc(|x|), with erfc by the continued fraction 7.1.14. From |x| = 6 on erf is 1.
    """
    size = np.abs(x)
    near = _erf_series(np.minimum(size, 2.0))
    far = 1.0 - _erfc_fraction(np.clip(size, 2.0, 6.0))
    return np.copysign(np.where(size < 2.0, near, far), x)


def _erf_series(x: Array) -> Array:
    """2/sqrt(pi) exp(-x²) sum over n of 2^n x^(2n+1) / (1·3·…·(2n+1)), for 0 <= x <= 2."""
    term = total = x
    for n in range(1, 40):
        term = term * (2.0 * x * x / (2 * n + 1))
        total = total + term
    return total * np.exp(-x * x) * float(2.0 / np.sqrt(np.pi))


def _erfc_fraction(x: Array) -> Array:
    """exp(-x²)/sqrt(pi) · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))), for x >= 2."""
    tail = x
    for n in range(60, 0, -1):
        tail = x + (n / 2) / tail
    return np.exp(-x * x) / tail * float(1.0 / np.sqrt(np.pi))


def gelu(x: Array) -> Array:
    """x Φ(x) by the error function, any shape. Hendrycks and Gimpel, arXiv:1606.08415."""
    return 0.5 * x * (1.0 + erf(x * float(np.sqrt(0.5))))


def gelu_new(x: Array) -> Array:
    """The tanh form of GELU that GPT-2 was trained with, any shape. arXiv:1606.08415."""
    return 0.5 * x * (1.0 + np.tanh(float(np.sqrt(2.0 / np.pi)) * (x + 0.044715 * x * x * x)))


def relu(x: Array) -> Array:
    """max(x, 0), any shape; NaN stays NaN."""
    return np.maximum(x, 0.0)


def silu(x: Array) -> Array:
    """x / (1 + exp(-x)), any shape, also named swish. arXiv:1606.08415.

    For x < 0 computed as x exp(x) / (1 + exp(x)), so that exp never overflows.
    """
    return x * np.exp(np.minimum(x, 0.0)) / (1.0 + np.exp(-np.abs(x)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu_new": gelu_new,
    "gelu_pytorch_tanh": gelu_new,
    "gelu": gelu,
    "relu": relu,
    "silu": silu,
    "swish": silu,
}


def check_tokens(
    tokens: Sequence[int], vocab_size: int, n_positions: int, n_past: int = 0
) -> npt.NDArray[np.int64]:
    """The token ids [T] as an array.

    Raises ValueError if there are none, if an id is not in 0..vocab_size-1, or if n_past + T
    positions are more than n_positions. NumPy alone would read row -1 as the last one.
    """
    if len(tokens) == 0:
        raise ValueError("no tokens: give at least one")
    for token in tokens:
        if not 0 <= token < vocab_size:
            raise ValueError(f"token {token} is outside the vocabulary of {vocab_size}")
    if n_past + len(tokens) > n_positions:
        raise ValueError(f"{n_past + len(tokens)} tokens are more than {n_positions} positions")
    return np.asarray(tokens, dtype=np.int64)


def embed(
    weights: Mapping[str, Array], tokens: Sequence[int], n_past: int = 0, dtype: DType = np.float64
) -> Array:
    """Token plus position embedding: tokens [T], the first at position n_past -> [T, E].

    Raises ValueError as `check_tokens` does.
    """
    wte, wpe = weights["wte.weight"], weights["wpe.weight"]  # [V, E], [n_positions, E]
    ids = check_tokens(tokens, len(wte), len(wpe), n_past)
    token_rows = _cast(wte[ids], dtype)  # [T] -> [T, E]
    return token_rows + _cast(wpe[n_past : n_past + len(ids)], dtype)  # [T, E] + [T, E]


def block(
    x: Array,
    w: Mapping[str, Array],
    config: Config,
    layer: int,
    past: tuple[Array, Array] | None = None,
) -> dict[str, Array]:
    """One transformer block: x [T, E] -> its named tensors; the last, `resid_post`, is its output.

    `w` holds BLOCK_WEIGHTS by those names, `past` the keys and values [P, E] of earlier tokens.
    """
    t: dict[str, Array] = {}
    eps = config.layer_norm_epsilon
    t["ln_1"] = layernorm(x, w["ln_1.weight"], w["ln_1.bias"], eps)
    qkv = linear(t["ln_1"], w["attn.c_attn.weight"], w["attn.c_attn.bias"])  # [T, E] -> [T, 3E]
    q, k, v = np.split(qkv, 3, axis=-1)  # [T, 3E] -> 3 of [T, E]
    t["attn.q"], t["attn.k"], t["attn.v"] = q, k, v
    if past is not None:
        k = np.concatenate([past[0], k])  # [P, E], [T, E] -> [S, E]
        v = np.concatenate([past[1], v])  # [P, E], [T, E] -> [S, E]
    scale = attention_scale(config, layer)
    scores, probs, z = attention(q, k, v, config.n_head, scale)  # -> 2 of [H, T, S], [T, E]
    t["attn.scores"], t["attn.probs"], t["attn.z"] = scores, probs, z
    t["attn.out"] = linear(z, w["attn.c_proj.weight"], w["attn.c_proj.bias"])
    t["resid_mid"] = x + t["attn.out"]
    t["ln_2"] = layernorm(t["resid_mid"], w["ln_2.weight"], w["ln_2.bias"], eps)
    t["mlp.fc"] = linear(t["ln_2"], w["mlp.c_fc.weight"], w["mlp.c_fc.bias"])  # [T, E] -> [T, F]
    t["mlp.act"] = ACTIVATIONS[config.activation_function](t["mlp.fc"])
    t["mlp.out"] = linear(t["mlp.act"], w["mlp.c_proj.weight"], w["mlp.c_proj.bias"])  # -> [T, E]
    t["resid_post"] = t["resid_mid"] + t["mlp.out"]
    return t


def forward(
    weights: Mapping[str, Array],
    config: Config,
    tokens: Sequence[int],
    dtype: DType = np.float64,
    past: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Every named tensor of one pass over `tokens`, in the order of computation.

    `embed` [T, E]; per layer `h.{i}.ln_1` [T, E], `h.{i}.attn.q`, `.k`, `.v` [T, E] (heads joined),
    `.attn.scores` [H, T, S] (scaled, not masked), `.attn.probs` [H, T, S], `.attn.z` [T, E],
    `.attn.out` [T, E], `.resid_mid` [T, E], `.ln_2` [T, E], `.mlp.fc` [T, F] (before activation),
    `.mlp.act` [T, F], `.mlp.out` [T, E], `.resid_post` [T, E]; then `ln_f` [T, E], `logits` [T, V].

    Weights are converted to `dtype`, one layer at a time, and everything is computed in it. `past`
    is a `kv_cache` of the tokens before these. Raises ValueError as `check_tokens` does, KeyError
    naming a weight that is missing or an activation function that is not known.
    """
    n_past = 0 if past is None else len(past["h.0.attn.k"])
    x = embed(weights, tokens, n_past, dtype)  # [T] -> [T, E]
    trace = {"embed": x}
    for i in range(config.n_layer):
        w = {name: _cast(weights[f"h.{i}.{name}"], dtype) for name in BLOCK_WEIGHTS}
        tensors = block(x, w, config, i, _layer_past(past, i, dtype))
        trace.update({f"h.{i}.{name}": tensor for name, tensor in tensors.items()})
        x = tensors["resid_post"]
    ln_f = _cast(weights["ln_f.weight"], dtype), _cast(weights["ln_f.bias"], dtype)
    trace["ln_f"] = layernorm(x, *ln_f, config.layer_norm_epsilon)
    head = "lm_head.weight" if "lm_head.weight" in weights else "wte.weight"
    trace["logits"] = linear(trace["ln_f"], _cast(weights[head], dtype).T)  # [T, E] -> [T, V]
    return trace


def _cast(x: Array, dtype: DType) -> Array:
    return np.asarray(x, dtype=dtype)


def _layer_past(
    past: Mapping[str, Array] | None, layer: int, dtype: DType
) -> tuple[Array, Array] | None:
    if past is None:
        return None
    prefix = f"h.{layer}.attn."
    return _cast(past[prefix + "k"], dtype), _cast(past[prefix + "v"], dtype)


def kv_cache(
    trace: Mapping[str, Array], past: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """The keys and values of all tokens so far, for `forward`'s `past`.

    `trace` is what `forward` returned, `past` what it was given. The result has `h.{i}.attn.k` and
    `h.{i}.attn.v` [S, E] of every layer.
    """
    new = {n: x for n, x in trace.items() if n.endswith((".attn.k", ".attn.v"))}
    if past is None:
        return new
    return {n: np.concatenate([past[n], x]) for n, x in new.items()}  # [P, E], [T, E] -> [S, E]


def greedy(
    weights: Mapping[str, Array],
    config: Config,
    tokens: Sequence[int],
    n: int,
    dtype: DType = np.float64,
) -> list[int]:
    """The n tokens that follow `tokens`, each the most probable; of equal ones the lowest id.

    Raises ValueError as `check_tokens` does. The last token is not fed back, so
    len(tokens) + n - 1 positions are used.
    """
    answer: list[int] = []
    past: dict[str, Array] | None = None
    fresh = list(tokens)
    for _ in range(n):
        trace = forward(weights, config, fresh, dtype, past)
        past = kv_cache(trace, past)
        fresh = [int(np.argmax(trace["logits"][-1]))]  # [V] -> one id
        answer += fresh
    return answer
