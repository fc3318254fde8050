"""The pass of an intervention: it takes the place of another pass's result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpt2gl.gl.call import Call
from gpt2gl.gl.framebuffers import Attachments
from gpt2gl.gl.tensor import Tensor
from gpt2gl.passes.table import PASSES, Dims

# What the rows of an edited tensor are.
ROWS, CACHE, SCORES = "rows", "cache", "scores"


@dataclass(frozen=True)
class EditTables:
    """What an intervention does at each position.

    `slots` [1, n_positions] names a slot; `gain` and `offset` have a row for each slot, and of
    `SCORES` for each slot and head, where a gain is one number.
    """

    slots: Tensor
    gain: Tensor
    offset: Tensor


def edited(
    call: Call, dims: Dims, kind: str, tables: EditTables, temporary: Tensor
) -> Iterator[Call]:
    """`call` drawn to `temporary`, a tensor like its output; then its output, edited from there."""
    targets = tuple(_moved(each, call.output.texture, temporary.texture) for each in call.targets)
    yield replace(call, output=temporary, targets=targets, capture=None, label="")
    inputs = {
        "x": temporary,
        "slots": tables.slots,
        "gain": tables.gain,
        "offset": tables.offset,
    }
    rows = int(str(call.defines["ROWS"]))
    yield replace(
        call,
        operation=PASSES["edit"],
        inputs=inputs,
        defines={
            "ROWS": rows,
            "SPLITS": 1,
            "OUT_GRID": call.output.grid.glsl(),
            "HEADS": dims.n_head,
            "N_POSITIONS": dims.n_positions,
            "EDIT_CACHE": int(kind == CACHE),
            "EDIT_SCORES": int(kind == SCORES),
            **{f"{name.upper()}_GRID": tensor.grid.glsl() for name, tensor in inputs.items()},
        },
        fetches=4 * rows,
        splits=1,
        x_block=None,
    )


def _moved(target: Attachments, old: int, new: int) -> Attachments:
    return tuple((new if texture == old else texture, layer) for texture, layer in target)
