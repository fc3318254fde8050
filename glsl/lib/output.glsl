// A fragment writes four columns of ROWS rows, one colour attachment each.
#include "lib/tensor.glsl"
#include "lib/step.glsl"
layout(location = 0) out vec4 out_0;
#if ROWS > 1
layout(location = 1) out vec4 out_1;
layout(location = 2) out vec4 out_2;
layout(location = 3) out vec4 out_3;
#endif
#if ROWS > 4
layout(location = 4) out vec4 out_4;
layout(location = 5) out vec4 out_5;
layout(location = 6) out vec4 out_6;
layout(location = 7) out vec4 out_7;
#endif

ivec2 out_texel() { return ivec2(gl_FragCoord.xy); }

// Column / 4 of this fragment; it can exceed the tensor where a row is folded.
int out_column4() {
    ivec2 at = out_texel();
    return (at.y % OUT_GRID.y) * OUT_GRID.x + at.x - OUT_GRID.w;
}

// Row group of this fragment within its texture.
int out_group() { return out_texel().y / OUT_GRID.y; }

void store(vec4 rows[ROWS]) {
    out_0 = rows[0];
#if ROWS > 1
    out_1 = rows[1];
    out_2 = rows[2];
    out_3 = rows[3];
#endif
#if ROWS > 4
    out_4 = rows[4];
    out_5 = rows[5];
    out_6 = rows[6];
    out_7 = rows[7];
#endif
}

void store_zero() {
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) rows[r] = vec4(0.0);
    store(rows);
}
