// softmax(scores) v with an online softmax: a running maximum and sum over chunks of CHUNK keys
// (Milakov & Gimelshein 2018, arXiv:1805.02867). Under SPLIT a fragment takes one chunk and leaves
// maximum and sum beside its unnormalised part; attention_combine.frag puts the parts together.
#include "lib/output.glsl"
#include "lib/attention.glsl"
#include "lib/cache.glsl"
uniform highp sampler2DArray scores;
#ifdef SPLIT
layout(location = 1) out vec4 out_stats;
#endif

vec4 mixed[ROWS];
float top[ROWS];
float total[ROWS];

vec4 score(int head, int group, int s4, int r) {
    return texelFetch(scores, group_texel(SCORES_GRID, s4, score_group_of(group, head), r), 0);
}

float highest(vec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

void raise_maximum(int head, int group, int first4, int end4) {
    for (int r = 0; r < ROWS; ++r) {
        float m = top[r];
        for (int s4 = first4; s4 < end4; ++s4) m = max(m, highest(score(head, group, s4, r)));
        float keep = exp(top[r] - m);
        mixed[r] *= keep;
        total[r] *= keep;
        top[r] = m;
    }
}

void add_values(int head, int c4, int group, int first4, int end4) {
    for (int s4 = first4; s4 < end4; ++s4) {
        mat4 v = cached4(V_FIRST4 + c4, s4, 0);
        for (int r = 0; r < ROWS; ++r) {
            if (r > 0 && !is_shared(s4)) v = cached4(V_FIRST4 + c4, s4, r);
            vec4 p = exp(score(head, group, s4, r) - top[r]);
            total[r] += dot(p, vec4(1.0));
            mixed[r] += v * p;
        }
    }
}

void main() {
    int c4 = out_column4();
    if (c4 >= EP4) {
        store_zero();
        return;
    }
#ifdef SPLIT
    int group = 0;
    int first4 = out_group() * CHUNK4;
    int keys4 = min(first4 + CHUNK4, last_key(group, 0) / 4 + 1);
#else
    int group = out_group();
    int first4 = 0;
    int keys4 = last_key(group, ROWS - 1) / 4 + 1;
#endif
    int head = c4 / HEAD4;
    for (int r = 0; r < ROWS; ++r) {
        mixed[r] = vec4(0.0);
        top[r] = MASKED;
        total[r] = 0.0;
    }
    for (int s4 = first4; s4 < keys4; s4 += CHUNK4) {
        int end4 = min(s4 + CHUNK4, keys4);
        raise_maximum(head, group, s4, end4);
        add_values(head, c4, group, s4, end4);
    }
#ifdef SPLIT
    out_stats = vec4(top[0], total[0], 0.0, 0.0);
#else
    for (int r = 0; r < ROWS; ++r) mixed[r] /= total[r];
#endif
    store(mixed);
}
