// Numbers of a rows tensor.
#include "lib/tensor.glsl"
uniform highp sampler2DArray x;

float source(int point, int t, int column) {
    return texelFetch(x, rows_texel(X_GRID, column / 4, t), 0)[column % 4];
}
