// Puts the chunks of attention_mix.frag together: each part is rescaled to the common maximum.
#include "lib/output.glsl"
uniform highp sampler2DArray parts;
uniform highp sampler2DArray stats;

void main() {
    int c4 = out_column4();
    if (c4 >= EP4) {
        store_zero();
        return;
    }
    int chunks = n_past() / (4 * CHUNK4) + 1;
    vec2 of_chunk = texelFetch(stats, rows_texel(PARTS_GRID, c4, 0), 0).xy;
    vec4 mixed = texelFetch(parts, rows_texel(PARTS_GRID, c4, 0), 0);
    float top = of_chunk.x;
    float total = of_chunk.y;
    for (int chunk = 1; chunk < chunks; ++chunk) {
        of_chunk = texelFetch(stats, rows_texel(PARTS_GRID, c4, chunk), 0).xy;
        float m = max(top, of_chunk.x);
        float keep = exp(top - m);
        float add = exp(of_chunk.x - m);
        mixed = mixed * keep + texelFetch(parts, rows_texel(PARTS_GRID, c4, chunk), 0) * add;
        total = total * keep + of_chunk.y * add;
        top = m;
    }
    vec4 rows[ROWS];
    rows[0] = mixed / total;
    store(rows);
}
