"""Interventions in the plain plan: after the pass of a hook point comes one that edits its result.

What an intervention does is in textures, so that changing it compiles nothing. All that is made
for interventions belongs to `Edits` and goes with it; the model's own plans are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpt2gl.errors import OptionError
from gpt2gl.gl.call import Call, Prepared
from gpt2gl.gl.layouts import LAYOUTS
from gpt2gl.gl.storage import allocate_rows, release, upload_rows, write_rows
from gpt2gl.gl.tensor import RowsGrid, Tensor
from gpt2gl.interventions import SCORE_TENSORS, Edit, Intervention, resolve
from gpt2gl.models.gpt2_plan import Scratch
from gpt2gl.passes import Dims
from gpt2gl.passes.edit import CACHE, ROWS, SCORES, EditTables, edited

if TYPE_CHECKING:
    from gpt2gl.models.gpt2 import GPT2

Floats = NDArray[np.float32]
USE = "interventions"
# Layers that the rows of a table are spread over, so that thousands fit any texture.
TABLE_LAYERS = 16


class Edits:
    """The interventions that a model runs under, and the plans that they are in.

    Raises:
        OptionError: an intervention does not fit the model.
        DeviceError: the GPU has no room for them.
    """

    def __init__(self, model: GPT2, interventions: Sequence[Intervention]) -> None:
        self.model = model
        self.interventions = tuple(interventions)
        self.plans: dict[str, list[Prepared]] = {}
        self._edits = edits_by_label(model, interventions)
        self._tables: dict[str, EditTables] = {}
        self._temporary: dict[RowsGrid, Tensor] = {}
        self._borrowed: dict[int, BorrowedScratch] = {}
        model.device.take()
        try:
            for label, edit in self._edits.items():
                self._tables[label] = self._upload(edit)
        except BaseException:
            self.close()
            raise

    def replace(self, interventions: Sequence[Intervention]) -> bool:
        """Take on other interventions if that needs no other textures; says whether it did.

        Raises:
            OptionError: an intervention does not fit the model.
        """
        new = edits_by_label(self.model, interventions)
        if _shapes(new) != _shapes(self._edits):
            return False
        self.model.device.take()
        for label, edit in new.items():
            tensors = _tensors(self._tables[label])
            for tensor, values in zip(tensors, self._values(edit), strict=True):
                write_rows(tensor, values)
        self._edits, self.interventions = new, tuple(interventions)
        return True

    def _upload(self, edit: Edit) -> EditTables:
        device = self.model.device
        slots, gain, offset = self._values(edit)
        tensors = [upload_rows(device, slots, USE)]
        for values in (gain, offset):
            tensors.append(upload_rows(device, values, USE, layers=TABLE_LAYERS))
        return EditTables(*tensors)

    def _values(self, edit: Edit) -> tuple[Floats, Floats, Floats]:
        """What the tables hold: slots [1, n_positions], gain and offset [rows, columns]."""
        slots = np.zeros((1, self.model.config.n_positions), np.float32)
        slots[0, list(edit.positions)] = np.arange(len(edit.positions)) + 1
        gain, offset = (table.reshape(-1, table.shape[-1]) for table in (edit.gain, edit.offset))
        return slots, gain, offset

    # Plans -------------------------------------------------------------------------------------

    def scratch(self, of: Scratch) -> Scratch:
        """The activations of a plan, where more can be added for as long as this lives."""
        if id(of) not in self._borrowed:
            self._borrowed[id(of)] = BorrowedScratch(of)
        return self._borrowed[id(of)]

    def applied(self, calls: Iterable[Call]) -> Iterator[Call]:
        """The calls of a plain plan with the edits in between."""
        for call in calls:
            if call.label not in self._tables:
                yield call
                continue
            yield from edited(
                call,
                self.model.dims,
                _kind(call.label),
                self._tables[call.label],
                self._temporary_like(call.output),
            )

    def _temporary_like(self, tensor: Tensor) -> Tensor:
        grid = tensor.rows
        if grid not in self._temporary:
            self._temporary[grid] = allocate_rows(
                self.model.device,
                grid.rows,
                grid.columns,
                USE,
                layers=grid.layers,
                width=grid.width,
                left=grid.left,
            )
        return self._temporary[grid]

    def close(self) -> None:
        """Release every texture that was made for the interventions."""
        device = self.model.device
        tables = [tensor for each in self._tables.values() for tensor in _tensors(each)]
        borrowed = [tensor for each in self._borrowed.values() for tensor in each.added]
        release(device, *tables, *borrowed, *self._temporary.values())
        self.plans.clear()
        device.trim()


class BorrowedScratch(Scratch):
    """The tensors of another scratch; those allocated on top are in `added`."""

    def __init__(self, of: Scratch) -> None:
        vars(self).update(vars(of))
        self.added: list[Tensor] = []

    def tensor(self, columns: int) -> Tensor:
        return self._keep(super().tensor(columns))

    def parts(self) -> Tensor:
        return self._keep(super().parts())

    def score_tensor(self, columns: int | None = None) -> Tensor:
        return self._keep(super().score_tensor(columns))

    def _keep(self, tensor: Tensor) -> Tensor:
        self.added.append(tensor)
        return tensor


# From the tensors' columns to the textures' ------------------------------------------------------


def edits_by_label(model: GPT2, interventions: Iterable[Intervention]) -> dict[str, Edit]:
    """Resolved interventions by the label of the pass that they follow.

    Raises:
        OptionError: as `resolve`.
    """
    by_label: dict[str, Edit] = {}
    for name, edit in resolve(interventions, model.config).items():
        label, columns = _place(name, model.dims)
        adapted = _unfolded(model, name, edit)
        if columns is not None:
            adapted = _spread(adapted, *columns)
        by_label[label] = _both(by_label[label], adapted) if label in by_label else adapted
    return by_label


def _place(name: str, dims: Dims) -> tuple[str, tuple[NDArray[np.int64], int] | None]:
    """The label of a tensor's pass, and where in how many columns its own are; None if they
    are as they are."""
    head, _, inner = name.rpartition(".")
    width = 4 * dims.ep4
    # Heads are padded to whole texels.
    padded = 4 * dims.head4 * np.arange(dims.n_head)[:, None] + np.arange(dims.head_dim)
    columns = padded.ravel()
    if name.endswith((".attn.k", ".attn.v")):
        return f"{head}.kv", (columns + (width if inner == "v" else 0), 2 * width)
    return name, (columns, width) if name.endswith((".attn.q", ".attn.z")) else None


def _spread(edit: Edit, columns: NDArray[np.int64], width: int) -> Edit:
    """Tables [rows, 1, n] whose columns become `columns` of `width`."""
    rows = len(edit.gain)
    gain, offset = np.ones((rows, 1, width), np.float32), np.zeros((rows, 1, width), np.float32)
    gain[:, :, columns], offset[:, :, columns] = edit.gain, edit.offset
    return Edit(edit.positions, gain, offset)


def _both(a: Edit, b: Edit) -> Edit:
    """Two edits of different columns of one tensor."""
    positions = tuple(sorted({*a.positions, *b.positions}))
    a, b = a.at(positions), b.at(positions)
    return Edit(positions, a.gain * b.gain, a.offset + b.offset)


def _unfolded(model: GPT2, name: str, edit: Edit) -> Edit:
    """An edit of a LayerNorm's result, where the layout folds gain and bias into what follows.

    There a pass draws n, of which the norm is n * g + b. With (n * g + b) * gain + offset in its
    place, n becomes n * gain + (b * gain + offset - b) / g.
    """
    if not name.endswith((".ln_1", ".ln_2")) or not LAYOUTS[model.layout].fold_ln:
        return edit
    _, layer, norm = name.split(".")
    affine = getattr(model.weights.layers[int(layer)], norm)
    g, b = affine.gain, affine.bias
    change = b * edit.gain + edit.offset - b
    if (change[..., g == 0] != 0).any():
        raise OptionError(
            f"{name} has features with a gain of 0, which this precision cannot change:"
            " use --precision fp32-plain"
        )
    offset = np.divide(change, g, out=np.zeros_like(change), where=g != 0)
    return Edit(edit.positions, edit.gain, offset)


def _kind(label: str) -> str:
    if label.endswith(".attn.kv"):
        return CACHE
    return SCORES if label.endswith(SCORE_TENSORS) else ROWS


def _tensors(tables: EditTables) -> tuple[Tensor, Tensor, Tensor]:
    return tables.slots, tables.gain, tables.offset


def _shapes(edits: dict[str, Edit]) -> dict[str, tuple[int, ...]]:
    return {label: edit.gain.shape for label, edit in edits.items()}
