// Softmax's two numbers of a score row: its maximum and 1 / the sum of exp(score - maximum).
#include "lib/output.glsl"
#include "lib/attention.glsl"
uniform highp sampler2DArray scores;

vec4 score(int s4, int r) {
    return texelFetch(scores, group_texel(SCORES_GRID, s4, out_group(), r), 0);
}

void main() {
    int group = group_of(out_group());
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        int keys4 = last_key(group, r) / 4 + 1;
        vec4 top = vec4(MASKED);
        for (int s4 = 0; s4 < keys4; ++s4) top = max(top, score(s4, r));
        float m = max(max(top.x, top.y), max(top.z, top.w));
        float total = 0.0;
        for (int s4 = 0; s4 < keys4; ++s4) total += dot(exp(score(s4, r) - m), vec4(1.0));
        rows[r] = vec4(m, 1.0 / total, 0.0, 0.0);
    }
    store(rows);
}
