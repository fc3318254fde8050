// The residual connection as a pass of its own.
#include "lib/output.glsl"
#include "lib/input.glsl"
uniform highp sampler2DArray residual;

void main() {
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r)
        rows[r] = x_rows(out_column4(), out_group(), r)
                + texelFetch(residual, group_texel(RESIDUAL_GRID, out_column4(), out_group(), r), 0);
    store(rows);
}
