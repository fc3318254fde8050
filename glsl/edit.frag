// An intervention: what a pass has drawn, times a gain, plus an offset. The tables hold a row for
// each slot (and head, of scores), and every position has a slot.
#include "lib/output.glsl"
#include "lib/attention.glsl"
uniform highp sampler2DArray x;
uniform highp sampler2DArray slots;
uniform highp sampler2DArray gain;
uniform highp sampler2DArray offset;

int slot_of(int position) {
    int p = min(position, N_POSITIONS - 1);
    return int(texelFetch(slots, rows_texel(SLOTS_GRID, p / 4, 0), 0)[p % 4]);
}

// A gain of zero forgets the input, even an infinite one.
vec4 edited(vec4 v, vec4 by, vec4 plus) { return mix(v * by + plus, plus, equal(by, vec4(0.0))); }

void main() {
    int c4 = out_column4();
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) {
#if EDIT_CACHE && ROWS == 1
        int layer = n_past() % OUT_GRID.z;
#else
        int layer = r;
#endif
        vec4 v = texelFetch(x, ivec3(out_texel(), layer), 0);
#if EDIT_SCORES
        int group = group_of(out_group());
        int row = slot_of(last_key(group, r)) * HEADS + head_of(out_group());
        vec4 by = vec4(texelFetch(gain, rows_texel(GAIN_GRID, 0, row), 0).x);
        vec4 plus = texelFetch(offset, rows_texel(OFFSET_GRID, c4, row), 0);
        rows[r] = mix(edited(v, by, plus), v, is_masked(c4, group, r));
#else
#if EDIT_CACHE
        int row = slot_of(out_group() * OUT_GRID.z + layer);
#else
        int row = slot_of(position_of(out_group() * ROWS + r));
#endif
        vec4 by = texelFetch(gain, rows_texel(GAIN_GRID, c4, row), 0);
        rows[r] = edited(v, by, texelFetch(offset, rows_texel(OFFSET_GRID, c4, row), 0));
#endif
    }
    store(rows);
}
