// Two rows of K and four columns a texel, as eight IEEE halves.
#include "lib/tensor.glsl"
#include "lib/half.glsl"
uniform highp usampler2DArray weights;
#define BLOCK4 1

uvec4 loaded_even;
uvec4 loaded_odd;

void load_weights(int n4, int k4) {
    loaded_even = texelFetch(weights, weights_texel(WEIGHTS_GRID, n4, 2 * k4), 0);
    loaded_odd = texelFetch(weights, weights_texel(WEIGHTS_GRID, n4, 2 * k4 + 1), 0);
}

mat4 weights_block(int j) {
    return mat4(halves_to_vec4(loaded_even.xy), halves_to_vec4(loaded_even.zw),
                halves_to_vec4(loaded_odd.xy), halves_to_vec4(loaded_odd.zw));
}
