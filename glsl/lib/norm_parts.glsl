// LayerNorm's statistics of a row from those of its parts, drawn side by side by another pass.
// Chan, Golub & LeVeque 1979: the squares of the whole are the squares within the parts and those
// of the parts' means about the mean.
#include "lib/norm.glsl"
uniform highp sampler2DArray stats;

vec2 part_of(int i) { return texelFetch(stats, rows_texel(STATS_GRID, i, 0), 0).xy; }

vec2 combined_stats() {
    float sum = 0.0;
    for (int i = 0; i < PARTS; ++i) sum += part_of(i).x * COUNT(i * PART4, PART4);
    float mean = sum / float(N_EMBD);
    float squares = 0.0;
    for (int i = 0; i < PARTS; ++i) {
        vec2 part = part_of(i);
        squares += part.y + (part.x - mean) * (part.x - mean) * COUNT(i * PART4, PART4);
    }
    return norm_stats(mean, squares);
}
