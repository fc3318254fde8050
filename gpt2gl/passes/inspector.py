"""The passes of the inspector: copies into histories, statistics of them, and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpt2gl.gl.call import Block, Call, Pass, Region, Step
from gpt2gl.gl.framebuffers import FLAT, Attachments
from gpt2gl.gl.pictures import Picture
from gpt2gl.gl.storage import Matrix
from gpt2gl.gl.tensor import BlockGrid, RowsGrid, Tensor, ceil_div

INSPECTOR_PASSES = {
    p.name: p
    for p in (
        Pass("history_rows", "history_rows.frag", ("x",)),
        Pass("history_grow", "history_grow.frag", ("history",)),
        Pass("history_softmax", "history_softmax.frag", ("history",)),
        Pass("row_peaks", "row_peaks.frag", ("history", "x", "weights", "scales")),
        Pass("all_peaks", "all_peaks.frag", ("peaks",)),
        Pass("attention_picture", "attention_picture.frag", ("history", "stats")),
        Pass(
            "heatmap",
            "heatmap.frag",
            ("history", "x", "weights", "scales", "peaks", "limits"),
        ),
    )
}
# Columns of a long row of weights from which the scale of its picture is chosen.
SAMPLES = 256
# Rows side by side in the peaks of a tensor that may have more rows than a texture has lines.
PEAKS_ACROSS = 64

Defines = dict[str, object]
Source = tuple[dict[str, Tensor], Defines, int]  # inputs, defines, fetches of a number


def history_rows(
    x: Tensor, history: Tensor, point: int, n_head: int, part: int, columns: int
) -> Call:
    """Copy the step's rows of x to one point of a history: [T, columns], or [T * n_head, keys]
    where `n_head` is not 0."""
    grid = history.blocks
    defines: Defines = {
        **_placed(grid),
        "FIRST_LINE": part * grid.lines,
        "X_GRID": x.grid.glsl(),
        "X_COLUMNS4": ceil_div(columns, 4),
        **({"HEADS": n_head} if n_head else {}),
    }

    def region(step: Step) -> Region:
        end = min(step.n_keys, grid.capacity)
        if end <= step.n_past:
            return Region(0, 0, 0, 0)
        x_first, y_first = grid.corner(step.n_past)
        if step.n_rows == 1:
            width = ceil_div(end, 4) if n_head else grid.width
            return Region(x_first, y_first, width, grid.lines)
        lines = (ceil_div(end, grid.across) - step.n_past // grid.across) * grid.lines
        return Region(0, y_first, grid.texture_width, lines)

    target = ((history.texture, point * grid.parts + part),)
    return _call("history_rows", {"x": x}, target, defines, region, 1, history)


def history_grow(old: Tensor, new: Tensor, layer: int, positions: int) -> Call:
    """Copy the first `positions` of one texture layer of a larger history from a smaller one; the
    step that it is drawn in has the layer for its prefix."""
    grid = new.blocks
    defines: Defines = {**_placed(grid), "PARTS": grid.parts, "HISTORY_GRID": old.grid.glsl()}
    lines = ceil_div(positions, grid.across) * grid.lines
    region = Region(0, 0, grid.texture_width, lines)
    target = ((new.texture, layer),)
    return _call("history_grow", {"history": old}, target, defines, region, 1, new)


def history_softmax(history: Tensor, out: Tensor, n_head: int) -> Call:
    """Softmax statistics of the step's positions -> out, a line each."""
    defines: Defines = {"HISTORY_GRID": history.grid.glsl(), "HEADS": n_head}

    def fetches(step: Step) -> int:
        return 2 * ceil_div(step.n_keys, 4)

    region = _step_lines(out.rows)
    target = ((out.texture, 0),)
    return _call("history_softmax", {"history": history}, target, defines, region, fetches, out)


def step_peaks(history: Tensor, out: Tensor, columns: int) -> Call:
    """Peaks and norms of the step's rows at every point of a history -> out, a line a position."""
    grid = history.blocks
    inputs, defines, _ = source_of_history(history)
    defines |= {
        "PEAKS": f"ivec2({grid.points}, 1)",
        "COLUMNS": columns,
        "ROW_COUNT": grid.capacity,
        "STRIDE": 1,
    }
    region, target = _step_lines(out.rows), ((out.texture, 0),)
    return _call("row_peaks", inputs, target, defines, region, columns, out)


