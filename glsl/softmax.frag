// Attention probabilities from scores and their statistics; masked keys get exactly 0.
#include "lib/output.glsl"
#include "lib/attention.glsl"
uniform highp sampler2DArray scores;
uniform highp sampler2DArray stats;

void main() {
    int s4 = out_column4();
    int group = group_of(out_group());
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        vec4 score = texelFetch(scores, group_texel(SCORES_GRID, s4, out_group(), r), 0);
        vec2 row = texelFetch(stats, group_texel(STATS_GRID, 0, out_group(), r), 0).xy;
        rows[r] = mix(exp(score - row.x) * row.y, vec4(0.0), is_masked(s4, group, r));
    }
    store(rows);
}
