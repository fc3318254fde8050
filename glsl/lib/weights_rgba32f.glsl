// Four columns a texel.
#include "lib/tensor.glsl"
uniform highp sampler2DArray weights;
#define BLOCK4 1

mat4 loaded_weights;

vec4 weights_row(int n4, int k) {
    return texelFetch(weights, weights_texel(WEIGHTS_GRID, n4, k), 0);
}

void load_weights(int n4, int k4) {
    loaded_weights = mat4(weights_row(n4, 4 * k4), weights_row(n4, 4 * k4 + 1),
                          weights_row(n4, 4 * k4 + 2), weights_row(n4, 4 * k4 + 3));
}

mat4 weights_block(int j) { return loaded_weights; }
