// Softmax's two numbers of each position (line) and each layer's heads (column): the maximum score
// and 1 / the sum of exp(score - maximum).
#include "lib/scores.glsl"
layout(location = 0) out vec4 out_0;

void main() {
    int layer = int(gl_FragCoord.x) / HEADS;
    int head = int(gl_FragCoord.x) % HEADS;
    int query = int(gl_FragCoord.y);
    int keys4 = query / 4 + 1;
    vec4 top = vec4(HIDDEN);
    for (int s4 = 0; s4 < keys4; ++s4) top = max(top, kept_scores(layer, head, query, s4));
    float m = highest(top);
    float total = 0.0;
    for (int s4 = 0; s4 < keys4; ++s4)
        total += dot(exp(kept_scores(layer, head, query, s4) - m), vec4(1.0));
    out_0 = vec4(m, 1.0 / total, 0.0, 0.0);
}
