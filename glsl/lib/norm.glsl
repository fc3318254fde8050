// LayerNorm's two numbers of a row: mean and 1 / sqrt(variance + eps). Two passes over the row: the
// variance of x about its mean does not cancel where a few features are in the thousands, as in
// GPT-2's residual stream. Four sums side by side, since a GPU waits for each addition.
#include "lib/input.glsl"
const int WHOLE4 = N_EMBD / 4;  // texels without padding

float sum_of(vec4 v) { return dot(v, vec4(1.0)); }

// 1 in the components of the last texel that belong to the row, 0 in its padding.
vec4 tail_mask() { return vec4(lessThan(4 * WHOLE4 + ivec4(0, 1, 2, 3), ivec4(N_EMBD))); }

vec2 norm_stats(int t) {
    vec4 sums = vec4(0.0);
    for (int k4 = 0; k4 < WHOLE4; ++k4) sums += x_at(k4, t);
#if N_EMBD % 4 != 0
    sums += x_at(WHOLE4, t) * tail_mask();
#endif
    float mean = sum_of(sums) / float(N_EMBD);
    vec4 squares = vec4(0.0);
    for (int k4 = 0; k4 < WHOLE4; ++k4) {
        vec4 d = x_at(k4, t) - mean;
        squares += d * d;
    }
#if N_EMBD % 4 != 0
    vec4 d = (x_at(WHOLE4, t) - mean) * tail_mask();
    squares += d * d;
#endif
    return vec2(mean, inversesqrt(sum_of(squares) / float(N_EMBD) + LAYER_NORM_EPSILON));
}
