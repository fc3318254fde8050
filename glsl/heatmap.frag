// Rows of numbers as pixels: rows go down, columns to the right. A pixel shows the number of
// largest magnitude among those it stands for, so that outliers are seen.
#include "lib/view.glsl"
#include "lib/source_{SOURCE}.glsl"
#include "lib/peaks.glsl"
#include "lib/colormap.glsl"
uniform highp sampler2DArray limits;
layout(location = 0) out vec4 out_0;

const int LINEAR = 0;
const int SYMLOG = 1;
const int PER_ROW = 2;

// The magnitude that gets the end of the scale.
float limit_of(int t) {
    if (view_mode() == PER_ROW) return row_peak(view_point(), t)[LIMIT];
    if (view_limit() > 0.0) return view_limit();
#ifdef ALL_POINTS
    float top = 0.0;
    for (int point = 0; point < PEAKS.x; ++point)
        top = max(top, texelFetch(limits, ivec3(point, 0, 0), 0)[LIMIT]);
    return top;
#else
    return texelFetch(limits, ivec3(view_point(), 0, 0), 0)[LIMIT];
#endif
}

float scaled(float value, float limit) {
    float part = abs(value) / max(limit, 1e-30);
    if (view_mode() == SYMLOG)
        part = log(1.0 + abs(value) / view_knee()) / log(1.0 + max(limit, 1e-30) / view_knee());
    return sign(value) * min(part, 1.0);
}

void main() {
    ivec2 first = ivec2(gl_FragCoord.xy) * view_pool();
    ivec2 end = min(first + view_pool(), ivec2(view_columns(), view_rows()));
    float top = 0.0;
    for (int t = first.y; t < end.y; ++t) {
        float limit = limit_of(t);
        for (int column = first.x; column < end.x; ++column) {
            float value = scaled(source(view_point(), t, column), limit);
            top = abs(value) > abs(top) ? value : top;
        }
    }
    out_0 = vec4(0.0);
    if (first.x >= end.x || first.y >= end.y) return;
#ifdef SIGNED
    out_0 = vec4(diverging(top), 1.0);
#else
    out_0 = vec4(sequential(top), 1.0);
#endif
}
