// Copies what a pass has just drawn for the step's rows to their positions in a history. Scores are
// rows of (row group, head) with the keys as columns; all else is one row a position, folded.
#include "lib/tensor.glsl"
#include "lib/step.glsl"
uniform highp sampler2DArray x;
layout(location = 0) out vec4 out_0;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    ivec2 block = at / BLOCK;
    ivec2 inside = at - block * BLOCK;
    int position = block.y * ACROSS + block.x;
    int t = position - n_past();
#ifdef HEADS
    int head = FIRST_LINE + inside.y;
    int c4 = inside.x;
    int group = t / X_GRID.z * HEADS + head;
    bool is_there = head < HEADS && 4 * c4 <= position;
#else
    int c4 = (FIRST_LINE + inside.y) * BLOCK.x + inside.x;
    int group = t / X_GRID.z;
    bool is_there = c4 < X_COLUMNS4;
#endif
    out_0 = vec4(0.0);
    if (is_there && t >= 0 && t < n_rows())
        out_0 = texelFetch(x, group_texel(X_GRID, c4, group, t % X_GRID.z), 0);
}
