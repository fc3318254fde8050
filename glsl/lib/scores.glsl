// Attention scores of every layer and head, kept for every position of the text.
#include "lib/history.glsl"
uniform highp sampler2DArray history;

// Scores of four keys; those after the query are masked by whoever reads them.
vec4 kept_scores(int layer, int head, int query, int s4) {
    int width = history_width(HISTORY_GRID, textureSize(history, 0));
    return texelFetch(history, history_texel(HISTORY_GRID, width, layer, query, s4, head), 0);
}

float highest(vec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

const float HIDDEN = -1e30;
