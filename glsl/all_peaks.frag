// The largest magnitude and norm of all rows that a picture shows, for each point.
#include "lib/view.glsl"
#include "lib/peaks.glsl"
layout(location = 0) out vec4 out_0;

void main() {
    int point = int(gl_FragCoord.x);
    vec4 top = vec4(0.0);
    for (int t = 0; t < view_rows(); ++t) top = max(top, row_peak(point, t));
    out_0 = top;
}
