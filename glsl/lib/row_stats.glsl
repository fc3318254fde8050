// How a pass normalises its input rows: not at all, by what the vertex shader computed for the
// only row, or by the statistics another pass drew for every row.
#if defined(NORM_IN_VERTEX)
flat in vec2 vertex_stats;
void load_stats(int group) {}
vec2 stats_of(int r) { return vertex_stats; }
#elif defined(NORM_IN_TEXTURE)
uniform highp sampler2DArray stats;
vec2 loaded_stats[ROWS];
void load_stats(int group) {
    for (int r = 0; r < ROWS; ++r)
        loaded_stats[r] = texelFetch(stats, group_texel(STATS_GRID, 0, group, r), 0).xy;
}
vec2 stats_of(int r) { return loaded_stats[r]; }
#endif

#if defined(NORM_IN_VERTEX) || defined(NORM_IN_TEXTURE)
vec4 centred(vec4 v, int r) { return v - stats_of(r).x; }
float deviation(int r) { return stats_of(r).y; }
#else
void load_stats(int group) {}
vec4 centred(vec4 v, int r) { return v; }
float deviation(int r) { return 1.0; }
#endif
