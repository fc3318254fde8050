// y = activation(norm(x) W + bias) + residual, for ROWS rows and four columns a fragment.
// Under a norm, LayerNorm's gain and bias are already folded into W and bias, so that only
// (x - mean) / deviation is left: the mean is subtracted before the product, where large features
// would otherwise cancel, and the deviation scales the sum. Under SPLITS a fragment sums one slice
// of K, and blending adds the slices.
#include "lib/output.glsl"
#include "lib/input.glsl"
#include "lib/weights_{LAYOUT}.glsl"
#include "lib/row_stats.glsl"
#include "lib/slice.glsl"
#include "lib/activation.glsl"
#ifdef BIAS
uniform highp sampler2DArray bias;
#endif
#ifdef RESIDUAL
uniform highp sampler2DArray residual;
#endif

// Adds x[k] W[k] for the block of K that starts at texel k4. K is padded with zero weights up to
// whole blocks and scale groups; x has nothing there.
void add_block(inout vec4 part[ROWS], int n4, int k4, int group) {
    load_weights(n4, k4 / BLOCK4);
    for (int j = 0; j < BLOCK4; ++j) {
#if K4 % BLOCK4 != 0 || K4 % GROUP4 != 0
        if (k4 + j >= K4) break;
#endif
        mat4 w = weights_block(j);
        for (int r = 0; r < ROWS; ++r) part[r] += w * centred(x_rows(k4 + j, group, r), r);
    }
}

void main() {
    int column4 = out_column4();
    int n4 = FIRST_N4 + column4;
    // A cache row lies at its position; the rows of x count from the first of this pass.
    int group = out_group() - FIRST_GROUP;
    if (column4 >= N4) {
        store_zero();
        return;
    }
    load_stats(group);
    vec4 sum[ROWS];
    for (int r = 0; r < ROWS; ++r) sum[r] = vec4(0.0);
    for (int span = 0; span < GROUPS; ++span) {
        int start = (slice() * GROUPS + span) * SPAN4;
        vec4 part[ROWS];
        for (int r = 0; r < ROWS; ++r) part[r] = vec4(0.0);
        // Constant bounds, and several fetches under way at once: a GPU waits for each fetch far
        // longer than for the arithmetic.
        for (int k4 = 0; k4 < SPAN4; k4 += BLOCK4 * UNROLL)
            for (int u = 0; u < UNROLL; ++u)
                add_block(part, n4, start + k4 + u * BLOCK4, group);
#if SCALED
        vec4 scale = weights_scale(n4, start / GROUP4);
        for (int r = 0; r < ROWS; ++r) sum[r] += part[r] * scale;
#else
        for (int r = 0; r < ROWS; ++r) sum[r] += part[r];
#endif
    }
    // Bias and residual belong to the whole sum and so to one of its slices.
    float once = slice() == 0 ? 1.0 : 0.0;
    for (int r = 0; r < ROWS; ++r) {
        sum[r] *= deviation(r);
#ifdef BIAS
        sum[r] += once * texelFetch(bias, rows_texel(BIAS_GRID, n4, 0), 0);
#endif
#ifdef ACTIVATION
        sum[r] = activation(sum[r]);
#endif
#ifdef RESIDUAL
        sum[r] += once * texelFetch(residual, group_texel(RESIDUAL_GRID, column4, group, r), 0);
#endif
    }
    store(sum);
}
