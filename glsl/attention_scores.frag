// scores = q k^T * SCALE for four keys a fragment; keys after the query are masked.
// Vaswani et al. 2017 (arXiv:1706.03762), equation 1.
#include "lib/output.glsl"
#include "lib/attention.glsl"
#include "lib/cache.glsl"
uniform highp sampler2DArray q;

void main() {
    int s4 = out_column4();
    int head = head_of(out_group());
    int group = group_of(out_group());
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) rows[r] = vec4(0.0);
    for (int d = 0; d < HEAD4; ++d) {
        int c4 = head * HEAD4 + d;
        mat4 keys = cached4(c4, s4, 0);
        for (int r = 0; r < ROWS; ++r) {
            if (r > 0 && !is_shared(s4)) keys = cached4(c4, s4, r);
            rows[r] += texelFetch(q, group_texel(Q_GRID, c4, group, r), 0) * keys;
        }
    }
    for (int r = 0; r < ROWS; ++r)
        rows[r] = mix(rows[r] * SCALE, vec4(MASKED), is_masked(s4, group, r));
    store(rows);
}
