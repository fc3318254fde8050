// The input of a product: a uniform block, where there are few rows, or the texture it was drawn to.
#include "lib/tensor.glsl"
#ifdef X_BLOCK
layout(std140) uniform X {
    vec4 x_values[X_BLOCK];
};
vec4 x_at(int k4, int t) { return x_values[t * X_ROW + k4]; }
vec4 x_rows(int k4, int group, int r) { return x_values[r * X_ROW + k4]; }
#else
uniform highp sampler2DArray x;
vec4 x_at(int k4, int t) { return texelFetch(x, rows_texel(X_GRID, k4, t), 0); }
vec4 x_rows(int k4, int group, int r) { return texelFetch(x, group_texel(X_GRID, k4, group, r), 0); }
#endif
