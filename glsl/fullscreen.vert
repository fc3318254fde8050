// One triangle that covers the viewport; one for each slice of a split sum. Where a pass normalises
// its only input row, the vertices compute LayerNorm's statistics instead of every fragment again.
// A picture's bands are quads instead.
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
#ifdef BANDS
#include "lib/view.glsl"
#endif

void main() {
#ifdef BANDS
    // Two triangles for each cell's lines that have changed, in one draw.
    int side = gl_VertexID % 6;
    vec2 upper = vec2(side == 1 || side == 3 || side == 5, side == 2 || side == 4 || side == 5);
    float line = float(gl_VertexID / 6) * view_cells().y + view_band().x + upper.y * view_band().y;
    vec2 unit = vec2(upper.x, line / (view_cells().x * view_cells().y));
    gl_Position = vec4(2.0 * unit - 1.0, 0.0, 1.0);
#else
    int corner = gl_VertexID % 3;
    gl_Position = vec4(corner == 1 ? 3.0 : -1.0, corner == 2 ? 3.0 : -1.0, 0.0, 1.0);
#endif
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
