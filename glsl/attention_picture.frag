// Attention as cells of pixels, a cell for each layer (down) and head (across): queries go down,
// keys to the right. A pixel shows the largest value of the view_pool() positions it stands for on
// either side, so that a thin line is never lost; where no key is visible it is transparent.
#include "lib/view.glsl"
#include "lib/scores.glsl"
#include "lib/colormap.glsl"
uniform highp sampler2DArray stats;
layout(location = 0) out vec4 out_0;

// Scores to weights of a query.
vec2 row_stats(int layer, int head, int query) {
    return texelFetch(stats, ivec3(layer * HEADS + head, query, 0), 0).xy;
}

vec4 values(int layer, int head, int query, int s4) {
#ifdef MEAN
    vec4 sum = vec4(0.0);
    for (int h = 0; h < HEADS; ++h) {
        vec4 score = kept_scores(layer, h, query, s4);
#ifdef WEIGHTS
        vec2 row = row_stats(layer, h, query);
        sum += exp(score - row.x) * row.y;
#else
        sum += score;
#endif
    }
    return sum / float(HEADS);
#else
    return kept_scores(layer, head, query, s4);
#endif
}

// The largest of a query's values from key `first` to before `end`.
float highest_of_row(int layer, int head, int query, int first, int end) {
    float top = HIDDEN;
    for (int s4 = first / 4; 4 * s4 < end; ++s4) {
        ivec4 key = 4 * s4 + ivec4(0, 1, 2, 3);
        vec4 value = mix(values(layer, head, query, s4), vec4(HIDDEN), lessThan(key, ivec4(first)));
        top = max(top, highest(mix(value, vec4(HIDDEN), greaterThanEqual(key, ivec4(end)))));
    }
#if defined(WEIGHTS) && !defined(MEAN)
    // The largest score has the largest weight.
    vec2 row = row_stats(layer, head, query);
    if (top > HIDDEN) top = exp(top - row.x) * row.y;
#endif
    return top;
}

float pooled(int layer, int head, ivec2 first, ivec2 end) {
    float top = HIDDEN;
    for (int query = max(first.x, first.y); query < end.y; ++query)
        top = max(top, highest_of_row(layer, head, query, first.x, min(end.x, query + 1)));
    return top;
}

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    ivec2 cell = at / view_cell();
    ivec2 first = (at - cell * view_cell()) * view_pool();
    ivec2 end = min(first + view_pool(), ivec2(view_rows()));
    float top = pooled(view_point() + cell.y, view_head() + cell.x, first, end);
    out_0 = vec4(0.0);
    if (top <= HIDDEN) return;
#ifdef WEIGHTS
    out_0 = vec4(sequential(pow(top, view_knee())), 1.0);
#else
    out_0 = vec4(diverging(top / view_limit()), 1.0);
#endif
}
