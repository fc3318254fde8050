// probs v: the values mixed by attention probabilities that another pass has drawn.
#include "lib/output.glsl"
#include "lib/attention.glsl"
#include "lib/cache.glsl"
uniform highp sampler2DArray probs;

void main() {
    int c4 = out_column4();
    if (c4 >= EP4) {
        store_zero();
        return;
    }
    int group = out_group();
    int score_group = score_group_of(group, c4 / HEAD4);
    int keys4 = last_key(group, ROWS - 1) / 4 + 1;
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) rows[r] = vec4(0.0);
    for (int s4 = 0; s4 < keys4; ++s4) {
        mat4 v = cached4(V_FIRST4 + c4, s4, 0);
        for (int r = 0; r < ROWS; ++r)
            rows[r] += v * texelFetch(probs, group_texel(PROBS_GRID, s4, score_group, r), 0);
    }
    store(rows);
}
