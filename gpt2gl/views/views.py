"""The pictures of one model, made and freed together."""

from __future__ import annotations

from typing import TypeVar

from gpt2gl.errors import OptionError
from gpt2gl.gl.pictures import Pictures
from gpt2gl.gl.storage import Matrix
from gpt2gl.gl.tensor import RowsGrid, Tensor
from gpt2gl.models.gpt2 import GPT2
from gpt2gl.models.gpt2_capture import Capture
from gpt2gl.models.gpt2_history import USE
from gpt2gl.views.attention import WEIGHTS, AttentionView, Cells
from gpt2gl.views.heatmap import SYMLOG, HeatmapView, NormsView, TensorView
from gpt2gl.views.view import View

V = TypeVar("V", bound=View)
THUMBNAIL = 40
LARGEST = 1024


class Views:
    """Makes pictures of what is captured of a model's text, and of any tensor of the model.

    A picture stays with the `Capture` that the model had when it was made, and is not drawn any
    more once that is closed. `close` frees all pictures; it comes before the model's own.
    """

    def __init__(self, model: GPT2) -> None:
        self.model = model
        self.pictures = Pictures(model.device, USE)
        self._views: list[View] = []

    @property
    def capture(self) -> Capture:
        """What is captured now.

        Raises:
            OptionError: nothing is.
        """
        if self.model.capture is None:
            raise OptionError("nothing is captured: call Session.capture first")
        return self.model.capture

    def thumbnails(self, cell: int = THUMBNAIL, *, mode: str = WEIGHTS) -> AttentionView:
        """All layers (down) and heads (across), `cell` pixels each.

        Raises:
            OptionError: attention is not captured, or there is no such mode.
        """
        config = self.model.config
        cells = Cells(0, 0, config.n_layer, config.n_head)
        return self._add(AttentionView(self.pictures, self.capture, cells, cell=cell, mode=mode))

    def attention(
        self, layer: int, head: int | None = None, *, mode: str = WEIGHTS, size: int = LARGEST
    ) -> AttentionView:
        """One head, by default the mean of a layer's, a pixel for each query and key as long as
        these are no more than `size`.

        Raises:
            OptionError: attention is not captured, or there is no such layer, head or mode.
        """
        cells = Cells(layer, -1 if head is None else head, 1, 1)
        view = AttentionView(
            self.pictures, self.capture, cells, cell=size, grows=True, mode=mode
        )
        return self._add(view)

    def residual(
        self, point: int, *, scale: str = SYMLOG, limit: float | None = None
    ) -> HeatmapView:
        """Tokens x features of the residual stream: point 0 after the embedding, i + 1 after
        layer i.

        Raises:
            OptionError: it is not captured, or there is no such point or scale.
        """
        return self.heatmap("residual", point, scale=scale, limit=limit)

    def mlp(self, layer: int, *, scale: str = SYMLOG, limit: float | None = None) -> HeatmapView:
        """Tokens x neurons of a layer's MLP, after the activation; errors as `residual`."""
        return self.heatmap("mlp", layer, scale=scale, limit=limit)

    def heatmap(
        self, kind: str, point: int, *, scale: str = SYMLOG, limit: float | None = None
    ) -> HeatmapView:
        """Tokens x features of a captured kind; errors as `residual`."""
        view = HeatmapView(
            self.pictures, self.capture, kind, point, scale=scale, limit=limit
        )
        return self._add(view)

    def norms(self, kind: str = "residual", *, scale: str = SYMLOG) -> NormsView:
        """Tokens x points: the norms of a captured kind's rows; errors as `residual`."""
        return self._add(NormsView(self.pictures, self.capture, kind, scale=scale))

    def tensor(
        self,
        tensor: Tensor | Matrix,
        *,
        rows: int | None = None,
        scale: str = SYMLOG,
        limit: float | None = None,
    ) -> TensorView:
        """Any rows tensor or weight matrix of the model, up to `rows` rows of it.

        The texture of a matrix is shown as the matrix [K, N] that is packed into it.

        Raises:
            OptionError: no such scale, or a texture of packed weights that are not the model's.
        """
        shown = tensor
        if isinstance(tensor, Tensor) and not isinstance(tensor.grid, RowsGrid):
            shown = self._matrix(tensor)
        return self._add(TensorView(self.pictures, shown, rows=rows, scale=scale, limit=limit))

    def _matrix(self, weights: Tensor) -> Matrix:
        model = self.model.weights
        products = [
            each
            for layer in model.layers
            for each in (layer.c_attn, layer.attn_c_proj, layer.c_fc, layer.mlp_c_proj)
        ]
        for matrix in (model.wte, model.head.matrix, *(each.matrix for each in products)):
            if matrix.weights is weights:
                return matrix
        raise OptionError("no picture of this texture: it holds no rows and no weights")

    def discard(self, view: View) -> None:
        """Free one picture."""
        self._views.remove(view)
        view.close()

    def close(self) -> None:
        """Free every picture; safe to call twice."""
        for view in self._views:
            view.close()
        self._views.clear()
        self.pictures.close()

    def _add(self, view: V) -> V:
        self._views.append(view)
        return view
