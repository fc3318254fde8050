// LayerNorm's mean and 1 / deviation of each row.
#include "lib/output.glsl"
#include "lib/norm.glsl"

void main() {
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        vec2 row = mean_and_squares(0, E4, out_group() * ROWS + r);
        rows[r] = vec4(norm_stats(row.x, row.y), 0.0, 0.0);
    }
    store(rows);
}