def tensor_peaks(source: Source, rows: int, columns: int, out: Tensor) -> Call:
    """Peaks and norms of all rows of a tensor -> out, `PEAKS_ACROSS` rows a line."""
    inputs, defines, fetches = source
    stride = ceil_div(columns, SAMPLES) if "LAYOUT" in defines else 1
    defines = defines | {
        "PEAKS": f"ivec2(1, {PEAKS_ACROSS})",
        "COLUMNS": columns,
        "ROW_COUNT": rows,
        "STRIDE": stride,
    }
    region = Region(0, 0, PEAKS_ACROSS, ceil_div(rows, PEAKS_ACROSS))
    target = ((out.texture, 0),)
    return _call(
        "row_peaks", inputs, target, defines, region, ceil_div(columns, stride) * fetches, out
    )


def all_peaks(peaks: Tensor, out: Tensor, points: int, across: int, rows: int, view: Block) -> Call:
    """The largest of `rows` peaks for each point -> out."""
    defines: Defines = {"PEAKS": f"ivec2({points}, {across})"}
    region, target = Region(0, 0, points, 1), ((out.texture, 0),)
    return _call("all_peaks", {"peaks": peaks}, target, defines, region, rows, out, view)


def attention_picture(
    history: Tensor,
    stats: Tensor,
    n_head: int,
    picture: Picture,
    view: Block,
    *,
    weights: bool,
    mean: bool,
    fetches: int = 0,
    bands: bool = False,
) -> Call:
    """Cells of attention; in `bands`, only the lines that the view names."""
    defines: Defines = {"HISTORY_GRID": history.grid.glsl(), "HEADS": n_head}
    switches = {"WEIGHTS": weights, "MEAN": mean, "BANDS": bands}
    defines |= {name: 1 for name, on in switches.items() if on}
    inputs = {"history": history, "stats": stats}
    return _picture_call("attention_picture", inputs, defines, picture, fetches, history, view)


def heatmap(
    source: Source,
    peaks: Tensor,
    limits: Tensor,
    picture: Picture,
    view: Block,
    *,
    points: int,
    across: int,
    pool: int,
    norms: bool = False,
) -> Call:
    """Numbers as pixels, `pool` of them each."""
    inputs, defines, fetches = source
    defines = defines | {
        "PEAKS": f"ivec2({points}, {across})",
        "LIMIT": int(norms),
        **({"ALL_POINTS": 1} if norms else {"SIGNED": 1}),
    }
    textures = {**inputs, "peaks": peaks, "limits": limits}
    return _picture_call("heatmap", textures, defines, picture, pool * (fetches + 1), limits, view)


# Where the numbers of a picture come from ------------------------------------------------------


def source_of_history(history: Tensor) -> Source:
    """One point of a history: rows are positions."""
    return {"history": history}, {"SOURCE": "history", "HISTORY_GRID": history.grid.glsl()}, 1


def source_of_rows(tensor: Tensor) -> Source:
    """A rows tensor."""
    return {"x": tensor}, {"SOURCE": "rows", "X_GRID": tensor.grid.glsl()}, 1


def source_of_matrix(matrix: Matrix) -> Source:
    """A weight matrix [K, N]: rows are K."""
    inputs = {"weights": matrix.weights}
    defines: Defines = {
        "SOURCE": "matrix",
        "WEIGHTS_GRID": matrix.weights.grid.glsl(),
        **matrix.layout.defines(matrix.k),
    }
    if matrix.scales is not None:
        inputs["scales"] = matrix.scales
        defines["SCALES_GRID"] = matrix.scales.grid.glsl()
    return inputs, defines, matrix.layout.fetches


SOURCE_OF_NORMS: Source = ({}, {"SOURCE": "norms"}, 1)


# What the calls share --------------------------------------------------------------------------


def _placed(grid: BlockGrid) -> Defines:
    return {"BLOCK": f"ivec2({grid.width}, {grid.lines})", "ACROSS": grid.across}


def _step_lines(grid: RowsGrid) -> Callable[[Step], Region]:
    """A line for each of the step's positions, as far as there are any."""

    def region(step: Step) -> Region:
        lines = max(0, min(step.n_keys, grid.height) - step.n_past)
        return Region(0, step.n_past, grid.width, lines)

    return region


def _picture_call(
    name: str,
    inputs: Mapping[str, Tensor],
    defines: Defines,
    picture: Picture,
    fetches: int,
    output: Tensor,
    view: Block,
) -> Call:
    region = Region(0, 0, picture.width, picture.height)
    target = ((picture.texture, FLAT),)
    return _call(name, inputs, target, defines, region, fetches, output, view)


def _call(
    name: str,
    inputs: Mapping[str, Tensor],
    target: Attachments,
    defines: Defines,
    region: Region | Callable[[Step], Region],
    fetches: int | Callable[[Step], int],
    output: Tensor,
    view: Block | None = None,
) -> Call:
    return Call(
        operation=INSPECTOR_PASSES[name],
        inputs=inputs,
        targets=(target,),
        defines={"SPLITS": 1, **defines},
        region=region,
        fetches=fetches,
        output=output,
        x_block=view,
    )
