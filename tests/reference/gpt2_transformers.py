"""The tensors of a GPT-2 pass as Hugging Face transformers computes them, under the names of
`gpt2_numpy.forward`: the outside reference of `gpt2gl verify --against transformers`.

torch and transformers are imported inside the functions, so this file can be imported without them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from .gpt2_numpy import Array, attention_scale, attention_scores, check_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# A block's tensors in the order of computation.
BLOCK_TRACE = (
    "ln_1", "attn.q", "attn.k", "attn.v", "attn.scores", "attn.probs", "attn.z", "attn.out",
    "resid_mid", "ln_2", "mlp.fc", "mlp.act", "mlp.out", "resid_post",
)  # fmt: skip

# Trace name in a block -> the submodule whose first input or whose output it is.
BLOCK_INPUTS = {
    "attn.z": "attn.c_proj",
    "resid_mid": "ln_2",
    "mlp.act": "mlp.c_proj",
}
BLOCK_OUTPUTS = {
    "ln_1": "ln_1",
    "attn.qkv": "attn.c_attn",
    "attn.out": "attn.c_proj",
    "ln_2": "ln_2",
    "mlp.fc": "mlp.c_fc",
    "mlp.out": "mlp",
    "resid_post": "",
}


def trace(model_dir: Path, tokens: Sequence[int]) -> dict[str, Array]:
    """`trace_model` of the GPT-2 in a Hugging Face folder, in float32; nothing is downloaded.

    Raises ImportError without torch or transformers, FileNotFoundError if there is no such folder,
    ValueError if it lacks weights (transformers would make random ones) or as `trace_model` does.
    """
    _require("torch")
    transformers = _require("transformers")
    if not model_dir.is_dir():
        raise FileNotFoundError(f"no model folder {model_dir}: give a folder with a config.json")
    model, info = transformers.GPT2LMHeadModel.from_pretrained(
        model_dir, attn_implementation="eager", local_files_only=True, output_loading_info=True
    )
    if missing := sorted(info["missing_keys"]):
        raise ValueError(f"{model_dir} lacks {len(missing)} weights, the first is {missing[0]}")
    return trace_model(model.float(), tokens)


def trace_model(hf_model: Any, tokens: Sequence[int]) -> dict[str, Array]:
    """Every tensor that `gpt2_numpy.forward` names, from one pass of a GPT2LMHeadModel.

    The shapes are those of `forward` without a cache, so S = T, and everything is float32.
    transformers does not return its scores; `attn.scores` is computed from its q and k.

    Raises ImportError without torch, ValueError for tokens that `check_tokens` refuses and for a
    model that is in training mode (dropout), or does not have attn_implementation="eager" (the
    others do not return the attention weights).
    """
    torch = _require("torch")
    if hf_model.training:
        raise ValueError("the model is in training mode: call its eval() first")
    if hf_model.config._attn_implementation != "eager":
        raise ValueError('load the model with attn_implementation="eager" to see its attention')
    config = hf_model.config
    ids = torch.tensor([check_tokens(tokens, config.vocab_size, config.n_positions).tolist()])
    seen: dict[str, Array] = {}
    handles: list[Any] = []
    try:
        handles.extend(_watch(hf_model, seen))
        with torch.no_grad():
            ids = ids.to(hf_model.device)
            result = hf_model(input_ids=ids, use_cache=False, output_attentions=True)
    finally:
        for handle in handles:
            handle.remove()
    seen |= {f"h.{i}.attn.probs": _array(probs) for i, probs in enumerate(result.attentions)}
    return _in_trace_order(seen, config)


def _require(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        message = f"the package {package} is needed: pip install 'gpt2gl[test]'"
        raise ImportError(message) from error


def _watch(hf_model: Any, seen: dict[str, Array]) -> Iterator[Any]:
    """Hook every watched module so that it writes into `seen`; yields the handles to remove."""
    body = hf_model.transformer
    yield _on_input(body.h[0], "embed", seen)
    yield _on_output(body.ln_f, "ln_f", seen)
    yield _on_output(hf_model.lm_head, "logits", seen)
    for i, block in enumerate(body.h):
        for name, path in BLOCK_INPUTS.items():
            yield _on_input(block.get_submodule(path), f"h.{i}.{name}", seen)
        for name, path in BLOCK_OUTPUTS.items():
            yield _on_output(block.get_submodule(path), f"h.{i}.{name}", seen)


def _on_input(module: Any, name: str, seen: dict[str, Array]) -> Any:
    def hook(_module: Any, inputs: tuple[Any, ...]) -> None:
        seen[name] = _array(inputs[0])

    return module.register_forward_pre_hook(hook)


def _on_output(module: Any, name: str, seen: dict[str, Array]) -> Any:
    def hook(_module: Any, _inputs: tuple[Any, ...], output: Any) -> None:
        # Some releases of transformers return a block's output in a tuple.
        seen[name] = _array(output[0] if isinstance(output, tuple) else output)

    return module.register_forward_hook(hook)


def _array(tensor: Any) -> Array:
    """A copy without the batch axis: [1, ...] -> [...], float32."""
    array: Array = tensor[0].detach().float().cpu().numpy().copy()
    return array


def _in_trace_order(seen: dict[str, Array], config: Any) -> dict[str, Array]:
    """The recorded tensors with attention's inputs taken apart, in the order of computation."""
    ordered = {"embed": seen["embed"]}
    for i in range(config.n_layer):
        found = _attention_inputs(seen[f"h.{i}.attn.qkv"], config, i)
        found |= {name: seen[f"h.{i}.{name}"] for name in BLOCK_TRACE if name not in found}
        ordered |= {f"h.{i}.{name}": found[name] for name in BLOCK_TRACE}
    return ordered | {"ln_f": seen["ln_f"], "logits": seen["logits"]}


def _attention_inputs(qkv: Array, config: Any, layer: int) -> dict[str, Array]:
    q, k, v = np.split(qkv, 3, axis=-1)  # [T, 3E] -> 3 of [T, E]
    scale = attention_scale(config, layer)
    scores = attention_scores(q, k, config.n_head, scale)  # [T, E] -> [H, T, T]
    return {"attn.q": q, "attn.k": k, "attn.v": v, "attn.scores": scores}
