"""Pictures of what a model holds, drawn from its textures; see `views.views`."""

from gpt2gl.views.attention import AttentionView
from gpt2gl.views.heatmap import HeatmapView, NormsView, TensorView
from gpt2gl.views.views import Views

__all__ = ["AttentionView", "HeatmapView", "NormsView", "TensorView", "Views"]
