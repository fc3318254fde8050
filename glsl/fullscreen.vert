// One triangle that covers the viewport. Where a pass normalises its only input row, the three
// vertices compute LayerNorm's statistics once instead of every fragment again.
#ifdef NORM_IN_VERTEX
#include "lib/norm.glsl"
#include "lib/step.glsl"
flat out vec2 vertex_stats;
#endif

void main() {
    vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    gl_Position = vec4(corner, 0.0, 1.0);
#ifdef NORM_IN_VERTEX
    vertex_stats = norm_stats(NORM_ROW);
#endif
}
