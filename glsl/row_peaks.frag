// Largest magnitude and Euclidean norm of each row. Of long rows of weights every STRIDE-th column
// is taken: enough to choose the scale of a picture.
#include "lib/source_{SOURCE}.glsl"
layout(location = 0) out vec4 out_0;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    int point = at.x % PEAKS.x;
    int t = at.y * PEAKS.y + at.x / PEAKS.x;
    float top = 0.0;
    float squares = 0.0;
    if (t < ROW_COUNT) {
        for (int column = 0; column < COLUMNS; column += STRIDE) {
            float value = source(point, t, column);
            top = max(top, abs(value));
            squares += value * value;
        }
    }
    out_0 = vec4(top, sqrt(squares), 0.0, 0.0);
}
