// One triangle that covers the viewport; one for each slice of a split sum. Where a pass normalises
// its only input row, the vertices compute LayerNorm's statistics instead of every fragment again.
#ifdef NORM_IN_VERTEX
#include "lib/step.glsl"
#include "lib/norm.glsl"
#ifdef PARTS
#include "lib/norm_parts.glsl"
#endif
flat out vec2 vertex_stats;
#endif
#if SPLITS > 1
flat out int vertex_slice;
#endif

void main() {
    int corner = gl_VertexID % 3;
    gl_Position = vec4(corner == 1 ? 3.0 : -1.0, corner == 2 ? 3.0 : -1.0, 0.0, 1.0);
#if defined(NORM_IN_VERTEX) && defined(PARTS)
    vertex_stats = combined_stats();
#elif defined(NORM_IN_VERTEX)
    vec2 row = mean_and_squares(0, E4, NORM_ROW);
    vertex_stats = norm_stats(row.x, row.y);
#endif
#if SPLITS > 1
    vertex_slice = gl_VertexID / 3;
#endif
}
