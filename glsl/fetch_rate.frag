// Adds up COUNT texels of x: how fast a device fetches, for the floors of `gpt2gl bench --profile`.
// FIRST and STRIDE say which columns a fragment takes.
#include "lib/tensor.glsl"
uniform highp sampler2DArray x;
layout(location = 0) out vec4 out_0;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    vec4 sum = vec4(0.0);
    for (int i = 0; i < COUNT; i += UNROLL) {
        vec4 values[UNROLL];
        for (int j = 0; j < UNROLL; ++j) {
            int column = FIRST + (i + j) * STRIDE;
            values[j] = texelFetch(x, rows_texel(X_GRID, column % X_GRID.x, at.y % X_ROWS), 0);
        }
        for (int j = 0; j < UNROLL; ++j) sum += values[j];
    }
    out_0 = sum;
}
