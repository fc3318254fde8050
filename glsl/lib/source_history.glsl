// Numbers of one point of a history: row t is a position of the text.
#include "lib/history.glsl"
uniform highp sampler2DArray history;

float source(int point, int t, int column) {
    int width = history_width(HISTORY_GRID, textureSize(history, 0));
    int c4 = column / 4;
    ivec3 at = history_texel(HISTORY_GRID, width, point, t, c4 % width, c4 / width);
    return texelFetch(history, at, 0)[column % 4];
}
