// LayerNorm's two numbers of a row: mean and 1 / sqrt(variance + eps). Two passes over the row: the
// variance of x about its mean does not cancel where a few features are in the thousands, as in
// GPT-2's residual stream. Four sums side by side, since a GPU waits for each addition.
#include "lib/input.glsl"

float sum_of(vec4 v) { return dot(v, vec4(1.0)); }

// 1 in the components of texel k4 that belong to the row, 0 in padding.
vec4 norm_mask(int k4) { return vec4(lessThan(4 * k4 + ivec4(0, 1, 2, 3), ivec4(N_EMBD))); }

// Elements of the row in the texels from first4 on, COUNT4 of them at most.
#define COUNT(first4, COUNT4) float(min(4 * (first4 + COUNT4), N_EMBD) - 4 * first4)

// Mean of those elements, and the sum of their squared distances from it.
vec2 mean_and_squares(int first4, const int count4, int t) {
    vec4 sums = vec4(0.0);
    for (int i = 0; i < count4; ++i)
        if (first4 + i < E4) sums += x_at(first4 + i, t) * norm_mask(first4 + i);
    float mean = sum_of(sums) / COUNT(first4, count4);
    vec4 squares = vec4(0.0);
    for (int i = 0; i < count4; ++i) {
        if (first4 + i >= E4) break;
        vec4 d = (x_at(first4 + i, t) - mean) * norm_mask(first4 + i);
        squares += d * d;
    }
    return vec2(mean, sum_of(squares));
}

vec2 norm_stats(float mean, float squares) {
    return vec2(mean, inversesqrt(squares / float(N_EMBD) + LAYER_NORM_EPSILON));
}
