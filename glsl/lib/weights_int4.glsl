// Eight rows of K and four columns a texel: component k / 2, nibble 4 (k % 2) + n; one scale a
// column and 32 rows.
#include "lib/tensor.glsl"
uniform highp isampler2DArray weights;
uniform highp sampler2DArray scales;
#define BLOCK4 2

ivec4 loaded_weights;

void load_weights(int n4, int k8) {
    loaded_weights = texelFetch(weights, weights_texel(WEIGHTS_GRID, n4, k8), 0);
}

vec4 even_nibbles(int word) { return vec4((ivec4(word) << ivec4(28, 24, 20, 16)) >> 28); }
vec4 odd_nibbles(int word) { return vec4((ivec4(word) << ivec4(12, 8, 4, 0)) >> 28); }

mat4 weights_block(int j) {
    ivec2 pair = j == 0 ? loaded_weights.xy : loaded_weights.zw;
    return mat4(even_nibbles(pair.x), odd_nibbles(pair.x), even_nibbles(pair.y), odd_nibbles(pair.y));
}

vec4 weights_scale(int n4, int group) {
    return texelFetch(scales, rows_texel(SCALES_GRID, n4, group), 0);
}
