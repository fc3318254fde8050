// LayerNorm, Ba et al. 2016 (arXiv:1607.06450): (x - mean) / deviation, then gain and bias unless
// they are folded into the matrix that follows.
#include "lib/output.glsl"
#include "lib/input.glsl"
#include "lib/row_stats.glsl"
#ifdef AFFINE
uniform highp sampler2DArray gain;
uniform highp sampler2DArray bias;
#endif

vec4 input_row(int c4, int group, int r) {
#ifdef NORM_IN_VERTEX
    return x_at(c4, NORM_ROW);
#else
    return x_rows(c4, group, r);
#endif
}

void main() {
    int c4 = out_column4();
    if (c4 >= E4) {
        store_zero();
        return;
    }
    load_stats(out_group());
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        rows[r] = centred(input_row(c4, out_group(), r), r) * deviation(r);
#ifdef AFFINE
        rows[r] = rows[r] * texelFetch(gain, rows_texel(GAIN_GRID, c4, 0), 0)
                + texelFetch(bias, rows_texel(BIAS_GRID, c4, 0), 0);
#endif
    }
    store(rows);
}
