// Copies one layer of a history into a larger one, whose blocks lie elsewhere. Which layer is the
// last of the step's counts, so that one program does for all.
#include "lib/step.glsl"
#include "lib/history.glsl"
uniform highp sampler2DArray history;
layout(location = 0) out vec4 out_0;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    ivec2 block = at / BLOCK;
    ivec2 inside = at - block * BLOCK;
    int position = block.y * ACROSS + block.x;
    int point = step_counts.w / PARTS;
    int y = step_counts.w % PARTS * BLOCK.y + inside.y;
    ivec3 size = textureSize(history, 0);
    int width = history_width(HISTORY_GRID, size);
    ivec3 from = history_texel(HISTORY_GRID, width, point, position, inside.x, y);
    bool is_there = inside.x < width && y < HISTORY_GRID.x * HISTORY_GRID.z && from.y < size.y;
    out_0 = is_there ? texelFetch(history, from, 0) : vec4(0.0);
}
