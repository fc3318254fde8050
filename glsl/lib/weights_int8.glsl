// Four rows of K and four columns a texel: component k, byte n; one scale a column. Shifting up
// and down again sign-extends a byte without any packing extension.
#include "lib/tensor.glsl"
uniform highp isampler2DArray weights;
uniform highp sampler2DArray scales;
#define BLOCK4 1

ivec4 loaded_weights;

void load_weights(int n4, int k4) {
    loaded_weights = texelFetch(weights, weights_texel(WEIGHTS_GRID, n4, k4), 0);
}

vec4 bytes_to_vec4(int word) {
    return vec4((ivec4(word) << ivec4(24, 16, 8, 0)) >> 24);
}

mat4 weights_block(int j) {
    return mat4(bytes_to_vec4(loaded_weights.x), bytes_to_vec4(loaded_weights.y),
                bytes_to_vec4(loaded_weights.z), bytes_to_vec4(loaded_weights.w));
}

vec4 weights_scale(int n4, int group) {
    return texelFetch(scales, rows_texel(SCALES_GRID, n4, group), 0);
}
