// LayerNorm's two numbers of a row: mean and 1 / sqrt(variance + eps), over E4 texels of which the
// last may be partly padding. Two passes over the row: the variance of x about its mean does not
// cancel where a few features are in the thousands, as in GPT-2's residual stream.
#include "lib/input.glsl"

// 1 in the components of texel k4 that belong to the row, 0 in padding.
vec4 norm_mask(int k4) { return vec4(lessThan(4 * k4 + ivec4(0, 1, 2, 3), ivec4(N_EMBD))); }

vec2 norm_stats(int t) {
    float sum = 0.0;
    for (int k4 = 0; k4 < E4; ++k4) sum += dot(x_at(k4, t), norm_mask(k4));
    float mean = sum / float(N_EMBD);
    float squares = 0.0;
    for (int k4 = 0; k4 < E4; ++k4) {
        vec4 d = (x_at(k4, t) - mean) * norm_mask(k4);
        squares += dot(d, d);
    }
    return vec2(mean, inversesqrt(squares / float(N_EMBD) + LAYER_NORM_EPSILON));
}
